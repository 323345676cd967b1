//! Who may reach the load balancer: its own firewall, not the droplets'.

use std::collections::BTreeSet;

use aerostat_sdk::form::{Custom, List};
use aerostat_sdk::key::Key;
use aerostat_sdk::{LoadBalancer, Result};

use super::annotations::{ALLOW_RULES, DENY_RULES, Reading};
use crate::api::load_balancers::{Firewall, LoadBalancer as Live};

/// The firewall that a Service asks for. Its source ranges take the place of the annotation with allowed ones.
pub(super) fn firewall(service: &LoadBalancer, annotations: &mut Reading<'_>) -> Result<Firewall> {
    let deny = rules(annotations, &DENY_RULES, |it| &it.firewall.deny)?;
    let allow = rules(annotations, &ALLOW_RULES, |it| &it.firewall.allow)?;
    let ranges: BTreeSet<_> = service.source_ranges.iter().map(|it| format!("cidr:{it}")).collect();
    Ok(Firewall { allow: if ranges.is_empty() { allow } else { ranges }, deny })
}

fn rules(
    annotations: &mut Reading<'_>,
    key: &Key<List<Custom<String>>>,
    shown: impl Fn(&Live) -> &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let as_shown = |live: &Live, text: &str| {
        let rules: BTreeSet<_> = text.split(',').map(|it| it.trim().to_owned()).collect();
        (rules == *shown(live)).then(|| rules.into_iter().collect())
    };
    Ok(annotations.read_or_keep(key, as_shown)?.unwrap_or_default().into_iter().collect())
}
