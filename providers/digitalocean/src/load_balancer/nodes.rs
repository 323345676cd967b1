//! Which droplets take traffic, and which address families they have.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::IpAddr;

use aerostat_sdk::{AddressKind, Error, Node, Result, provider_id};

use super::annotations::{NETWORK, TYPE};
use super::warnings::Warnings;
use crate::PREFIX;
use crate::api::load_balancers::{Kind, Network};

/// The most nodes that one message names.
const NAMED: usize = 10;

/// The droplets behind the nodes that this load balancer reaches.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Targets {
    /// Their ids; never empty.
    pub(super) droplets: BTreeSet<u64>,
    /// Whether each of them has public addresses of both families.
    pub(super) dual_stack: bool,
}

impl Targets {
    /// Those of `nodes` that a load balancer of this kind in this network reaches.
    ///
    /// # Errors
    ///
    /// `invalid` if there are only nodes that this kind never reaches, `unavailable` if there is none at all.
    pub(super) fn of(nodes: &[Node], kind: Kind, network: Network, warnings: &mut Warnings) -> Result<Self> {
        let mut targets = Self { droplets: BTreeSet::new(), dual_stack: true };
        let (mut unknown, mut private) = (Vec::new(), Vec::new());
        for node in nodes {
            let Some(id) = droplet(node) else {
                unknown.push(&*node.name);
                continue;
            };
            let has = |kind, is: fn(&IpAddr) -> bool| {
                let mut addresses = node.addresses.iter().filter(|it| it.kind == kind);
                addresses.any(|it| it.value.parse().is_ok_and(|it| is(&it)))
            };
            let public = has(AddressKind::ExternalIp, IpAddr::is_ipv4);
            let internal = has(AddressKind::InternalIp, IpAddr::is_ipv4);
            let reached = match (network, kind) {
                (Network::Internal, _) => true,
                (Network::External, Kind::Regional) => public || internal,
                (Network::External, Kind::RegionalNetwork | Kind::Other) => public,
            };
            if reached {
                targets.droplets.insert(id);
                targets.dual_stack &= public && has(AddressKind::ExternalIp, IpAddr::is_ipv6);
            } else if internal {
                private.push(&*node.name);
            } else {
                unknown.push(&*node.name);
            }
        }
        if targets.droplets.is_empty() {
            return Err(none(&private, &unknown));
        }
        if !unknown.is_empty() {
            let nodes = named(&unknown);
            warnings.add("NodesSkipped", format!("no droplet, or no address that is reached, is known of {nodes}"));
        }
        if !private.is_empty() {
            let nodes = named(&private);
            warnings.add(
                "NodesSkipped",
                format!("a REGIONAL_NETWORK load balancer does not reach {nodes}: no public IPv4 address"),
            );
        }
        Ok(targets)
    }
}

/// The droplet behind a node.
pub(super) fn droplet(node: &Node) -> Option<u64> {
    provider_id::parse(PREFIX, node.provider_id.as_deref()?, "the droplet's id, a number").ok()
}

/// Those of `nodes` that a load balancer in this region reaches: the cloud takes droplets of its own region only. Where no
/// node is in it, all are left for the cloud to refuse.
pub(super) fn in_region<'a>(nodes: &'a [Node], region: &str, warnings: &mut Warnings) -> Cow<'a, [Node]> {
    let is_elsewhere = |it: &Node| it.region.as_deref().is_some_and(|it| it != region);
    let elsewhere: Vec<_> = nodes.iter().filter(|it| is_elsewhere(it)).map(|it| &*it.name).collect();
    if elsewhere.is_empty() || elsewhere.len() == nodes.len() {
        return Cow::Borrowed(nodes);
    }
    let names = named(&elsewhere);
    warnings
        .add("NodesSkipped", format!("a load balancer in {region} does not reach {names}: droplets of other regions"));
    nodes.iter().filter(|it| !is_elsewhere(it)).cloned().collect()
}

/// Why there is no target: because of private nodes, of nodes that nothing is known of, or because there is no node.
pub(super) fn none(private: &[&str], unknown: &[&str]) -> Error {
    if private.is_empty() {
        let unknown =
            if unknown.is_empty() { String::new() } else { format!(": nothing is known of {}", named(unknown)) };
        return Error::unavailable(format_args!("no ready nodes available for load balancer{unknown}"));
    }
    Error::invalid(format_args!(
        "an external REGIONAL_NETWORK load balancer needs nodes with a public IPv4 address, and {} have none: set \
         annotation {} to REGIONAL or annotation {} to INTERNAL",
        named(private),
        TYPE.name,
        NETWORK.name
    ))
}

fn named(nodes: &[&str]) -> String {
    let shown = nodes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match nodes.len().checked_sub(NAMED) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
