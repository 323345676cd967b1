//! Who may reach the load balancer: its own firewall, not the droplets'.

use std::collections::BTreeSet;
use std::net::IpAddr;

use aerostat_sdk::annotations::{Form, Key, List};
use aerostat_sdk::{LoadBalancer, Result};

use super::annotations::{ALLOW_RULES, DENY_RULES};
use super::reading::Reading;
use crate::api::load_balancers::{Firewall, LoadBalancer as Live};

/// A rule of the firewall.
pub(super) const RULE: Form<String> = Form { allowed: "a rule such as ip:192.0.2.1", parse: rule };

/// The firewall that a Service asks for. Its source ranges take the place of the annotation with allowed ones.
pub(super) fn firewall(service: &LoadBalancer, annotations: &mut Reading<'_>) -> Result<Firewall> {
    let deny = rules(annotations, &DENY_RULES, |it| &it.firewall.deny)?;
    let allow = rules(annotations, &ALLOW_RULES, |it| &it.firewall.allow)?;
    let ranges: BTreeSet<_> = service.source_ranges.iter().map(|it| format!("cidr:{it}")).collect();
    Ok(Firewall { allow: if ranges.is_empty() { allow } else { ranges }, deny })
}

fn rules(
    annotations: &mut Reading<'_>,
    key: &Key<List<Form<String>>>,
    shown: impl Fn(&Live) -> &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let as_shown = |live: &Live, text: &str| {
        let rules: BTreeSet<_> = text.split(',').map(|it| it.trim().to_owned()).collect();
        (rules == *shown(live)).then(|| rules.into_iter().collect())
    };
    Ok(annotations.read_or_keep(key, as_shown)?.unwrap_or_default().into_iter().collect())
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
