//! The request that makes a load balancer.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Creation;
use aerostat_sdk::{Error, LoadBalancer, Result};

use super::annotations as rows;
use super::attributes::REASON;
use super::marks::{CLUSTER_UID, SERVICE_UID, VENDOR_CLUSTER, VENDOR_NAME};
use crate::api::load_balancers as balancers;
use crate::settings::balancers::{SWITCHES, SlbSettings};

/// The code of a vSwitch without an address.
const FULL: &str = "VSwitchAvailableIpNotExist";

/// The vSwitches that a new load balancer may be in, the first one first; none for the internet.
///
/// # Errors
///
/// `invalid`, if it needs one and there is none.
pub(super) fn switches(service: &LoadBalancer, settings: &SlbSettings) -> Result<Vec<String>> {
    let annotations = Annotations::of(service);
    if annotations.get(&rows::ADDRESS_TYPE)? == "internet" {
        return Ok(Vec::new());
    }
    if let Some(chosen) = annotations.read(&rows::SWITCH)? {
        return Ok(vec![chosen]);
    }
    match settings.switches.is_empty() {
        false => Ok(settings.switches.clone()),
        true => Err(Error::invalid(format_args!(
            "a load balancer of the address type intranet needs a vSwitch: write annotation {}, or setting {} under provider.settings",
            rows::SWITCH.name,
            SWITCHES.name
        ))),
    }
}

/// Makes it, with the tags of the vendor's controller and ours. Of several vSwitches the first one with an address is taken.
pub(super) fn send(
    service: &LoadBalancer,
    settings: &SlbSettings,
    region: &str,
    vpc: &str,
    cluster_uid: &str,
) -> Result<Creation> {
    let annotations = Annotations::of(service);
    let name = annotations.read(&rows::NAME)?.unwrap_or_else(|| service.name.clone());
    let charge = annotations.read(&rows::INSTANCE_CHARGE)?.unwrap_or("PayByCLCU");
    let spec = annotations.read(&rows::SPEC)?.filter(|_| charge == "PayBySpec");
    let spec = spec.or_else(|| (charge == "PayBySpec").then(|| "slb.s1.small".to_owned()));
    let internet_charge = annotations.read(&rows::CHARGE)?;
    let bandwidth = annotations.read(&rows::BANDWIDTH)?.filter(|_| internet_charge == Some("paybybandwidth"));
    let bandwidth = bandwidth.map(|it| it.to_string());
    let group = annotations.read(&rows::RESOURCE_GROUP)?.or_else(|| settings.resource_group.clone());
    let version = annotations.read(&rows::IP_VERSION)?;
    let (zone, other_zone) = (annotations.read(&rows::PRIMARY_ZONE)?, annotations.read(&rows::OTHER_ZONE)?);
    let address = annotations.read(&rows::ADDRESS)?;
    let address_type = annotations.get(&rows::ADDRESS_TYPE)?;
    let protection = annotations.read(&rows::MODIFICATION_PROTECTION)?.unwrap_or("ConsoleProtection");
    let mut pairs = vec![
        ("AddressType", address_type),
        ("DeleteProtection", annotations.read(&rows::DELETE_PROTECTION)?.unwrap_or("on")),
        ("InstanceChargeType", charge),
        ("LoadBalancerName", &*name),
        ("ModificationProtectionStatus", protection),
    ];
    if protection == "ConsoleProtection" {
        pairs.push(("ModificationProtectionReason", REASON));
    }
    let chosen = [
        ("LoadBalancerSpec", spec.as_deref()),
        ("InternetChargeType", internet_charge.filter(|_| address_type == "internet")),
        ("Bandwidth", bandwidth.as_deref().filter(|_| address_type == "internet")),
        ("ResourceGroupId", group.as_deref()),
        ("AddressIPVersion", version),
        ("MasterZoneId", zone.as_deref()),
        ("SlaveZoneId", other_zone.as_deref()),
        ("Address", address.as_deref().filter(|_| address_type == "intranet")),
    ];
    pairs.extend(chosen.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let own = annotations.read(&rows::TAGS)?.unwrap_or_default();
    let mut tags = vec![(VENDOR_NAME, &*service.name)];
    tags.extend(settings.cluster_id.as_deref().map(|it| (VENDOR_CLUSTER, it)));
    tags.extend([(CLUSTER_UID, cluster_uid), (SERVICE_UID, &*service.owner.uid)]);
    tags.extend(own.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let numbered = |part: &str| -> Vec<String> { (1..=tags.len()).map(|it| format!("Tag.{it}.{part}")).collect() };
    let (keys, values) = (numbered("Key"), numbered("Value"));
    for ((key, value), (name, text)) in keys.iter().zip(&values).zip(&tags) {
        pairs.extend([(key.as_str(), *name), (value.as_str(), *text)]);
    }
    let switches = switches(service, settings)?;
    if switches.is_empty() {
        let token = token(service, 0);
        pairs.push(("ClientToken", &token));
        return Ok(balancers::create(region, &pairs)?);
    }
    let mut full = None;
    for (switch, number) in switches.iter().zip(0..) {
        let token = token(service, number);
        let own = [("ClientToken", &*token), ("VSwitchId", &**switch), ("VpcId", vpc)];
        match balancers::create(region, &[&pairs[..], &own].concat()) {
            Err(refusal) if refusal.code.contains(FULL) => full = Some(refusal.error),
            made => return Ok(made?),
        }
    }
    Err(full.unwrap_or_else(|| Error::invalid("no vSwitch to be in")))
}

/// A token that only this creation has: a repetition of it makes no second load balancer. The time in the memo tells creations apart.
pub(crate) fn token(service: &LoadBalancer, switch: usize) -> String {
    let since = service.memo.as_deref().and_then(|it| it.rsplit(' ').next()).unwrap_or_default();
    format!("{}-{since}-{switch}", service.owner.uid)
}
