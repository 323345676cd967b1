//! The attributes of a load balancer, beside its listeners. What no annotation names stays as it is.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, LoadBalancer};

use super::annotations as rows;
use crate::api::fields::borrowed_words;
use crate::api::load_balancers::{self as balancers, SlbBalancer};
use crate::api::{AcsRefusal, SLB};

/// Writes what differs from the annotations.
pub(super) fn write(service: &LoadBalancer, region: &str, live: &SlbBalancer) -> Result<(), AcsRefusal> {
    let annotations = Annotations::of(service);
    let write = |action: &str, pairs: &[(&str, &str)]| balancers::change(region, action, &live.id, pairs);
    if let Some(name) = annotations.read(&rows::NAME)?.filter(|it| *it != live.name) {
        write("SetLoadBalancerName", &[("LoadBalancerName", &name)])?;
    }
    if let Some(word) = annotations.read(&rows::DELETE_PROTECTION)?.filter(|it| *it != live.delete_protection) {
        write("SetLoadBalancerDeleteProtection", &[("DeleteProtection", word)])?;
    }
    let protection = annotations.read(&rows::MODIFICATION_PROTECTION)?;
    if let Some(word) = protection.filter(|it| *it != live.modification_protection) {
        let reason = ("ModificationProtectionReason", REASON);
        let pairs = [("ModificationProtectionStatus", word), reason];
        write("SetLoadBalancerModificationProtection", &pairs[..if word == "NonProtection" { 1 } else { 2 }])?;
    }
    if let Some(spec) = annotations.read(&rows::SPEC)?.filter(|it| !live.spec.is_empty() && *it != live.spec) {
        write("ModifyLoadBalancerInstanceSpec", &[("LoadBalancerSpec", &spec)])?;
    }
    if live.address_type != "intranet" {
        write_charge(annotations, live, write)?;
    }
    match missing_tags(annotations, &live.tags)? {
        missing if missing.is_empty() => Ok(()),
        missing => SLB.tag(region, &live.id, &borrowed_words(&missing)),
    }
}

/// The tags of an annotation that something with these does not have.
pub(crate) fn missing_tags(
    annotations: Annotations<'_>,
    live: &[(String, String)],
) -> Result<Vec<(String, String)>, Error> {
    let mut tags = annotations.read(&rows::TAGS)?.unwrap_or_default();
    tags.retain(|it| !live.contains(it));
    Ok(tags)
}

/// Why others cannot change it in the console, as the vendor's controller says it.
pub(crate) const REASON: &str = "managed.by.ack";

/// Writes what is paid for traffic.
fn write_charge(
    annotations: Annotations<'_>,
    live: &SlbBalancer,
    write: impl Fn(&str, &[(&str, &str)]) -> Result<(), AcsRefusal>,
) -> Result<(), AcsRefusal> {
    let charge = annotations.read(&rows::CHARGE)?;
    let paid = match charge {
        Some(chosen) => chosen,
        None => &live.internet_charge,
    };
    let by_bandwidth = paid == "paybybandwidth";
    let bandwidth = annotations.read(&rows::BANDWIDTH)?.filter(|_| by_bandwidth);
    if charge == Some("paybybandwidth") && bandwidth.is_none() {
        let why = format_args!("annotation {} is missing: paybybandwidth needs it", rows::BANDWIDTH.name);
        return Err(Error::invalid(why).into());
    }
    let is_other = charge.is_some_and(|it| it != live.internet_charge);
    if !is_other && bandwidth.is_none_or(|it| u64::from(it) == live.bandwidth) {
        return Ok(());
    }
    let bandwidth = bandwidth.map(|it| it.to_string());
    let pairs = [Some(("InternetChargeType", paid)), bandwidth.as_deref().map(|it| ("Bandwidth", it))];
    write("ModifyLoadBalancerInternetSpec", &pairs.into_iter().flatten().collect::<Vec<_>>())
}
