//! The request that makes a load balancer.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::backend::Creation;
use aerostat_sdk::{Error, LoadBalancer, Result};

use super::annotations as rows;
use super::attributes::REASON;
use super::marks::{CLUSTER_UID, SERVICE_UID, VENDOR_CLUSTER, VENDOR_NAME};
use super::words::{ParameterRow, RequestWords};
use crate::api::fields::{borrowed, borrowed_words, tag_list};
use crate::api::load_balancers as balancers;
use crate::settings::balancers::{SWITCHES, SlbSettings};

/// The code of a vSwitch without an address.
const FULL: &str = "VSwitchAvailableIpNotExist";

/// Parameters of a new one that annotations say, beside its tags and its vSwitch.
const PARAMETERS: [(&dyn ParameterRow, &str); 13] = [
    (&rows::ADDRESS_TYPE, "AddressType"),
    (&rows::DELETE_PROTECTION, "DeleteProtection"),
    (&rows::INSTANCE_CHARGE, "InstanceChargeType"),
    (&rows::NAME, "LoadBalancerName"),
    (&rows::MODIFICATION_PROTECTION, "ModificationProtectionStatus"),
    (&rows::SPEC, "LoadBalancerSpec"),
    (&rows::CHARGE, "InternetChargeType"),
    (&rows::BANDWIDTH, "Bandwidth"),
    (&rows::RESOURCE_GROUP, "ResourceGroupId"),
    (&rows::IP_VERSION, "AddressIPVersion"),
    (&rows::PRIMARY_ZONE, "MasterZoneId"),
    (&rows::OTHER_ZONE, "SlaveZoneId"),
    (&rows::ADDRESS, "Address"),
];

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
    let mut words = RequestWords::read(annotations, &PARAMETERS)?;
    words.usual("AddressType", "internet");
    words.usual("DeleteProtection", "on");
    words.usual("InstanceChargeType", "PayByCLCU");
    words.usual("LoadBalancerName", &service.name);
    words.usual("ModificationProtectionStatus", "ConsoleProtection");
    if words.is("ModificationProtectionStatus", "ConsoleProtection") {
        words.usual("ModificationProtectionReason", REASON);
    }
    match words.is("InstanceChargeType", "PayBySpec") {
        true => words.usual("LoadBalancerSpec", "slb.s1.small"),
        false => words.without(&["LoadBalancerSpec"]),
    }
    if !words.is("InternetChargeType", "paybybandwidth") {
        words.without(&["Bandwidth"]);
    }
    match words.is("AddressType", "internet") {
        true => words.without(&["Address"]),
        false => words.without(&["InternetChargeType", "Bandwidth"]),
    }
    if let Some(group) = &settings.resource_group {
        words.usual("ResourceGroupId", group);
    }
    let mut pairs = words.pairs();
    let own = annotations.read(&rows::TAGS)?.unwrap_or_default();
    let mut tags = vec![(VENDOR_NAME, &*service.name)];
    tags.extend(settings.cluster_id.as_deref().map(|it| (VENDOR_CLUSTER, it)));
    tags.extend([(CLUSTER_UID, cluster_uid), (SERVICE_UID, &*service.owner.uid)]);
    tags.extend(borrowed_words(&own));
    let tags = tag_list(&tags);
    pairs.extend(borrowed(&tags));
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
