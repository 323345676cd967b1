//! Answers, facts, and what becomes of them.

use super::*;

const FREE: IngressDescription = IngressDescription { vip: true, shared: false };

fn networks(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|it| it.parse().unwrap()).collect()
}

fn ip(text: &str) -> Ingress {
    Ingress { ip: Some(text.to_owned()), ..Ingress::default() }
}

fn name(text: &str) -> Ingress {
    Ingress { hostname: Some(text.to_owned()), ..Ingress::default() }
}

/// A cluster of which everything is known.
fn facts() -> ClusterFacts {
    ClusterFacts {
        services: networks(&["10.96.0.0/16", "fd01::/112"]),
        api_service: vec!["10.96.0.1".parse().unwrap()],
        api_servers: vec!["203.0.113.1".parse().unwrap(), "10.1.0.1".parse().unwrap()],
        pods: networks(&["100.64.0.0/16"]),
        cluster_cidrs: networks(&["10.244.0.0/16"]),
        ..ClusterFacts::default()
    }
}

/// The fault of an address of a load balancer that these have.
fn refused(facts: &ClusterFacts, place: Ingress, holders: Holders) -> Option<String> {
    facts
        .ingress(vec![ip("192.0.2.9"), place], FREE, |ip| {
            let is_other = ip == "192.0.2.9".parse::<IpAddr>().unwrap();
            if is_other { Holders::default() } else { holders.clone() }
        })
        .err()
}

#[track_caller]
fn check(place: Ingress, holders: Holders, because: &str) {
    let refused = refused(&facts(), place, holders).unwrap_or_default();
    assert!(refused.contains(because), "{because}: {refused}");
}

#[test]
fn addresses_that_clients_can_dial_are_taken() {
    let fine =
        [ip("192.0.2.1"), ip("10.0.0.1"), ip("2001:db8::1"), ip("fd00::1"), name("lb-1.example.com"), name("123")];
    for facts in [facts(), ClusterFacts::default()] {
        assert_eq!(facts.ingress(fine.to_vec(), FREE, |_| Holders::default()), Ok(fine.to_vec()));
    }
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
        (ip("255.255.255.255"), "the address of all machines"),
        (name("192.0.02.1"), "the name \"192.0.02.1\" reads as an address"),
    ] {
        check(wrong, Holders::default(), because);
    }
}

#[test]
fn adv_150_addresses_of_services_and_the_api_server_are_refused() {
    let cluster_ip = Holders { cluster_ip: Some("kube-system/kube-dns".to_owned()), ..Holders::default() };
    check(ip("172.20.0.10"), cluster_ip, "\"172.20.0.10\" is the ClusterIP of Service kube-system/kube-dns");
    check(ip("10.96.0.1"), Holders::default(), "the ClusterIP of the API server");
    check(ip("10.96.0.10"), Holders::default(), "in 10.96.0.0/16, a network of Services");
    check(ip("fd01::a"), Holders::default(), "in fd01::/112, a network of Services");
    check(ip("203.0.113.1"), Holders::default(), "where the API server is reached");
    let shown = Holders { is_shown: true, ..Holders::default() };
    check(ip("10.96.0.10"), shown, "a network of Services");
}

fn node(is_confirmed: bool) -> Holders {
    Holders { node: Some(NodeHolder { name: "n1".to_owned(), is_confirmed }), ..Holders::default() }
}

#[test]
fn adv_150_an_address_of_a_node_is_refused() {
    check(ip("10.1.0.7"), node(false), "an address of node n1");
    check(ip("10.1.0.7"), node(true), "an address of node n1, as the cloud says");
    check(ip("198.51.100.7"), node(true), "an address of node n1, as the cloud says");
    check(ip("10.1.0.7"), Holders { is_shown: true, ..node(true) }, "as the cloud says");
}

#[test]
fn adv_150_a_kubelets_word_keeps_no_service_from_its_address() {
    let facts = facts();
    assert_eq!(refused(&facts, ip("198.51.100.7"), node(false)), None, "it is public");
    assert_eq!(refused(&facts, ip("10.1.0.7"), Holders { is_shown: true, ..node(false) }), None, "it is there already");
    let named = ClusterFacts { load_balancer_addresses: networks(&["10.1.0.0/24", "192.0.2.0/24"]), ..facts.clone() };
    assert_eq!(refused(&named, ip("10.1.0.7"), node(false)), None, "the operator has named it");
    assert!(refused(&named, ip("10.1.0.7"), node(true)).is_some(), "the cloud says it");
    let pods =
        |network: &str| Holders { pods: Some(("n1".to_owned(), network.parse().unwrap())), ..Holders::default() };
    assert_eq!(refused(&facts, ip("10.2.0.7"), pods("10.2.0.0/24")), None, "the operator has said where pods are");
    let unknown = ClusterFacts::default();
    let refused_there = refused(&unknown, ip("10.2.0.7"), pods("10.2.0.0/24")).unwrap();
    assert!(refused_there.contains("in 10.2.0.0/24, the pod network of node n1"), "{refused_there}");
}

#[test]
fn adv_150_an_address_of_pods_is_refused_unless_it_is_named() {
    check(ip("10.244.7.1"), Holders::default(), "in 10.244.0.0/16, a network of pods");
    check(ip("100.64.7.1"), Holders::default(), "provider.loadBalancerAddresses");
    let named =
        |network: &str| ClusterFacts { load_balancer_addresses: networks(&[network, "192.0.2.0/24"]), ..facts() };
    assert_eq!(refused(&named("10.244.7.0/24"), ip("10.244.7.1"), Holders::default()), None, "the narrower one counts");
    assert!(refused(&named("10.0.0.0/8"), ip("10.244.7.1"), Holders::default()).is_some());
}

#[test]
fn adv_150_only_named_networks_are_load_balancers() {
    let facts = ClusterFacts { load_balancer_addresses: networks(&["192.0.2.0/24"]), ..facts() };
    assert_eq!(refused(&facts, ip("192.0.2.1"), Holders::default()), None);
    let refused = refused(&facts, ip("8.8.8.8"), Holders::default()).unwrap();
    assert!(refused.contains("in none of the networks in provider.loadBalancerAddresses"), "{refused}");
}

#[test]
fn adv_150_another_services_address_needs_sharing() {
    let other = Holders { ingress: Some("default/other".to_owned()), ..Holders::default() };
    check(ip("192.0.2.1"), other.clone(), "the address of Service default/other");
    let shared = IngressDescription { shared: true, ..FREE };
    assert!(facts().ingress(vec![ip("192.0.2.1")], shared, |_| other.clone()).is_ok());
    assert_eq!(refused(&facts(), ip("192.0.2.1"), Holders { is_shown: true, ..other }), None, "it is there already");
}

#[test]
fn adv_150_the_mode_vip_has_to_be_described() {
    let mode = |ip_mode: Option<IpMode>, vip: bool| {
        let place = Ingress { ip_mode, ..ip("192.0.2.1") };
        let described = IngressDescription { vip, shared: false };
        facts().ingress(vec![place], described, |_| Holders::default()).map(|it| it[0].ip_mode)
    };
    assert_eq!(mode(Some(IpMode::Vip), true), Ok(Some(IpMode::Vip)));
    assert_eq!(mode(None, true), Ok(None), "the API server says VIP");
    assert_eq!(mode(None, false), Ok(Some(IpMode::Proxy)));
    assert_eq!(mode(Some(IpMode::Proxy), false), Ok(Some(IpMode::Proxy)));
    assert!(mode(Some(IpMode::Vip), false).unwrap_err().contains("ipMode VIP"));
    let place = name("lb.example.com");
    let described = IngressDescription::default();
    assert_eq!(facts().ingress(vec![place.clone()], described, |_| Holders::default()), Ok(vec![place]));
}

#[test]
fn adv_150_names_that_lead_into_the_cluster_are_refused() {
    for inside in ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "dns.kube-system.svc.cluster.local"] {
        check(name(inside), Holders::default(), "leads into the cluster");
    }
    for own in ["localhost", "lb.localhost"] {
        check(name(own), Holders::default(), "each machine's name for itself");
    }
    for fine in ["svc.example.com", "notsvc", "kubernetes.example.com", "my-localhost"] {
        assert_eq!(refused(&facts(), name(fine), Holders::default()), None, "{fine}");
    }
}

fn address(kind: AddressKind, value: &str) -> Address {
    Address { kind, value: value.to_owned() }
}

/// The fault of an internal address of a node that says this of itself.
fn node_refused(facts: &ClusterFacts, ip: &str, words: &NodeWords) -> Option<String> {
    let addresses = [address(AddressKind::Hostname, "n1"), address(AddressKind::InternalIp, ip)];
    facts.node_addresses(&addresses, || words.clone())
}

fn says(ips: &[&str]) -> NodeWords {
    NodeWords { addresses: ips.iter().map(|it| it.parse().unwrap()).collect(), is_control_plane: false }
}

#[test]
fn adv_151_addresses_of_no_machine_are_refused() {
    for (wrong, because) in [
        ("127.0.0.1", "each machine's address for itself"),
        ("::1", "each machine's address for itself"),
        ("0.0.0.0", "the address of no machine"),
        ("169.254.169.254", "a link-local address"),
        ("fe80::1", "a link-local address"),
        ("224.0.0.1", "a multicast address"),
        ("::ffff:127.0.0.1", "each machine's address for itself"),
    ] {
        let refused = node_refused(&ClusterFacts::default(), wrong, &says(&["10.1.0.7"])).unwrap_or_default();
        assert!(refused.contains(because), "{wrong}: {refused}");
    }
    for fine in ["10.1.0.7", "198.51.100.7", "2001:db8::1", "fd00::1"] {
        assert_eq!(node_refused(&facts(), fine, &NodeWords::default()), None, "{fine}");
    }
}

#[test]
fn adv_151_no_node_has_an_address_of_services() {
    let control_plane = NodeWords { is_control_plane: true, ..says(&["10.96.0.1"]) };
    assert!(node_refused(&facts(), "10.96.0.1", &control_plane).is_some_and(|it| it.contains("the API server")));
    let refused = node_refused(&facts(), "10.96.3.1", &says(&["10.1.0.7"])).unwrap();
    assert!(refused.contains("in 10.96.0.0/16, a network of Services"), "{refused}");
    let named = ClusterFacts { nodes: networks(&["10.96.3.0/24"]), ..facts() };
    assert_eq!(node_refused(&named, "10.96.3.1", &NodeWords::default()), None, "the narrower one counts");
}

#[test]
fn adv_151_an_address_that_a_node_shows_already_stays() {
    for shown in ["fe80::1", "10.96.3.1", "10.244.1.1", "10.1.0.1"] {
        let given_out = ClusterFacts { cluster_cidrs_are_given_out: true, ..facts() };
        assert_eq!(node_refused(&given_out, shown, &says(&[shown])), None, "{shown}");
        assert!(node_refused(&given_out, shown, &NodeWords::default()).is_some(), "{shown}");
    }
}

#[test]
fn adv_151_the_api_servers_address_is_a_control_plane_nodes() {
    let facts = facts();
    let refused = node_refused(&facts, "10.1.0.1", &says(&["10.1.0.2"])).unwrap();
    assert!(refused.contains("where the API server is reached"), "{refused}");
    assert_eq!(node_refused(&facts, "10.1.0.1", &says(&["10.1.0.1"])), None, "its kubelet says so too");
    let labelled = NodeWords { is_control_plane: true, ..NodeWords::default() };
    assert_eq!(node_refused(&facts, "10.1.0.1", &labelled), None);
}

#[test]
fn adv_151_an_address_of_pods_is_no_nodes_unless_it_is_said() {
    let given_out = ClusterFacts { cluster_cidrs_are_given_out: true, ..facts() };
    let nobody = NodeWords::default();
    assert!(node_refused(&given_out, "10.244.1.1", &nobody).is_some_and(|it| it.contains("clusterNetworks.nodes")));
    assert_eq!(node_refused(&given_out, "10.244.1.1", &says(&["10.244.1.1"])), None, "its kubelet says so too");
    assert_eq!(node_refused(&facts(), "10.244.1.1", &nobody), None, "where pods share the machines' network");
    assert!(node_refused(&facts(), "100.64.1.1", &nobody).is_some(), "clusterNetworks.pods counts always");
    let named = ClusterFacts { nodes: networks(&["10.244.1.0/24"]), ..given_out };
    assert_eq!(node_refused(&named, "10.244.1.1", &nobody), None, "the narrower one counts");
    assert!(node_refused(&named, "10.244.2.1", &nobody).is_some());
}

#[test]
fn adv_151_only_named_networks_are_nodes() {
    let facts = ClusterFacts { node_addresses: networks(&["10.1.0.0/16", "198.51.100.0/24"]), ..facts() };
    assert_eq!(node_refused(&facts, "10.1.0.7", &NodeWords::default()), None);
    let refused = node_refused(&facts, "203.0.113.7", &says(&["203.0.113.7"])).unwrap();
    assert!(refused.contains("in none of the networks in provider.nodeAddresses"), "{refused}");
}

#[test]
fn adv_151_names_of_nodes_do_not_lead_into_the_cluster() {
    let named = |kind, value| facts().node_addresses(&[address(kind, value)], NodeWords::default);
    let refused = named(AddressKind::InternalDns, "Kubernetes.Default.svc.").unwrap();
    assert!(refused.starts_with("names the InternalDNS \"Kubernetes.Default.svc.\", which is a name"), "{refused}");
    assert!(named(AddressKind::Hostname, "localhost").is_some());
    assert_eq!(named(AddressKind::Hostname, "worker-1"), None);
}

#[test]
fn adv_151_a_machine_keeps_the_addresses_that_a_node_may_have() {
    let facts = ClusterFacts { node_addresses: networks(&["10.1.0.0/16"]), ..facts() };
    let judged = |name: &str, addresses: &[(AddressKind, &str)]| {
        let addresses = addresses.iter().map(|(kind, value)| address(*kind, value)).collect();
        let instance = Instance { addresses, ..Instance::default() };
        let (instance, refusal) = facts.judge_instance(name, instance, NodeWords::default);
        let left: Vec<_> = instance.addresses.into_iter().map(|it| it.value).collect();
        (left.join(" "), refusal)
    };
    let (left, refusal) =
        judged("n1", &[(AddressKind::InternalIp, "10.1.0.7"), (AddressKind::ExternalIp, "203.0.113.7")]);
    assert_eq!(left, "10.1.0.7");
    assert!(refusal.is_some_and(|it| it.contains("\"203.0.113.7\"") && it.contains("provider.nodeAddresses")));
    let (own, another) = ((AddressKind::Hostname, "localhost"), (AddressKind::InternalDns, "localhost"));
    assert_eq!(judged("localhost", &[own]), ("localhost".to_owned(), None), "the node is called so");
    assert!(judged("localhost", &[own, another]).1.is_some());
    assert!(judged("n1", &[own]).1.is_some());
}

#[test]
fn adv_151_labels_of_volumes_say_where_and_nothing_else() {
    for fine in PLACES.into_iter().chain(["rack", "topology.disk.example.com/zone", "example.com/kubernetes.io"]) {
        assert!(is_volume_label(fine), "{fine}");
    }
    for wrong in [
        "kubernetes.io/hostname",
        "node-role.kubernetes.io/control-plane",
        "node.kubernetes.io/instance-type",
        "pv.kubernetes.io/bound-by-controller",
        "topology.kubernetes.io/rack",
        "k8s.io/anything",
    ] {
        assert!(!is_volume_label(wrong), "{wrong}");
    }
}

#[test]
fn adv_158_answered_places_cost_no_more_than_their_bytes() {
    let pieces: [&[u8]; 7] = [b"a.", b"1", b".", b"0x", b"svc", b"::", b"kubernetes.default"];
    let line = measured_work::Line { nanoseconds: 1_000, memory: 64 };
    measured_work::fuzz("places of load balancers", line, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        drop((refused(&facts(), name(&text), Holders::default()), refused(&facts(), ip(&text), Holders::default())));
        drop(facts().node_addresses(&[address(AddressKind::Hostname, &text)], NodeWords::default));
        _ = is_volume_label(&text);
    });
}
