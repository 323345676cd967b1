//! A cloud server as an instance of the contract.

use std::net::Ipv6Addr;

use aerostat_sdk::{Address, Instance, State};

use crate::api::servers::Server;
use crate::machine::Machine;
use crate::place::zone;
use crate::settings::Machines;

/// The node label that says where a machine comes from.
pub(crate) const PROVIDED_BY: &str = "instance.hetzner.cloud/provided-by";
/// In a node's `extra`: the server's public IPv4 address, or nothing.
pub(crate) const PUBLIC: &str = "public-ipv4";
/// In a node's `extra`: the server's address in the cluster's network, or nothing.
pub(crate) const PRIVATE: &str = "private-ipv4";

/// The instance for a server. `network` is the cluster's.
pub(crate) fn instance(server: &Server, settings: &Machines, network: Option<u64>) -> Instance {
    let name = node_name(server);
    let public = server.public_net.ipv4.as_ref().map(|it| it.ip.as_str());
    let public_v6 = server.public_net.ipv6.as_ref().and_then(|it| first_host(&it.ip));
    let private = network.and_then(|it| server.private_ip(it));
    let addresses = [
        Some(Address::hostname(&*name)),
        public.filter(|_| settings.families.ipv4).map(Address::external_ip),
        public_v6.filter(|_| settings.families.ipv6).map(Address::external_ip),
        private.map(Address::internal_ip),
    ];
    let location = &server.location.name;
    let instance = Instance::new(name, Machine::Cloud(server.id).provider_id())
        .state(state(&server.status))
        .machine_type(&*server.server_type.name)
        .region(&**location)
        .addresses(addresses.into_iter().flatten())
        .label(PROVIDED_BY, "cloud")
        .extra(PUBLIC, public.unwrap_or_default());
    let instance = if network.is_some() { instance.extra(PRIVATE, private.unwrap_or_default()) } else { instance };
    if settings.zone_label { instance.zone(zone(location)) } else { instance }
}

/// The name that a server's kubelet registers: kubelets write the host name in lower case.
pub(crate) fn node_name(server: &Server) -> String {
    server.name.to_ascii_lowercase()
}

/// The first host of a network: `2001:db8:1:2::/64` → `2001:db8:1:2::1`.
pub(crate) fn first_host(network: &str) -> Option<String> {
    let address = network.split_once('/').map_or(network, |(address, _)| address);
    let address: Ipv6Addr = address.parse().ok()?;
    Some(Ipv6Addr::from_bits(address.to_bits() | 1).to_string())
}

/// An unknown status counts as running: a stopped node loses its pods.
fn state(status: &str) -> State {
    match status {
        "off" => State::Stopped,
        _ => State::Running,
    }
}
