//! Names, as the vendor's controller makes them, so that each finds what the other made.

use aerostat_sdk::{LoadBalancer, Port, Protocol};

use crate::settings::IbmAccountSettings;

/// The longest name of a load balancer.
const NAME_CHARACTERS: usize = 63;

/// The beginning of the names of this cluster's load balancers.
pub(crate) fn beginning(settings: &IbmAccountSettings) -> String {
    format!("kube-{}-", settings.cluster)
}

/// The name that a Service's load balancer has unless its author chose another.
pub(crate) fn own(service: &LoadBalancer, settings: &IbmAccountSettings) -> String {
    let name = format!("{}{}", beginning(settings), service.owner.uid.replace('-', ""));
    name.chars().take(NAME_CHARACTERS).collect()
}

/// Whether it is a name of the kind that load balancers of Services have by themselves, in this cluster or in another: no author may choose one.
pub(super) fn is_of_a_service(name: &str) -> bool {
    name.starts_with("kube-")
}

/// The name of a port's pool: `tcp-80-30080`.
pub(super) fn pool(port: &Port, node_port: u16) -> String {
    let protocol = if port.protocol == Protocol::Udp { "udp" } else { "tcp" };
    format!("{protocol}-{}-{node_port}", port.port)
}

/// The protocol and the port of a pool with such a name; `None` for a pool that somebody else made.
pub(super) fn port_of(pool: &str) -> Option<(&str, u16)> {
    let mut parts = pool.split('-');
    let (Some(protocol @ ("tcp" | "udp")), Some(port), Some(node_port), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    node_port.parse::<u16>().ok()?;
    Some((protocol, port.parse().ok()?))
}
