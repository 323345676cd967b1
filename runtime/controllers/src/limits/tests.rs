use cloud_provider::{Address, AddressKind, Owner, Port, Protocol};

use super::*;

fn service() -> LoadBalancer {
    let [cluster, namespace, name, uid] = ["kubernetes", "default", "web", "0f0e0d0c"].map(str::to_owned);
    LoadBalancer {
        name: "a0f0e0d0c".to_owned(),
        owner: Owner { cluster, namespace, name, uid },
        memo: Some("lb-1".to_owned()),
        ..LoadBalancer::default()
    }
}

fn with_ports(count: usize) -> LoadBalancer {
    let port = |nth: usize| Port {
        name: format!("p{nth}"),
        protocol: Protocol::Tcp,
        port: u16::try_from(nth).unwrap(),
        node_port: None,
        app_protocol: None,
    };
    LoadBalancer { ports: (1..=count).map(port).collect(), ..service() }
}

fn with_annotation(value: String) -> LoadBalancer {
    let annotations = vec![("example.com/id".to_owned(), "lb-1".to_owned()), ("example.com/ports".to_owned(), value)];
    LoadBalancer { annotations, ..service() }
}

/// That `objection` names all of `parts`, and that what is left for a deletion is within the limits.
fn check(desired: LoadBalancer, parts: &[&str]) {
    let message = objection(&desired).expect("it is too large");
    for part in parts.iter().chain(&["What exists in the cloud stays"]) {
        assert!(message.contains(part), "{part}: {message}");
    }
    let unwanted = trimmed(desired.clone());
    assert_eq!(objection(&unwanted), None);
    assert_eq!((&unwanted.name, &unwanted.owner, &unwanted.memo), (&desired.name, &desired.owner, &desired.memo));
}

#[test]
fn adv_103_a_service_over_a_limit_is_told_the_limit() {
    check(with_ports(1_501), &["spec.ports has 1501 ports", "1500 at most", "split"]);
    check(with_ports(45_000), &["45000"]);
    check(with_annotation("80,".repeat(80_000)), &["annotations", "65536 at most", "shorten"]);
    let ranges = (0..5_001).map(|it| format!("10.{}.{}.0/24", it / 256, it % 256)).collect();
    check(LoadBalancer { source_ranges: ranges, ..service() }, &["loadBalancerSourceRanges", "5001", "5000 at most"]);
    let address = Some("9".repeat(1 << 20));
    check(LoadBalancer { load_balancer_ip: address, ..service() }, &["loadBalancerIP", "253 at most"]);
}

#[test]
fn adv_103_a_service_at_its_limits_is_given_whole() {
    let long = with_annotation("8".repeat(60_000));
    for service in [service(), with_ports(1_500), long] {
        assert_eq!(objection(&service), None);
        assert_eq!(trimmed(service.clone()), service);
    }
}

#[test]
fn adv_103_a_deletion_keeps_ids_and_switches() {
    let mut service = with_annotation("x".repeat(100_000));
    service
        .annotations
        .push(("example.com/leave-alone".to_owned(), format!("{}true{}", " ".repeat(999), " ".repeat(9))));
    let kept: Vec<_> = trimmed(service).annotations.into_iter().map(|(_, value)| value).collect();
    assert_eq!(kept, ["lb-1".to_owned(), "x".repeat(256), "true".to_owned()]);
}

#[test]
fn adv_103_large_clusters_are_not_refused() {
    assert_eq!(too_many_nodes(5_000), None);
    assert_eq!(too_many_nodes(15_000), None);
    let message = too_many_nodes(15_001).unwrap();
    assert!(message.contains("15001") && message.contains("exclude-from-external-load-balancers"), "{message}");
}

#[test]
fn adv_103_a_text_of_a_kubelet_is_cut_and_told() {
    let address = |value: String| Address { kind: AddressKind::InternalIp, value };
    let usual = cloud_provider::Node {
        name: "n1".to_owned(),
        addresses: vec![address("10.0.0.1".to_owned())],
        ..cloud_provider::Node::default()
    };
    assert_eq!(trimmed_node(usual.clone()), (usual.clone(), None));
    let mut large = usual.clone();
    large.addresses.extend((0..10_000).map(|it| address(format!("10.1.{}.{}", it / 256, it % 256))));
    large.addresses.insert(1, address("x".repeat(1 << 20)));
    large.labels = (0..1_000).map(|it| (format!("l{it}"), String::new())).collect();
    let (cut, message) = trimmed_node(large);
    assert_eq!((cut.addresses.len(), cut.labels.len()), (64, 512));
    assert_eq!(cut.addresses[0], usual.addresses[0], "the first ones stay, in order");
    let message = message.unwrap();
    assert!(message.contains("10002 addresses") && message.contains("64") && message.contains("kubelet"), "{message}");
}
