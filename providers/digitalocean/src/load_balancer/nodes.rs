//! Which droplets take traffic, and which address families they have.

use aerostat_sdk::events::Warnings;
use aerostat_sdk::nodes::named;
use aerostat_sdk::{AddressKind, Error, IpFamily, LoadBalancer, Node, Result, SortedSet};

use super::annotations::{NETWORK, TYPE};
use crate::api::load_balancers::{ClientNetwork, Kind};
use crate::droplet;

/// The droplets behind the nodes that this load balancer reaches.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Targets {
    /// Their ids; never empty.
    pub(super) droplets: SortedSet<u64>,
    /// Whether each of them has public addresses of both families.
    pub(super) dual_stack: bool,
}

impl Targets {
    /// Those of `nodes` that a load balancer of this kind in this network reaches.
    ///
    /// # Errors
    ///
    /// `invalid` if there are only nodes that this kind never reaches, `unavailable` if there is none at all.
    pub(super) fn of(nodes: &[Node], kind: Kind, network: ClientNetwork, warnings: &mut Warnings) -> Result<Self> {
        let (mut droplets, mut dual_stack) = (Vec::new(), true);
        let (mut unknown, mut private) = (Vec::new(), Vec::new());
        for node in nodes {
            let Some(id) = droplet(node) else {
                unknown.push(&*node.name);
                continue;
            };
            let public = node.address(AddressKind::ExternalIp, IpFamily::Ipv4).is_some();
            let internal = node.address(AddressKind::InternalIp, IpFamily::Ipv4).is_some();
            let reached = match (network, kind) {
                (ClientNetwork::Internal, _) => true,
                (ClientNetwork::External, Kind::Regional) => public || internal,
                (ClientNetwork::External, Kind::RegionalNetwork | Kind::Other) => public,
            };
            if reached {
                droplets.push(id);
                dual_stack &= public && node.address(AddressKind::ExternalIp, IpFamily::Ipv6).is_some();
            } else if internal {
                private.push(&*node.name);
            } else {
                unknown.push(&*node.name);
            }
        }
        if droplets.is_empty() {
            return Err(none(&private, &unknown));
        }
        if !unknown.is_empty() {
            let why = format!("no droplet, or no address that is reached, is known of {}", named(&unknown));
            warnings.add("NodesSkipped", why);
        }
        if !private.is_empty() {
            let nodes = named(&private);
            let why = format!("a REGIONAL_NETWORK load balancer does not reach {nodes}: no public IPv4 address");
            warnings.add("NodesSkipped", why);
        }
        Ok(Self { droplets: droplets.into_iter().collect(), dual_stack })
    }
}

/// The droplet behind a node.
pub(super) fn droplet(node: &Node) -> Option<u64> {
    droplet::id(node.provider_id.as_deref()?).ok()
}

/// The error for no target: all nodes are private, nothing is known of them, or there is no node.
fn none(private: &[&str], unknown: &[&str]) -> Error {
    match (private, unknown) {
        ([], []) => LoadBalancer::without_nodes(""),
        ([], unknown) => LoadBalancer::without_nodes(format_args!(": nothing is known of {}", named(unknown))),
        (private, _) => Error::invalid(format_args!(
            "an external REGIONAL_NETWORK load balancer needs nodes with a public IPv4 address, and {} have none: set \
             annotation {} to REGIONAL or annotation {} to INTERNAL",
            named(private),
            TYPE.name,
            NETWORK.name
        )),
    }
}
