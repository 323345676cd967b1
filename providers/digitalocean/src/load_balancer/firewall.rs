//! Who may reach the load balancer: its own firewall, not the droplets'.

use std::collections::BTreeSet;
use std::net::IpAddr;

use aerostat_sdk::{LoadBalancer, Result};

use super::annotations::{ALLOW_RULES, Annotations, DENY_RULES};
use crate::api::load_balancers::Firewall;

/// The firewall that a Service asks for. Its source ranges take the place of the annotation with allowed ones.
pub(super) fn firewall(service: &LoadBalancer, annotations: Annotations<'_>) -> Result<Firewall> {
    let deny = rules(annotations, DENY_RULES)?;
    let allow = rules(annotations, ALLOW_RULES)?;
    let ranges: BTreeSet<_> = service.source_ranges.iter().map(|it| format!("cidr:{it}")).collect();
    Ok(Firewall { allow: if ranges.is_empty() { allow } else { ranges }, deny })
}

fn rules(annotations: Annotations<'_>, key: &str) -> Result<BTreeSet<String>> {
    let all = |text: &str| text.split(',').map(|it| rule(it.trim())).collect();
    Ok(annotations.parsed(key, "a list such as ip:192.0.2.1,cidr:198.51.100.0/24", all)?.unwrap_or_default())
}

fn rule(text: &str) -> Option<String> {
    let is_range = |text: &str| {
        let (address, bits) = text.split_once('/')?;
        let longest = if address.parse::<IpAddr>().ok()?.is_ipv4() { 32 } else { 128 };
        bits.parse::<u8>().ok().filter(|it| *it <= longest)
    };
    let valid = match text.split_once(':')? {
        ("ip", address) => address.parse::<IpAddr>().is_ok(),
        ("cidr", range) => is_range(range).is_some(),
        _ => false,
    };
    valid.then(|| text.to_owned())
}
