//! Changes of a Service: one write each, in the vendor's order, and none where nothing differs.

use aerostat_sdk::ExternalTrafficPolicy;

use super::*;

/// A load balancer that serves the Service.
fn made(service: &mut LoadBalancer) -> Played {
    let played = Played::new(FakeVpc::default());
    played.settle(service);
    played
}

#[test]
fn ibm_016_a_service_that_is_served_costs_no_write() {
    let mut service = service();
    let played = made(&mut service);
    assert_eq!(played.settle(&mut service), [""; 0]);
    service.nodes.reverse();
    assert_eq!(played.settle(&mut service), [""; 0], "the order of nodes is nothing");
}

#[test]
fn ibm_017_nodes_that_come_and_go_are_one_write_a_pool() {
    let mut service = service();
    let played = made(&mut service);
    service.nodes.remove(0);
    service.nodes.extend([node(4), node(5), node(6)]);
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
    service.nodes.pop();
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
    service.nodes.clear();
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"], "none are none");
    assert_eq!(played.bodies().last(), Some(&json!({ "members": [] })));
}

#[test]
fn ibm_018_two_pools_change_one_after_the_other() {
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let played = made(&mut service);
    service.nodes.push(node(4));
    let first = played.call(&mut service);
    assert!(matches!(&first, Ok(Progress::Pending(it)) if it.wait.reason.contains("gets its members")), "{first:?}");
    let busy = played.call(&mut service);
    assert!(matches!(&busy, Ok(Progress::Pending(it)) if it.wait.reason.contains("update_pending")), "{busy:?}");
    assert_eq!(played.settle(&mut service).len(), 1, "and the second when the cloud is done with the first");
    assert!(played.host.events().is_empty(), "{:?}", played.host.events());
}

#[test]
fn ibm_019_another_node_port_changes_the_pool_and_its_members() {
    let mut service = service();
    let played = made(&mut service);
    service.ports[0].node_port = Some(30_090);
    assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1", "PUT /lb-1/pools/pool-1/members"]);
    let bodies = played.bodies();
    let monitor = json!({ "delay": 5, "max_retries": 2, "port": 30_090, "timeout": 2, "type": "tcp" });
    assert_eq!(bodies[bodies.len() - 2], json!({ "name": "tcp-80-30090", "health_monitor": monitor }));
}

#[test]
fn ibm_020_and_021_ports_come_and_go_with_their_pools() {
    let mut service = annotated("enable-features", "Proxy-Protocol");
    let played = made(&mut service);
    service.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    assert_eq!(played.settle(&mut service), ["POST /lb-1/pools", "POST /lb-1/listeners"]);
    let bodies = played.bodies();
    assert_eq!(bodies[1]["proxy_protocol"], "v1", "a pool that is made later, too");
    assert_eq!(bodies[2]["default_pool"], json!({ "id": "pool-9" }));
    service.ports.remove(0);
    assert_eq!(played.settle(&mut service), ["DELETE /lb-1/listeners/listener-5", "DELETE /lb-1/pools/pool-1"]);
}

#[test]
fn ibm_022_a_local_service_is_checked_at_its_own_port() {
    let mut service = service();
    let played = made(&mut service);
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"]);
    let monitor =
        json!({ "delay": 5, "max_retries": 2, "port": 31_000, "timeout": 2, "type": "http", "url_path": "/healthz" });
    assert_eq!(played.bodies().last().unwrap()["health_monitor"], monitor);
}

#[test]
fn ibm_022_a_service_that_is_local_no_more_is_checked_by_tcp() {
    let mut service = service();
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    let played = made(&mut service);
    service.external_traffic_policy = ExternalTrafficPolicy::Cluster;
    assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"]);
    let monitor =
        played.cloud.borrow_mut().cloud().balancers.get("lb-1").unwrap().body["pools"][0]["health_monitor"].clone();
    assert_eq!((&monitor["type"], &monitor["url_path"]), (&json!("tcp"), &json!("/healthz")), "the path stays");
    assert_eq!(played.settle(&mut service), [""; 0]);
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"]);
}

#[test]
fn ibm_023_a_type_that_cannot_be_changed_is_told() {
    let mut service = annotated("ip-type", "private");
    let played = made(&mut service);
    service.annotations.clear();
    assert_eq!(played.settle(&mut service), [""; 0]);
    assert_eq!(played.reasons(), ["LoadBalancerImmutable"]);
}

#[test]
fn ibm_029_the_proxy_protocol_is_turned_on_and_off() {
    let mut service = service();
    let played = made(&mut service);
    service = service.with_annotation(format!("{PREFIX}enable-features"), "proxy-protocol");
    for (expected, features) in [("v1", "proxy-protocol"), ("disabled", "")] {
        service.annotations[0].1 = features.to_owned();
        assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"]);
        assert_eq!(played.bodies().last().unwrap()["proxy_protocol"], expected);
    }
}

#[test]
fn the_checks_that_annotations_ask_for_are_written() {
    let mut service = service();
    let played = made(&mut service);
    for (name, value) in [
        ("vpc-health-check-protocol", "https"),
        ("vpc-health-check-port", "30443"),
        ("vpc-health-check-path", "/ready"),
        ("vpc-health-check-delay", "20"),
        ("vpc-health-check-timeout", "10"),
        ("vpc-health-check-retries", "3"),
        ("vpc-idle-connection-timeout", "120"),
        ("vpc-member-quota", "1"),
    ] {
        service = service.with_annotation(format!("{PREFIX}{name}"), value);
    }
    service.nodes.push(node(4));
    let written = played.settle(&mut service);
    assert_eq!(
        written,
        ["PATCH /lb-1/pools/pool-1", "PATCH /lb-1/listeners/listener-5"],
        "one node a zone takes traffic already"
    );
    let bodies = played.bodies();
    let monitor =
        json!({ "delay": 20, "max_retries": 3, "port": 30_443, "timeout": 10, "type": "https", "url_path": "/ready" });
    assert_eq!(bodies[1]["health_monitor"], monitor);
    assert_eq!(bodies[2], json!({ "idle_connection_timeout": 120 }));
}

/// Changes the first pool and the first listener in the cloud, by hand.
fn changed_by_hand(played: &Played, change: impl FnOnce(&mut Value, &mut Value)) {
    let mut cloud = played.cloud.borrow_mut();
    let body = &mut cloud.cloud().balancers.get_mut("lb-1").unwrap().body;
    let (mut pool, mut listener) = (body["pools"][0].take(), body["listeners"][0].take());
    change(&mut pool, &mut listener);
    (body["pools"][0], body["listeners"][0]) = (pool, listener);
}

#[test]
fn fields_that_somebody_changed_in_the_cloud_are_set_back() {
    let mut service = service();
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    let played = made(&mut service);
    let usual = |key: &str| match key {
        "protocol" => json!("tcp"),
        "algorithm" => json!("round_robin"),
        _ => json!("disabled"),
    };
    for (key, other) in [("protocol", "http"), ("algorithm", "least_connections"), ("proxy_protocol", "v2")] {
        changed_by_hand(&played, |pool, _| pool[key] = other.into());
        assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"], "{key}");
        assert_eq!(played.bodies().last().unwrap()[key], usual(key));
    }
    for (key, other) in [
        ("url_path", json!("/ready")),
        ("delay", json!(6)),
        ("timeout", json!(3)),
        ("max_retries", json!(3)),
        ("port", json!(31_001)),
        ("type", json!("https")),
    ] {
        changed_by_hand(&played, |pool, _| pool["health_monitor"][key] = other);
        assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"], "{key}");
    }
    changed_by_hand(&played, |_, listener| listener["connection_limit"] = 10.into());
    assert_eq!(played.settle(&mut service), ["PATCH /lb-1/listeners/listener-5"]);
    assert_eq!(played.bodies().last(), Some(&json!({ "connection_limit": 15_000 })));
    changed_by_hand(&played, |_, listener| listener["protocol"] = "http".into());
    let written = played.settle(&mut service);
    assert_eq!(written, ["DELETE /lb-1/listeners/listener-5", "POST /lb-1/listeners"]);
    changed_by_hand(&played, |pool, _| pool["members"][0]["port"] = 1.into());
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
}

#[test]
fn the_path_that_the_vendors_manager_checks_stays() {
    let mut service = service();
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    let played = made(&mut service);
    changed_by_hand(&played, |pool, _| pool["health_monitor"]["url_path"] = "/".into());
    assert_eq!(played.settle(&mut service), [""; 0]);
    service = service.with_annotation(format!("{PREFIX}vpc-health-check-path"), "/healthz");
    assert_eq!(played.settle(&mut service), ["PATCH /lb-1/pools/pool-1"], "its author chose another");
}

#[test]
fn ibm_027_a_label_chooses_nodes_whatever_their_zone_and_edge() {
    let mut edged = service();
    edged.nodes[0].labels.push((crate::load_balancer::EDGE.to_owned(), "edge".to_owned()));
    let selected =
        |it: LoadBalancer| it.with_annotation(format!("{PREFIX}vpc-node-selector"), "kubernetes.io/arch=amd64");
    let zoned = service().with_annotation(format!("{PREFIX}zone"), "us-south-1");
    // The host has chosen by the label.
    for (mut service, members) in [(selected(edged.clone()), 3), (edged, 1), (selected(zoned.clone()), 3), (zoned, 1)] {
        let played = made(&mut service);
        let body = played.bodies().remove(0);
        assert_eq!(body["pools"][0]["members"].as_array().unwrap().len(), members, "{:?}", service.annotations);
        service.nodes.push(node(4));
        let refused = service.with_annotation(format!("{PREFIX}vpc-idle-connection-timeout"), "49");
        (0..9).for_each(|_| drop(played.call(&mut refused.clone())));
        let written = played.bodies().pop().unwrap();
        let followed = written["members"].as_array().map_or(members, Vec::len);
        let more = usize::from(members == 3);
        assert_eq!(followed, members + more, "also where an annotation is refused: {written}");
    }
}

#[test]
fn a_zone_without_ready_nodes_is_told_of_one_that_serves() {
    let mut service = service();
    let played = made(&mut service);
    service = service.with_annotation(format!("{PREFIX}zone"), "us-south-1");
    service.nodes = vec![node(1)];
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
    let told = played.host.events();
    let part = "none is in zone us-south-1, which annotation";
    assert!(told.iter().any(|it| it.reason == "NodesMissing" && it.message.contains(part)), "{told:#?}");
    service.nodes.push(node(3));
    let before = played.host.events().len();
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
    assert_eq!(played.host.events().len(), before, "a node is there");
}

#[test]
fn parts_that_somebody_else_made_stay() {
    let mut service = service();
    let played = made(&mut service);
    let mut cloud = played.cloud.borrow_mut();
    let body = &mut cloud.cloud().balancers.get_mut("lb-1").unwrap().body;
    body["pools"].as_array_mut().unwrap().push(json!({
        "id": "pool-x", "name": "by-hand", "protocol": "tcp", "algorithm": "least_connections", "proxy_protocol": "disabled",
        "health_monitor": { "delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp" }, "members": [{ "id": "m", "port": 1, "target": { "id": "i" } }],
    }));
    body["listeners"].as_array_mut().unwrap().push(json!({
        "id": "listener-x", "port": 8080, "protocol": "tcp", "default_pool": { "id": "pool-x", "name": "by-hand" },
    }));
    drop(cloud);
    assert_eq!(played.settle(&mut service), [""; 0]);
    service.ports.push(Port::new(Protocol::Tcp, 8_080, 30_808));
    let written = played.settle(&mut service);
    assert_eq!(
        written,
        ["DELETE /lb-1/listeners/listener-x", "POST /lb-1/pools", "POST /lb-1/listeners"],
        "the port is the Service's"
    );
}

/// The requests of one call, in words without ids of load balancers.
fn asked(played: &Played, service: &mut LoadBalancer) -> Vec<String> {
    let before = played.host.requests().len();
    let _ = played.call(service);
    played.host.requests()[before..].iter().map(|it| plain(it)).collect()
}

#[test]
fn reads_are_those_that_a_decision_needs() {
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let played = Played::new(FakeVpc::default());
    assert_eq!(asked(&played, &mut service), [""; 0], "a creation is announced");
    let subnets = "GET vpc /subnets&vpc.id=r006-1&limit=100";
    assert_eq!(asked(&played, &mut service), [subnets, "POST "], "two requests");
    played.cloud.borrow_mut().advance(Duration::from_secs(9));
    let (own, listeners, pools) = ("GET /lb-1", "GET /lb-1/listeners", "GET /lb-1/pools");
    let (first, second) = ("GET /lb-1/pools/pool-1/members", "GET /lb-1/pools/pool-5/members");
    let everything = [own, pools, listeners, first, second];
    assert_eq!(asked(&played, &mut service), everything, "all is compared once");

    service.nodes.push(node(4));
    let step = |service: &mut LoadBalancer| {
        let asked = asked(&played, service);
        played.cloud.borrow_mut().advance(Duration::from_secs(4));
        asked
    };
    assert_eq!(step(&mut service), [own, pools, "PUT /lb-1/pools/pool-1/members"], "it has another number of them");
    assert_eq!(step(&mut service), [own, pools, "PUT /lb-1/pools/pool-5/members"]);
    assert_eq!(step(&mut service), everything);

    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(step(&mut service), [own, pools, "PATCH /lb-1/pools/pool-1"]);
    assert_eq!(step(&mut service), [own, pools, "PATCH /lb-1/pools/pool-5"]);
    assert_eq!(step(&mut service), everything);

    service.ports.pop();
    assert_eq!(step(&mut service), [own, pools, listeners, "DELETE /lb-1/listeners/listener-10"]);
    assert_eq!(step(&mut service), [own, pools, listeners, "DELETE /lb-1/pools/pool-5"]);
    assert_eq!(step(&mut service), [own, pools, listeners, first]);
}

#[test]
fn parts_of_a_creation_are_not_compared_for_the_same_service() {
    let made = || {
        let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
        let played = Played::new(FakeVpc::default());
        for _ in 0..2 {
            let _ = played.call(&mut service);
        }
        played.cloud.borrow_mut().advance(Duration::from_secs(9));
        service.extra = vec![("host.as-created".to_owned(), "true".to_owned())];
        (played, service)
    };
    let (played, mut service) = made();
    assert_eq!(asked(&played, &mut service), ["GET /lb-1"]);
    assert_eq!(service.current_ingress.len(), 1, "it is ready");
    assert_eq!(asked(&played, &mut service).len(), 5, "from then on it is compared");
    let (played, mut service) = made();
    let mut cloud = played.cloud.borrow_mut();
    cloud.cloud().balancers.get_mut("lb-1").unwrap().body["listeners"].as_array_mut().unwrap().pop();
    drop(cloud);
    assert!(asked(&played, &mut service).len() > 1, "a part is missing");
}

#[test]
fn node_ports_that_change_together_are_served_again_one_by_one() {
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let played = made(&mut service);
    for (port, node_port) in service.ports.iter_mut().zip([30_090, 30_093]) {
        port.node_port = Some(node_port);
    }
    let of = |pool: &str| [format!("PATCH /lb-1/pools/{pool}"), format!("PUT /lb-1/pools/{pool}/members")];
    assert_eq!(played.settle(&mut service), [of("pool-1"), of("pool-5")].concat());
}

#[test]
fn two_nodes_more_are_one_write_for_each_of_two_ports() {
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let played = made(&mut service);
    service.nodes.extend([node(4), node(5)]);
    let written = played.settle(&mut service);
    assert_eq!(written, ["PUT /lb-1/pools/pool-1/members", "PUT /lb-1/pools/pool-5/members"]);
    assert!(played.host.events().is_empty(), "{:?}", played.host.events());
}

#[test]
fn a_node_in_the_place_of_another_is_a_member_in_its_place() {
    let mut service = service();
    let played = made(&mut service);
    service.nodes[0] = node(9);
    assert_eq!(played.settle(&mut service), ["PUT /lb-1/pools/pool-1/members"]);
}
