//! Allowed address pairs: what a port lets through beside its own addresses.

use serde_json::{Value, json};

use crate::api::ports::NeutronPort;
use crate::net::NetworkRange;

/// Whether a port refuses packets of this network. One without port security lets everything through.
pub(super) fn lacks(port: &NeutronPort, range: NetworkRange) -> bool {
    let is_open = port.port_security_enabled == Some(false);
    let Some(pairs) = port.allowed_address_pairs.as_ref().filter(|_| !is_open) else { return false };
    !pairs.iter().filter_map(range_of).any(|it| it.contains(range))
}

/// The pairs of a port with one more for each of these networks.
pub(super) fn with<'a>(port: &NeutronPort, destinations: impl Iterator<Item = &'a str>) -> Vec<Value> {
    let added = destinations.map(|it| json!({ "ip_address": it }));
    port.allowed_address_pairs.iter().flatten().cloned().chain(added).collect()
}

/// The pairs of a port without those of exactly these networks; `None`, if it has none of them.
pub(super) fn without(port: &NeutronPort, ranges: &[NetworkRange]) -> Option<Vec<Value>> {
    let pairs = port.allowed_address_pairs.as_ref()?;
    let is_kept = |it: &&Value| range_of(it).is_none_or(|it| !ranges.contains(&it));
    let kept: Vec<Value> = pairs.iter().filter(is_kept).cloned().collect();
    (kept.len() < pairs.len()).then_some(kept)
}

/// The networks strictly inside of one of these that a port lets through, as they are spelled: what routes of pod networks bring about.
pub(super) fn inside(port: &NeutronPort, outer: &[NetworkRange]) -> Vec<(String, NetworkRange)> {
    let is_open = port.port_security_enabled == Some(false);
    let pairs = port.allowed_address_pairs.iter().flatten().filter(|_| !is_open);
    let networks = pairs.filter_map(|it| Some((it["ip_address"].as_str()?, range_of(it)?)));
    let is_inside = |range: NetworkRange| outer.iter().any(|it| it.contains(range) && *it != range);
    networks.filter(|(_, it)| !it.is_address() && is_inside(*it)).map(|(text, it)| (text.to_owned(), it)).collect()
}

fn range_of(pair: &Value) -> Option<NetworkRange> {
    NetworkRange::of_either(pair["ip_address"].as_str()?)
}
