//! Network load balancers: one subnet, one protocol, and an address that stays.

use aerostat_sdk::ExternalTrafficPolicy;

use super::*;

/// A Service of this protocol with a network load balancer in the first zone.
pub(super) fn network(protocol: Protocol) -> LoadBalancer {
    let mut service = annotated("enable-features", "nlb").with_annotation(format!("{PREFIX}zone"), "us-south-1");
    service.ports[0].protocol = protocol;
    for node in &mut service.nodes {
        node.zone = Some("us-south-1".to_owned());
    }
    service
}

#[test]
fn a_network_one_is_in_one_subnet_and_keeps_its_address() {
    let played = Played::new(FakeVpc::default());
    let mut service = network(Protocol::Tcp);
    assert_eq!(played.settle(&mut service), ["POST "]);
    let body = played.bodies().remove(0);
    assert_eq!(
        (&body["profile"], &body["subnets"]),
        (&json!({ "name": "network-fixed" }), &json!([{ "id": "0717-s1" }]))
    );
    assert_eq!(
        body["listeners"],
        json!([{ "port": 80, "protocol": "tcp", "default_pool": { "name": "tcp-80-30080" } }])
    );
    assert_eq!(service.current_ingress, [Ingress::ip("169.48.0.1")]);
    assert_eq!(played.settle(&mut service), [""; 0]);
    service.memo = None;
    assert_eq!(played.settle(&mut service), [""; 0], "it is found by its name");
}

const RANGE: &str = "vpc-port-range";

/// The same with these ranges of ports.
fn ranged(mut service: LoadBalancer, ranges: &str) -> LoadBalancer {
    service.annotations.retain(|(key, _)| !key.ends_with(RANGE));
    service.with_annotation(format!("{PREFIX}{RANGE}"), ranges)
}

/// The requests of a load balancer that takes ranges of ports: made with one, which changes, and gets another beside it.
pub(super) fn life() -> Vec<testing::Request> {
    let played = Played::new(FakeVpc::default());
    let mut service = ranged(network(Protocol::Tcp), "80-90");
    service.nodes.truncate(1);
    played.settle(&mut service);
    service.ports.push(Port::new(Protocol::Tcp, 85, 30_085));
    service = ranged(service, "80-84,85-99");
    played.settle(&mut service);
    played.host.sent()
}

#[test]
fn a_range_of_ports_is_one_listener() {
    let played = Played::new(FakeVpc::default());
    let mut service = ranged(network(Protocol::Tcp), "80-90");
    assert_eq!(played.settle(&mut service), ["POST "]);
    assert_eq!(
        played.bodies()[0]["listeners"],
        json!([{ "port_min": 80, "port_max": 90, "protocol": "tcp", "default_pool": { "name": "tcp-80-30080" } }])
    );
    assert_eq!(played.settle(&mut service), [""; 0]);

    service.ports.insert(0, Port::new(Protocol::Tcp, 85, 30_085));
    service = ranged(service, "80-84");
    let written = played.settle(&mut service);
    assert_eq!(written, ["PATCH /lb-1/listeners/listener-5", "POST /lb-1/pools", "POST /lb-1/listeners"]);
    assert_eq!(played.bodies()[1], json!({ "port_min": 80, "port_max": 84 }), "it makes room first");
    service = ranged(service, "85-99,80-82");
    let bodies = played.bodies().len();
    assert_eq!(played.settle(&mut service).len(), 2);
    let narrower_first = [json!({ "port_min": 80, "port_max": 82 }), json!({ "port_min": 85, "port_max": 99 })];
    assert_eq!(played.bodies()[bodies..], narrower_first);
    service.annotations.retain(|(key, _)| !key.ends_with(RANGE));
    assert_eq!(played.settle(&mut service).len(), 2, "without ranges each takes its port alone");
    assert_eq!(played.bodies().last(), Some(&json!({ "port_min": 80, "port_max": 80 })));
}

#[test]
fn a_port_in_a_range_that_somebody_made_is_told() {
    let played = Played::new(FakeVpc::default());
    let mut service = network(Protocol::Tcp);
    played.settle(&mut service);
    let by_hand = json!({
        "id": "listener-x", "port": 81, "port_max": 90, "protocol": "tcp", "default_pool": { "id": "pool-x", "name": "by-hand" },
    });
    let listeners = |played: &Played, change: &dyn Fn(&mut Vec<Value>)| {
        let mut cloud = played.cloud.borrow_mut();
        change(cloud.cloud().balancers.get_mut("lb-1").unwrap().body["listeners"].as_array_mut().unwrap());
    };
    listeners(&played, &|all| all.push(by_hand.clone()));
    service.ports.push(Port::new(Protocol::Tcp, 85, 30_085));
    let answers: Vec<_> = (0..40).map(|_| played.call(&mut service)).collect();
    let is_told = |why: &str| why.contains("the listener of port 85") && why.contains("choose another port");
    assert!(matches!(&answers[39], Err(Error::Invalid(why)) if is_told(why)), "{:?}", answers[39]);
    listeners(&played, &|all| all.retain(|it| it["id"] != "listener-x"));
    assert_eq!(played.settle(&mut service), ["POST /lb-1/listeners"], "it is served once there is room");
}

#[test]
fn ranges_of_ports_that_cannot_be_are_refused() {
    let two = || network(Protocol::Tcp).with_port(Port::new(Protocol::Tcp, 85, 30_085));
    for (service, ranges, part) in [
        (two(), "81-90", "81-90 begins with 81, which is no port of the Service"),
        (two(), "80-90", "80-90 takes in port 85"),
        (two(), "85-90,80-85", "80-85 takes in port 85"),
        (two(), "80-82,80-84", "two ranges begin with 80"),
        (two().with_annotation(format!("{PREFIX}ip-type"), "private"), "80-84", "public network load balancers alone"),
    ] {
        let played = Played::new(FakeVpc::default());
        let refused = played.host.run(|| Ibm::ensure(&ranged(service, ranges)));
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains(part) && why.contains(RANGE)),
            "{refused:?}"
        );
        assert!(played.host.bodies().is_empty());
    }
}

#[test]
fn an_address_that_another_one_has_by_now_proves_nothing() {
    let played = Played::new(FakeVpc::default());
    let mut service = network(Protocol::Tcp).with_annotation(format!("{PREFIX}vpc-lb-name"), "shared");
    played.settle(&mut service);
    assert_eq!(service.current_ingress, [Ingress::ip("169.48.0.1")]);
    service.memo = None;
    assert_eq!(played.host.run(|| Ibm::delete(&service)), Ok(Deletion::Done));
    assert_eq!(played.deletions(), [""; 0]);
}

#[test]
fn ibm_030_udp_has_a_port_of_tcp_by_which_nodes_are_checked() {
    let refused = |service: &LoadBalancer| match Played::new(FakeVpc::default()).host.run(|| Ibm::ensure(service)) {
        Err(Error::Invalid(why)) => why,
        other => panic!("{other:?}"),
    };
    let mut service = network(Protocol::Udp);
    assert!(refused(&service).contains("vpc-health-check-udp"), "{}", refused(&service));
    let mixed = service.clone().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    assert!(refused(&mixed).contains("port 80 is UDP and port 443 TCP"), "{}", refused(&mixed));

    service = service.with_annotation(format!("{PREFIX}vpc-health-check-udp"), "30100");
    let played = Played::new(FakeVpc::default());
    assert_eq!(played.settle(&mut service), ["POST "]);
    let body = played.bodies().remove(0);
    let pool = &body["pools"][0];
    assert_eq!((&pool["name"], &pool["protocol"]), (&json!("udp-80-30080"), &json!("udp")));
    assert_eq!(pool["health_monitor"]["port"], 30_100);
    assert_eq!(body["listeners"][0]["protocol"], "udp");
    service.ports.push(Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(played.settle(&mut service), ["POST /lb-1/pools", "POST /lb-1/listeners"]);
    service.ports.remove(0);
    assert_eq!(played.settle(&mut service).len(), 2, "the first port goes");
    service.annotations.retain(|(key, _)| !key.ends_with("udp"));
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(played.settle(&mut service).len(), 1, "kube-proxy is asked");
    assert_eq!(played.bodies().last().unwrap()["health_monitor"]["url_path"], "/healthz");
}

#[test]
fn ibm_030_udp_is_served_where_the_cloud_does_not_tell_of_it() {
    let mut vpc = FakeVpc::default();
    vpc.tells_of_udp = false;
    let played = Played::new(vpc);
    let mut service = network(Protocol::Udp).with_annotation(format!("{PREFIX}vpc-health-check-udp"), "30100");
    assert_eq!(played.settle(&mut service), ["POST "]);
    assert_eq!(played.settle(&mut service), [""; 0]);
}

#[test]
fn nodes_of_udp_are_followed_whatever_checks_them() {
    let played = Played::new(FakeVpc::default());
    let service = network(Protocol::Udp).with_annotation(format!("{PREFIX}vpc-health-check-protocol"), "tcp");
    let mut service = service.with_annotation(format!("{PREFIX}vpc-health-check-port"), "30100");
    assert_eq!(played.settle(&mut service), ["POST "]);
    service = service.with_annotation(format!("{PREFIX}vpc-idle-connection-timeout"), "49");
    service.nodes.push(Node { zone: Some("us-south-1".to_owned()), ..node(4) });
    let before = played.host.requests().len();
    let refused = (0..20).map(|_| played.call(&mut service)).last().unwrap();
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("idle-connection-timeout")), "{refused:?}");
    let all = &played.host.requests()[before..];
    let written: Vec<String> = all.iter().filter(|it| !it.starts_with("GET")).map(|it| plain(it)).collect();
    assert_eq!(written, ["PUT /lb-1/pools/pool-1/members"]);
}

#[test]
fn the_kind_of_a_load_balancer_cannot_be_changed() {
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}enable-features"), "nlb");
    assert_eq!(played.settle(&mut service), [""; 0]);
    assert_eq!(played.reasons(), ["LoadBalancerImmutable"]);
    service.ports[0].protocol = Protocol::Udp;
    let refused = played.call(&mut service);
    assert!(
        matches!(&refused, Err(Error::Invalid(why)) if why.contains("lb-1") && why.contains("does not take")),
        "{refused:?}"
    );
}
