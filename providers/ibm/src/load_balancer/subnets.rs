//! The subnets of a load balancer: those of the settings, or those that a Service names.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, LoadBalancer, Result, SortedSet};

use super::annotations::{FEATURES, SUBNETS, ZONE};
use crate::api::subnets::VpcSubnet;
use crate::settings::balancers::{IbmBalancerSettings, SUBNET_NAMES};

/// The ids of the subnets that a Service's new load balancer is in, of `all` of the VPC: one, if it is a network load balancer.
///
/// # Errors
///
/// `invalid`, naming what is no subnet of the VPC, or that there are several where one has to be.
pub(super) fn of_balancer(
    service: &LoadBalancer,
    settings: &IbmBalancerSettings,
    all: &[VpcSubnet],
    is_network: bool,
) -> Result<Vec<String>> {
    let ids = of_service(service, settings, all)?;
    if is_network && ids.len() > 1 {
        return Err(Error::invalid(format_args!(
            "annotation {}: a network load balancer is in one subnet, and there are {}: name one with annotation {}, or a zone with annotation {}",
            FEATURES.name,
            ids.len(),
            SUBNETS.name,
            ZONE.name
        )));
    }
    Ok(ids)
}

fn of_service(service: &LoadBalancer, settings: &IbmBalancerSettings, all: &[VpcSubnet]) -> Result<Vec<String>> {
    let annotations = Annotations::of(service);
    if let Some(words) = annotations.read(&SUBNETS)? {
        return found(
            &words,
            all,
            |it, word| it.id == word || it.name == word || it.ipv4_cidr_block == word,
            |word| format!("annotation {}: {word:?} is no id, name or network of a subnet of this VPC", SUBNETS.name),
        );
    }
    let ids = found(
        &settings.subnets,
        all,
        |it, word| it.name == word || it.id == word,
        |word| format!("setting {}: {word:?} is no subnet of this VPC", SUBNET_NAMES.name),
    )?;
    let Some(zone) = annotations.read(&ZONE)? else { return Ok(ids) };
    let of_zone: Vec<String> =
        all.iter().filter(|it| it.zone.name == zone && ids.contains(&it.id)).map(|it| it.id.clone()).collect();
    match of_zone.is_empty() {
        false => Ok(of_zone),
        true => Err(Error::invalid(format_args!(
            "annotation {}: none of the subnets in setting {} is in zone {zone:?}",
            ZONE.name, SUBNET_NAMES.name
        ))),
    }
}

/// The ids of the subnets that these words name, each once, in their order.
fn found(
    words: &[String],
    all: &[VpcSubnet],
    is_named: impl Fn(&VpcSubnet, &str) -> bool,
    unknown: impl Fn(&str) -> String,
) -> Result<Vec<String>> {
    let (mut ids, mut seen) = (Vec::new(), SortedSet::new());
    for word in words {
        let subnet = all.iter().find(|it| is_named(it, word)).ok_or_else(|| Error::Invalid(unknown(word)))?;
        if seen.insert(subnet.id.clone()) {
            ids.push(subnet.id.clone());
        }
    }
    Ok(ids)
}
