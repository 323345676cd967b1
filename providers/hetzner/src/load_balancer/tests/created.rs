//! Creations: everything in one request.

use aerostat_sdk::ExternalTrafficPolicy;

use super::*;

const CREATING: &str = "creating a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1 since 1000";

/// The body of the creation for a Service that [`service`] becomes, and the warnings.
fn created(cloud: &Cloud, change: impl FnOnce(LoadBalancer) -> LoadBalancer) -> (Value, Vec<String>) {
    let (progress, warnings) = cloud.ensure(&change(remembering(CREATING)));
    waits(progress);
    (cloud.body("load_balancers"), warnings)
}

#[test]
fn one_request_has_everything() {
    let cloud = Cloud::default();
    let (body, warnings) = created(&cloud, |it| it);
    let expected = json!({
        "name": NAME, "load_balancer_type": "lb11", "location": "fsn1",
        "labels": { "hcloud-ccm/service-uid": UID, "aerostat.dev/service-uid": UID, "aerostat.dev/cluster-uid": CLUSTER },
        "services": [{
            "protocol": "tcp", "listen_port": 80, "destination_port": 30_080, "proxyprotocol": false,
            "health_check": { "protocol": "tcp", "port": 30_080, "interval": 15, "timeout": 10, "retries": 3 },
        }],
        "targets": [{ "type": "server", "server": { "id": 1 } }],
    });
    assert_eq!(body, expected);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("LoadBalancerTypeUnconfigured: no type is chosen: lb11 is built"));
}

#[test]
fn a_creation_is_announced_once_it_is_known_to_work() {
    let host = Cloud::default().host();
    let Ok(Progress::Pending(pending)) = host.run(|| Hetzner::ensure(&service())) else { panic!("not announced") };
    assert_eq!(pending.status.memo.as_deref(), Some(CREATING));
    assert_eq!(host.requests(), ["GET hcloud /load_balancer_types?page=1&per_page=50"]);
}

#[test]
fn an_empty_annotation_takes_back_the_operators_choice() {
    let (body, _) = created(&Cloud::default(), |service| {
        service.with_annotation(key("location"), "").with_annotation(key("network-zone"), "us-east")
    });
    assert_eq!((body.get("location"), &body["network_zone"]), (None, &json!("us-east")));
    let (both, _) = created(&Cloud::default(), |it| it.with_annotation(key("network-zone"), "us-east"));
    assert_eq!((&both["location"], both.get("network_zone")), (&json!("fsn1"), None), "the location wins");
}

#[test]
fn the_network_and_all_choices_go_along() {
    let cloud = Cloud::default().setting("network", "7").setting("loadBalancers.usePrivateIP", "true");
    let (body, warnings) = created(&cloud, |service| {
        let service =
            service.with_annotation(key("type"), "lb21").with_annotation(key("algorithm-type"), "LEAST_CONNECTIONS");
        service.with_annotation(key("disable-public-network"), "true").with_annotation(key("name"), "web")
    });
    assert_eq!((&body["network"], &body["public_interface"], &body["name"]), (&json!(7), &json!(false), &json!("web")));
    assert_eq!(
        (&body["load_balancer_type"], &body["algorithm"]["type"]),
        (&json!("lb21"), &json!("least_connections"))
    );
    assert_eq!(body["targets"], json!([{ "type": "server", "server": { "id": 1 }, "use_private_ip": true }]));
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn an_address_of_the_network_is_asked_for_afterwards() {
    let cloud = Cloud::default().setting("network", "7").setting("loadBalancers.usePrivateIP", "true");
    let (body, _) = created(&cloud, |service| {
        service.with_annotation(key("private-ipv4"), "10.0.0.9").with_annotation(key("disable-public-network"), "true")
    });
    for field in ["network", "targets", "public_interface"] {
        assert_eq!(body.get(field), None, "{field}");
    }
}

#[test]
fn other_protocols_are_left_out_with_a_warning() {
    let udp = |it: LoadBalancer| it.with_port(Port::new(Protocol::Udp, 53, 30_053));
    let (body, warnings) = created(&Cloud::default(), udp);
    assert_eq!(body["services"].as_array().unwrap().len(), 1);
    assert!(warnings.iter().any(|it| it.starts_with("UnsupportedProtocolConfigured: port 53 is UDP")), "{warnings:?}");
}

#[test]
fn source_ranges_are_not_enforced_with_a_warning() {
    let (_, warnings) =
        created(&Cloud::default(), |it| LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..it });
    assert!(warnings.iter().any(|it| it.contains("loadBalancerSourceRanges is not enforced")), "{warnings:?}");
}

#[test]
fn local_pods_are_asked_for_at_their_own_port() {
    let local = |it| LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..it };
    let (body, _) = created(&Cloud::default(), local);
    let check = &body["services"][0]["health_check"];
    assert_eq!((&check["protocol"], &check["port"]), (&json!("http"), &json!(31_000)));
    let http = json!({ "domain": null, "path": "/healthz", "status_codes": ["200"], "tls": false });
    assert_eq!(check["http"], http);
    let (body, _) = created(&Cloud::default(), |it| local(it).with_annotation(key("health-check-port"), "30999"));
    let check = &body["services"][0]["health_check"];
    assert_eq!((&check["protocol"], &check["port"]), (&json!("tcp"), &json!(30_999)));
}

#[test]
fn ports_speak_what_their_annotations_say() {
    let (body, _) = created(&Cloud::default(), |service| {
        let service = service.with_port(Port::new(Protocol::Tcp, 443, 30_443)).with_annotation(key("protocol"), "HTTP");
        let service =
            service.with_annotation(key("protocol.443"), "https").with_annotation(key("http-certificates"), "42, 43");
        let service = service
            .with_annotation(key("http-sticky-sessions"), "true")
            .with_annotation(key("http-cookie-lifetime"), "5m");
        service.with_annotation(key("health-check-interval"), "10").with_annotation(key("http-status-codes"), "2??,404")
    });
    let [plain, secure] = &body["services"].as_array().unwrap()[..] else { panic!("two ports") };
    assert_eq!(plain["http"], json!({ "cookie_lifetime": 300, "sticky_sessions": true }));
    assert_eq!(secure["http"], json!({ "certificates": [42, 43], "cookie_lifetime": 300, "sticky_sessions": true }));
    let check = json!({
        "protocol": "http", "port": 30_443, "interval": 10, "timeout": 10, "retries": 3,
        "http": { "domain": null, "path": "/", "status_codes": ["2??", "404"] },
    });
    assert_eq!(secure["health_check"], check);
}

#[test]
fn a_managed_certificate_is_created_with_the_services_mark() {
    let managed = |service: LoadBalancer| {
        let service =
            service.with_annotation(key("protocol"), "https").with_annotation(key("certificate-type"), "managed");
        service.with_annotation(key("http-managed-certificate-domains"), "example.com,*.example.com")
    };
    let cloud = Cloud::default();
    created(&cloud, managed);
    let sent = cloud.body("certificates");
    assert_eq!(sent["name"], json!(format!("ccm-managed-certificate-{UID}")));
    assert_eq!(sent["domain_names"], json!(["example.com", "*.example.com"]));
    assert_eq!((&sent["type"], &sent["labels"]["hcloud-ccm/service-uid"]), (&json!("managed"), &json!(UID)));
    assert_eq!(cloud.body("load_balancers")["services"][0]["http"]["certificates"], json!([77]));
}

#[test]
fn more_nodes_than_a_type_takes_are_left_out() {
    let (body, warnings) = created(&Cloud::default(), |it| (2..=27).fold(it, |it, id| it.with_node(worker(id))));
    assert_eq!(body["targets"].as_array().unwrap().len(), 25);
    let warning = warnings.iter().find(|it| it.starts_with("MaxTargetsReached")).unwrap();
    assert!(warning.contains("its type takes 25 nodes, and 2 are left out"), "{warning}");
}

#[test]
fn a_type_that_will_end_is_told_to_whoever_chooses_it() {
    let kinds = || {
        let mut old = kind("lb11", 25);
        old["deprecated"] = json!("2026-12-01T00:00:00+00:00");
        json!({ "load_balancer_types": [old, kind("lb21", 75)] })
    };
    let warned = |cloud: Cloud, service: LoadBalancer| {
        let (progress, warnings) = cloud.special("load_balancer_types", 200, kinds()).ensure(&service);
        assert!(progress.is_ok(), "{progress:?}");
        warnings
    };
    let said = ["LoadBalancerTypeDeprecated: type lb11 is deprecated since 2026-12-01T00:00:00+00:00: choose another"];
    let chosen = |it: LoadBalancer, kind: &str| it.with_annotation(key("type"), kind);
    assert_eq!(warned(Cloud::default(), chosen(remembering(CREATING), "lb11")), said);
    assert_eq!(warned(Cloud::default(), chosen(remembering(CREATING), "lb21")), [""; 0]);
    let mut live = shown(5);
    assert_eq!(warned(Cloud::with(live.clone()), chosen(remembering("5"), "lb11")), [""; 0], "it has it already");
    live["load_balancer_type"] = kind("lb21", 75);
    assert_eq!(warned(Cloud::with(live), chosen(remembering("5"), "lb11")), said);
}

#[test]
fn nodes_that_are_not_reached_are_named() {
    let node = |name: &str, id: &str, extra: &[(&str, &str)]| {
        let extra = extra.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Node { extra, ..Node::named(name).with_provider_id(id) }
    };
    let (body, warnings) = created(&Cloud::default(), |service| {
        let service =
            service.with_node(node("kind", "kind://docker/x", &[])).with_node(node("metal", "hrobot://7", &[]));
        service.with_node(node("hidden", "hcloud://3", &[("public-ipv4", "")])).with_node(node(
            "unknown",
            "hcloud://4",
            &[],
        ))
    });
    assert_eq!(body["targets"].as_array().unwrap().len(), 2, "what is not known of a server is left to the cloud");
    for part in [
        "UnknownProviderIDPrefix: the provider id is not one of this cloud's of kind",
        "NodesSkipped: no public IPv4 address, without use-private-ip, have hidden",
        "NodesSkipped: setting robot.enabled is not true, and dedicated servers are metal",
    ] {
        assert!(warnings.iter().any(|it| it.starts_with(part)), "{part}: {warnings:?}");
    }
}

#[test]
fn dedicated_servers_are_targets_by_their_address() {
    let mut metal = Node::named("metal").with_provider_id("hrobot://7");
    metal.extra = vec![("robot-ipv4".to_owned(), "198.51.100.7".to_owned())];
    metal.addresses = vec![Address::internal_ip("10.1.0.7")];
    let targets = |private: &'static str| {
        let cloud = Cloud::default().setting("robot.enabled", "true").setting("network", "7");
        let cloud = cloud.setting("loadBalancers.usePrivateIP", private);
        created(&cloud, |it| LoadBalancer { nodes: vec![metal.clone()], ..it }).0["targets"].clone()
    };
    assert_eq!(targets("false"), json!([{ "type": "ip", "ip": { "ip": "198.51.100.7" } }]));
    assert_eq!(targets("true"), json!([{ "type": "ip", "ip": { "ip": "10.1.0.7" } }]));
}

#[test]
fn a_target_that_is_refused_does_not_keep_it_from_being_built() {
    let gone = json!({ "error": { "code": "invalid_input", "message": "server with ID '1' not found" } });
    let cloud = Cloud::default().special("load_balancers", 422, gone);
    let (progress, _) = cloud.ensure(&remembering(CREATING));
    assert!(refusal(progress).contains("server with ID '1' not found"));
    let bodies: Vec<_> = cloud.sent.borrow().iter().map(|(_, body)| body.get("targets").is_some()).collect();
    assert_eq!(bodies, [true, false], "sent again without targets");
}

#[test]
fn a_busy_network_is_waited_for() {
    let locked = json!({ "error": { "code": "conflict", "message": "the network is being changed" } });
    let host = Cloud::default().special("load_balancers", 409, locked).host();
    let Ok(Progress::Pending(pending)) = host.run(|| Hetzner::ensure(&remembering(CREATING))) else {
        panic!("pending")
    };
    let again = CREATING.replace("1000", "1001");
    assert_eq!((pending.status.memo, pending.wait.milliseconds), (Some(again), 500), "it is announced again");
}
