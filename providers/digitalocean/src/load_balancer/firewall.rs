//! The firewall of the load balancer, not of the droplets.

use aerostat_sdk::{LoadBalancer, Result, SortedSet};

use super::annotations::{ALLOW_RULES, DENY_RULES, DoReading};
use crate::api::load_balancers::Firewall;

/// The firewall that a Service asks for. Its source ranges take the place of the annotation with allowed ones.
pub(super) fn firewall(service: &LoadBalancer, annotations: &mut DoReading<'_>) -> Result<Firewall> {
    let deny = annotations.read_set(&DENY_RULES, |it| &it.firewall.deny)?;
    let allow = annotations.read_set(&ALLOW_RULES, |it| &it.firewall.allow)?;
    let ranges: SortedSet<_> = service.source_ranges.iter().map(|it| format!("cidr:{it}")).collect();
    Ok(Firewall { allow: if ranges.is_empty() { allow } else { ranges }, deny })
}
