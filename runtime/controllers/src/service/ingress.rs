//! Where a load balancer may be reached, by what Kubernetes takes in a Service's status. No client, no clock.

use std::net::IpAddr;

use cloud_provider::Ingress;
use tracing::warn;

/// What is wrong with the first of these places that a Service's status must not show; `None` if nothing is.
///
/// The API server refuses what is no address, IPv4 addresses that are written as IPv6, and names that read as addresses.
/// It would take addresses that mean something else on each machine; kube-proxy would then send a node's own traffic to
/// the Service, which is why Kubernetes refuses them in EndpointSlices.
pub(super) fn objection(ingress: &[Ingress]) -> Option<String> {
    ingress.iter().find_map(|it| {
        let ip = it.ip.as_deref().and_then(objection_to_ip);
        ip.or_else(|| it.hostname.as_deref().and_then(objection_to_name))
    })
}

/// These places, or none of them if the API server would refuse one. For answers after which another one comes.
pub(super) fn usable(key: &str, ingress: Vec<Ingress>) -> Vec<Ingress> {
    match objection(&ingress) {
        None => ingress,
        Some(objection) => {
            warn!(service = key, "the provider's addresses are not shown: {objection}");
            Vec::new()
        }
    }
}

fn objection_to_ip(text: &str) -> Option<String> {
    let Ok(ip) = text.parse::<IpAddr>() else { return Some(format!("{text:?} is no IP address")) };
    let canonical = ip.to_canonical();
    if canonical != ip {
        return Some(format!(
            "{text:?} is an IPv4 address that is written as IPv6, and Kubernetes refuses it: the provider has to answer \
             \"{canonical}\""
        ));
    }
    let what = match ip {
        _ if ip.is_unspecified() => "the address of no machine",
        _ if ip.is_loopback() => "each machine's address for itself",
        _ if ip.is_multicast() => "a multicast address",
        IpAddr::V4(ip) if ip.is_link_local() => "a link-local address",
        IpAddr::V6(ip) if ip.is_unicast_link_local() => "a link-local address",
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(format!("{text:?} is {what}, where no client reaches a load balancer"))
}

/// The sandbox has checked that it is a DNS name. The API server reads four numbers as an address, leading zeros or not.
fn objection_to_name(name: &str) -> Option<String> {
    let parts: Vec<_> = name.split('.').collect();
    let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let reads_as_ip = parts.len() == 4 && parts.iter().all(is_number);
    reads_as_ip.then(|| format!("the name {name:?} reads as an address, and Kubernetes refuses it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(ip: &str) -> Ingress {
        Ingress { ip: Some(ip.to_owned()), ..Ingress::default() }
    }

    fn name(name: &str) -> Ingress {
        Ingress { hostname: Some(name.to_owned()), ..Ingress::default() }
    }

    #[test]
    fn addresses_that_clients_can_dial_are_taken() {
        let fine =
            [ip("192.0.2.1"), ip("10.0.0.1"), ip("2001:db8::1"), ip("fd00::1"), name("lb-1.example.com"), name("123")];
        assert_eq!(objection(&fine), None);
        assert_eq!(usable("default/s1", fine.to_vec()), fine);
    }

    #[test]
    fn addresses_that_kubernetes_refuses_are_named() {
        for (wrong, because) in [
            (ip("::ffff:192.0.2.1"), "\"::ffff:192.0.2.1\" is an IPv4 address that is written as IPv6"),
            (ip("::ffff:c000:201"), "has to answer \"192.0.2.1\""),
            (ip("fe80::1%eth0"), "\"fe80::1%eth0\" is no IP address"),
            (ip("192.0.02.1"), "is no IP address"),
            (ip("0.0.0.0"), "the address of no machine"),
            (ip("::"), "the address of no machine"),
            (ip("127.0.0.1"), "each machine's address for itself"),
            (ip("::1"), "each machine's address for itself"),
            (ip("169.254.169.254"), "a link-local address"),
            (ip("fe80::1"), "a link-local address"),
            (ip("224.0.0.1"), "a multicast address"),
            (ip("ff02::1"), "a multicast address"),
            (name("192.0.02.1"), "the name \"192.0.02.1\" reads as an address"),
        ] {
            let places = [ip("192.0.2.9"), wrong];
            let objection = objection(&places).unwrap_or_default();
            assert!(objection.contains(because), "{because}: {objection}");
            assert!(usable("default/s1", places.to_vec()).is_empty());
        }
    }
}
