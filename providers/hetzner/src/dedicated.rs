//! A dedicated server as an instance of the contract.

use std::net::IpAddr;

use aerostat_sdk::{Address, AddressKind, Instance, Node, events};

use crate::api::robot::DedicatedServer;
use crate::machine::Machine;
use crate::server::{PROVIDED_BY, first_host};
use crate::settings::{Families, Machines};

/// In a node's `extra`: the dedicated server's public IPv4 address.
pub(crate) const SERVER_IP: &str = "robot-ipv4";

/// The instance for a dedicated server, in a list of all machines. Robot knows nothing of private networks: where nodes keep the
/// InternalIPs that their kubelets have set, the list tells no addresses, and the nodes keep theirs.
pub(crate) fn listed(server: &DedicatedServer, settings: &Machines) -> Instance {
    let instance = described(server, settings);
    if settings.forward { instance } else { instance.addresses(public(server, settings.families)) }
}

/// The instance for a dedicated server and its node.
pub(crate) fn instance(server: &DedicatedServer, settings: &Machines, node: &Node) -> Instance {
    let mut addresses = public(server, settings.families);
    if settings.forward {
        addresses.extend(internal(node, &addresses, settings.families));
    }
    described(server, settings).addresses(addresses)
}

/// Without addresses.
fn described(server: &DedicatedServer, settings: &Machines) -> Instance {
    let zone = server.data_centre.to_ascii_lowercase();
    let region = zone.split('-').next().unwrap_or_default();
    let instance = Instance::new(node_name(server), Machine::Robot(server.number).provider_id())
        .machine_type(machine_type(&server.product))
        .region(region)
        .label(PROVIDED_BY, "robot")
        .extra(SERVER_IP, server.ipv4.as_deref().unwrap_or_default());
    if settings.zone_label { instance.zone(zone) } else { instance }
}

/// The name that its kubelet registers.
pub(crate) fn node_name(server: &DedicatedServer) -> String {
    server.name.to_ascii_lowercase()
}

fn public(server: &DedicatedServer, families: Families) -> Vec<Address> {
    let ipv6 = server.ipv6_net.as_deref().and_then(first_host).filter(|_| families.ipv6);
    let ipv4 = server.ipv4.as_deref().filter(|it| !it.is_empty() && families.ipv4);
    let addresses =
        [Some(Address::hostname(node_name(server))), ipv6.map(Address::external_ip), ipv4.map(Address::external_ip)];
    addresses.into_iter().flatten().collect()
}

/// The node's own InternalIPs, but for those of another family and those that are public.
fn internal(node: &Node, public: &[Address], families: Families) -> Vec<Address> {
    let mut kept = Vec::new();
    for address in node.addresses.iter().filter(|it| it.kind == AddressKind::InternalIp) {
        let Ok(ip) = address.value.parse::<IpAddr>() else { continue };
        let is_of_family = if ip.is_ipv4() { families.ipv4 } else { families.ipv6 };
        let is_public = public.iter().any(|it| it.value.parse() == Ok(ip));
        if is_of_family && !is_public {
            kept.push(address.clone());
            continue;
        }
        let why = if is_public { "it is the server's public address" } else { "setting addressFamily excludes it" };
        let message =
            format!("InternalIP {ip} of node {} is left out: {why}; correct --node-ip of its kubelet", node.name);
        events::warning(Some(&node.name), "MisconfiguredInternalIP", &message);
    }
    kept
}

/// A label's value: `AX41 NVMe (x)` → `AX41-NVMe-x`.
fn machine_type(product: &str) -> String {
    let dashes = product.replace(' ', "-");
    let allowed = dashes.chars().filter(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-'));
    allowed.collect::<String>().trim_matches(['.', '_', '-']).to_owned()
}
