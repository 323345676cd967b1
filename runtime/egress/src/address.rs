//! Which addresses may be dialled. Pure.

mod networks;
mod ranges;

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

pub use self::networks::{ApiServerAddress, KnownNetworks, NodeNetwork, NodeNetworkKind};
use self::ranges::{embedded, never};
use crate::addresses::AllowedAddresses;
use crate::destination::Destination;
use crate::key_service::is_key_source;

const API_SERVER: &str = "the API server";

/// Decides whether `address` may be dialled for `destination`.
///
/// The error continues a sentence that ends in the address: "…, which is loopback; no config can allow it".
pub(crate) fn permit(address: SocketAddr, destination: &Destination, networks: &KnownNetworks) -> Result<(), String> {
    let ip = address.ip();
    let never = |ip| networks.is_api_server(ip, address.port()).then_some(API_SERVER).or_else(|| never(ip));
    let is_literal = destination.is_written && destination.origin.is_literal(ip);
    match never(ip) {
        // A literal is what the operator wrote; the API server is the one thing on loopback that it cannot mean.
        Some(kind) if kind != API_SERVER && ip.is_loopback() && is_literal => {
            return Ok(());
        }
        Some(kind) if kind != API_SERVER && destination.is_key_source && is_literal && is_key_source(ip) => {
            return Ok(());
        }
        Some(kind) => return Err(refused(kind)),
        None => {}
    }
    let embedded = embedded(ip);
    for inner in &embedded {
        if let Some(kind) = never((*inner).into()) {
            return Err(format!("which embeds {inner}, {kind}; no config can allow it"));
        }
    }
    // No network is narrower than an address that the operator wrote out.
    let literal = is_literal.then(|| IpNet::from(ip).prefix_len());
    let kind = match &destination.addresses {
        AllowedAddresses::Networks(named) => {
            let Some(length) = longest(named, ip).map(|it| literal.unwrap_or(it)) else {
                return Err(closed_until_named("outside of what `addresses` names", destination));
            };
            if let Some(kind) = networks.narrower(ip, length) {
                return Err(closed_until_named_alone(&kind, ip, destination));
            }
            // An embedded address is reached as well, so it is judged as if it had been written down alone.
            let inner = embedded.iter().find_map(|inner| {
                let ip = IpAddr::from(*inner);
                let kind = match longest(named, ip) {
                    Some(length) => networks.narrower(ip, length),
                    None => closed(ip, None, networks),
                };
                kind.map(|it| format!("an address with {inner} inside, {it}"))
            });
            match inner {
                None => return Ok(()),
                Some(kind) => kind,
            }
        }
        AllowedAddresses::Public if !embedded.is_empty() => "an IPv6 address with an IPv4 address inside".to_owned(),
        AllowedAddresses::Public => match closed(ip, literal, networks) {
            None => return Ok(()),
            Some(kind) => kind,
        },
    };
    Err(closed_until_named(&kind, destination))
}

/// Refuses an address literal that no config can open, before anything is known of the cluster.
pub(crate) fn permit_literal(ip: IpAddr) -> Result<(), String> {
    if ip.is_loopback() {
        return Ok(());
    }
    let inner = embedded(ip).into_iter().find_map(|it| never(it.into()));
    never(ip).or(inner).map_or(Ok(()), |kind| Err(refused(kind)))
}

fn refused(kind: &str) -> String {
    format!("which is {kind}; no config can allow it")
}

fn closed_until_named(kind: &str, Destination { name, .. }: &Destination) -> String {
    format!("which is {kind}; the operator would have to name its network in `addresses` of {name}")
}

/// The reason against an address in a network that `addresses` names, which is too wide to mean what is there.
fn closed_until_named_alone(kind: &str, ip: IpAddr, destination: &Destination) -> String {
    format!(
        "which is {kind}; the operator would have to name {} in `addresses` of {}, beside the wider network that is there",
        IpNet::from(ip),
        destination.name
    )
}

/// How long the narrowest of these prefixes is that holds the address.
fn longest(named: &[IpNet], ip: IpAddr) -> Option<u8> {
    named.iter().filter(|it| it.contains(&ip)).map(IpNet::prefix_len).max()
}

/// The kind of the address, if it takes an operator's word in `addresses` to open it. `literal` is its length in bits, if
/// it is written out in the base URL.
fn closed(ip: IpAddr, literal: Option<u8>, networks: &KnownNetworks) -> Option<String> {
    if networks.services.iter().any(|it| it.contains(&ip)) {
        return Some("in the cluster's Service network".to_owned());
    }
    let in_cluster = match literal {
        Some(length) => networks.narrower(ip, length),
        None => networks.any(ip),
    };
    in_cluster.or_else(|| ranges::is_private(ip).then(|| "a private address".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::endpoint;

    fn networks() -> KnownNetworks {
        KnownNetworks {
            api_servers: vec![
                ApiServerAddress::Address("10.96.0.1".parse().unwrap()),
                ApiServerAddress::Address("8.8.4.4".parse().unwrap()),
                ApiServerAddress::Socket("127.0.0.1:6443".parse().unwrap()),
            ],
            services: vec!["10.96.0.0/12".parse().unwrap(), "fd12::/108".parse().unwrap()],
            pods: vec!["77.1.0.0/16".parse().unwrap()],
            nodes: vec!["88.1.2.3/32".parse().unwrap()],
            of_nodes: [
                ("10.0.7.1/32", NodeNetworkKind::ConfirmedAddress),
                ("99.1.2.3/32", NodeNetworkKind::ConfirmedAddress),
                ("10.0.8.1/32", NodeNetworkKind::Address),
                ("10.244.1.0/24", NodeNetworkKind::Pods),
                // What no caller passes on, and would close nothing if one did.
                ("0.0.0.0/0", NodeNetworkKind::Pods),
                ("::/0", NodeNetworkKind::Pods),
                ("1.1.1.1/32", NodeNetworkKind::Address),
            ]
            .map(|(network, kind)| NodeNetwork { network: network.parse().unwrap(), kind, node: "worker-1".to_owned() })
            .into(),
        }
    }

    fn judge(base_url: &str, addresses: &[&str], ip: &str) -> Result<(), String> {
        let mut endpoint = endpoint(base_url);
        if !addresses.is_empty() {
            endpoint.addresses = AllowedAddresses::Networks(addresses.iter().map(|it| it.parse().unwrap()).collect());
        }
        let port = endpoint.place.origins()[0].port();
        permit(SocketAddr::new(ip.parse().unwrap(), port), &Destination::from(&endpoint), &networks())
    }

    /// Every address of the hard list, with what its refusal says.
    const HARD: [(&str, &str); 40] = [
        ("169.254.169.254", "metadata"),
        ("169.254.170.2", "metadata"),
        ("169.254.170.23", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("fd00:ec2::23", "metadata"),
        ("fd20:ce::254", "metadata"),
        ("168.63.129.16", "metadata"),
        ("100.100.100.200", "metadata"),
        ("192.0.0.192", "metadata"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("::1", "loopback"),
        ("0.0.0.0", "this host"),
        ("0.1.2.3", "this host"),
        ("::", "this host"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("240.0.0.1", "reserved"),
        ("192.88.99.1", "6to4 relay"),
        ("192.0.2.1", "documentation"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("100::1", "discard"),
        ("5f00::1", "special range"),
        ("2001:2::1", "special range"),
        ("4000::1", "special range"),
        ("fe80::1", "link-local"),
        ("10.96.0.1", "API server"),
        ("8.8.4.4", "API server"),
        ("::ffff:169.254.169.254", "embeds 169.254.169.254"),
        ("::169.254.169.254", "embeds 169.254.169.254"),
        ("64:ff9b::a9fe:a9fe", "embeds 169.254.169.254"),
        ("64:ff9b:1::a9fe:a9fe", "embeds 169.254.169.254"),
        ("64:ff9b:1:a9fe:a9:fe00::", "metadata"),
        ("2002:a9fe:a9fe::1", "embeds 169.254.169.254"),
        ("2001:0:a9fe:a9fe::1", "embeds 169.254.169.254"),
        ("::ffff:0:a9fe:a9fe", "embeds 169.254.169.254"),
        ("::ffff:8.8.4.4", "API server"),
    ];

    #[test]
    fn adv_03_nothing_opens_the_hard_list() {
        for (ip, because) in HARD {
            for addresses in [&[][..], &["0.0.0.0/0", "::/0"]] {
                let error = judge("https://api.example.com", addresses, ip).expect_err(ip);
                assert!(error.contains(because), "{ip} with {addresses:?}: {error}");
                assert!(error.ends_with("no config can allow it"), "{ip} with {addresses:?}: {error}");
            }
        }
    }

    #[test]
    fn public_addresses_are_open() {
        for ip in ["1.1.1.1", "104.16.1.1", "100.63.255.255", "172.32.0.1", "198.20.0.1", "2606:4700::1", "2a00::1"] {
            assert_eq!(judge("https://api.example.com", &[], ip), Ok(()), "{ip}");
        }
    }

    #[test]
    fn cluster_and_private_ranges_are_closed_until_named() {
        for (ip, net, because) in [
            ("10.0.0.7", "10.0.0.0/24", "a private address"),
            ("10.0.7.1", "10.0.7.1/32", "an address of node worker-1, as the cloud says"),
            ("99.1.2.3", "99.1.2.3/32", "an address of node worker-1, as the cloud says"),
            ("10.0.8.1", "10.0.8.0/24", "a private address, of node worker-1"),
            ("10.244.1.7", "10.0.0.0/8", "a private address, in the pod network 10.244.1.0/24 of node worker-1"),
            ("172.31.255.255", "172.16.0.0/12", "a private address"),
            ("192.168.0.1", "192.168.0.0/16", "a private address"),
            ("100.64.0.1", "100.64.0.0/10", "a private address"),
            ("198.19.0.1", "198.18.0.0/15", "a private address"),
            ("fd99::1", "fd99::/16", "a private address"),
            ("10.96.0.2", "10.96.0.2/32", "the cluster's Service network"),
            ("fd12::7", "fd12::/64", "the cluster's Service network"),
            ("77.1.0.9", "77.1.0.0/16", "the cluster's pod network"),
            ("88.1.2.3", "88.1.2.3/32", "a node of the cluster"),
            ("::ffff:8.8.8.8", "::ffff:0:0/96", "an IPv4 address inside"),
            ("64:ff9b::808:808", "64:ff9b::/96", "an IPv4 address inside"),
        ] {
            let error = judge("https://api.example.com", &[], ip).expect_err(ip);
            assert!(error.contains(because) && error.contains("`addresses` of endpoint api"), "{ip}: {error}");
            assert_eq!(judge("https://api.example.com", &[net], ip), Ok(()), "{ip} with {net}");
        }
    }

    #[test]
    fn adv_07_networks_open_what_they_name_and_nothing_else() {
        let judge = |ip| judge("https://api.example.com", &["10.0.0.0/8"], ip);
        assert_eq!(judge("10.1.2.3"), Ok(()));
        for ip in ["169.254.169.254", "10.96.0.1", "127.0.0.1", "::ffff:10.1.2.3", "192.168.0.1", "1.1.1.1"] {
            judge(ip).expect_err(ip);
        }
    }

    #[test]
    fn adv_101_the_narrower_network_counts_but_not_a_nodes_own() {
        let named = |net, ip| judge("https://api.example.com", &[net], ip);
        // What a Node alone says.
        for ip in ["10.0.8.1", "10.244.1.7", "10.0.0.7"] {
            assert_eq!(named("10.0.0.0/8", ip), Ok(()), "{ip}");
        }
        // What the operator and the cloud say.
        for (wide, ip, alone) in [
            ("10.0.0.0/8", "10.0.7.1", "10.0.7.1/32"),
            ("99.0.0.0/8", "99.1.2.3", "99.1.2.3/32"),
            ("77.0.0.0/8", "77.1.0.9", "77.1.0.9/32"),
            ("88.0.0.0/8", "88.1.2.3", "88.1.2.3/32"),
        ] {
            let error = named(wide, ip).expect_err(ip);
            assert!(error.contains(&format!("name {alone} in `addresses` of endpoint api")), "{ip}: {error}");
            assert_eq!(named(alone, ip), Ok(()), "{ip}");
            assert_eq!(judge("https://api.example.com", &[wide, alone], ip), Ok(()), "{ip}");
            assert_eq!(judge(&format!("https://{ip}"), &[wide], ip), Ok(()), "{ip} is written out");
            judge(&format!("https://{ip}"), &["192.168.0.0/16"], ip).expect_err(ip);
            // Reached through a translator it is no other address.
            let embedding = format!("64:ff9b::{ip}");
            judge("https://api.example.com", &["64:ff9b::/96", wide], &embedding).expect_err(ip);
            assert_eq!(judge("https://api.example.com", &["64:ff9b::/96", alone], &embedding), Ok(()), "{ip}");
        }
        // An address that is written out stays private.
        judge("https://10.0.8.1", &[], "10.0.8.1").expect_err("private");
        assert_eq!(judge("https://99.1.2.3", &[], "99.1.2.3"), Ok(()));
    }

    #[test]
    fn an_embedded_private_address_must_be_named_itself() {
        let judge = |nets: &[&str]| judge("https://api.example.com", nets, "64:ff9b::10.0.0.7");
        judge(&["64:ff9b::/96"]).expect_err("the embedded address is private");
        assert_eq!(judge(&["64:ff9b::/96", "10.0.0.0/24"]), Ok(()));
    }

    #[test]
    fn loopback_is_open_only_to_its_own_literal() {
        assert_eq!(judge("https://127.0.0.1:8443", &[], "127.0.0.1"), Ok(()));
        assert_eq!(judge("http://[::1]:8080", &[], "::1"), Ok(()));
        for (base_url, ip) in [
            ("https://127.0.0.1:8443", "127.0.0.2"),
            ("https://127.0.0.1:8443", "::1"),
            ("https://127.0.0.1:8443", "::ffff:127.0.0.1"),
            ("https://localhost:8443", "127.0.0.1"),
            ("https://127.0.0.1:6443", "127.0.0.1"),
        ] {
            judge(base_url, &["0.0.0.0/0", "::/0"], ip).expect_err(base_url);
        }
    }

    #[test]
    fn adv_141_only_the_host_itself_asks_where_keys_come_from() {
        for ip in crate::key_service::ADDRESSES {
            let url = if ip.is_ipv4() { format!("http://{ip}") } else { format!("http://[{ip}]") };
            let origin = crate::KeyServiceUrl::parse(&url).unwrap().base_url().origin();
            let socket = SocketAddr::new(ip, 80);
            let endpoint = Destination { origin: origin.clone(), ..Destination::from(&endpoint("https://a.example")) };
            let error = permit(socket, &endpoint, &networks()).expect_err("it is an endpoint");
            assert!(error.ends_with("no config can allow it"), "{error}");
            let own = Destination { is_key_source: true, ..endpoint };
            assert_eq!(permit(socket, &own, &networks()), Ok(()), "{ip}");
            let name = Destination { origin: crate::Origin::parse("https://a.example").unwrap(), ..own.clone() };
            permit(socket, &name, &networks()).expect_err("by a name that resolves to it");
            let other = SocketAddr::new("169.254.1.1".parse().unwrap(), 80);
            permit(other, &own, &networks()).expect_err("another link-local address");
        }
    }

    #[test]
    fn forbidden_literals_are_refused_before_anything_is_known() {
        for ip in ["169.254.169.254", "0.0.0.0", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"] {
            permit_literal(ip.parse().unwrap()).expect_err(ip);
        }
        for ip in ["127.0.0.1", "::1", "1.1.1.1", "10.0.0.1", "fd99::1"] {
            assert_eq!(permit_literal(ip.parse().unwrap()), Ok(()), "{ip}");
        }
    }
}
