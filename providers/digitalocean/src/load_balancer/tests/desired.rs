//! Requests for a new load balancer.

use aerostat_sdk::testing::Host;
use aerostat_sdk::{Address, ExternalTrafficPolicy, LoadBalancer, Port, Protocol};
use serde_json::{Value, json};

use super::{desired, key, private, regional, service, worker};
use crate::load_balancer::desired::Desired;
use crate::settings::Settings;

/// One part of the desired of a Service that nobody has to be warned about.
fn part(service: &LoadBalancer, pointer: &str) -> Value {
    let (spec, warnings) = desired(service);
    assert_eq!(warnings, [""; 0]);
    spec.pointer(pointer).cloned().unwrap_or_default()
}

fn with_setting(name: &str, value: &str, service: &LoadBalancer) -> Value {
    Host::new().setting(name, value).run(|| json!(Desired::of(service, &Settings::read().unwrap(), None).unwrap().spec))
}

#[test]
fn a_service_without_annotations_gets_the_vendors_defaults() {
    let (spec, warnings) = desired(&service());
    assert_eq!(
        spec,
        json!({
            "name": super::NAME, "region": "nyc3", "type": "REGIONAL_NETWORK", "network": "EXTERNAL",
            "network_stack": "IPV4", "algorithm": "round_robin",
            "forwarding_rules": [
                { "entry_port": 80, "entry_protocol": "tcp", "target_port": 80, "target_protocol": "tcp" },
            ],
            "health_check": {
                "protocol": "http", "port": 10_256, "path": "/healthz", "check_interval_seconds": 3,
                "response_timeout_seconds": 5, "unhealthy_threshold": 3, "healthy_threshold": 5,
                "proxy_protocol": false,
            },
            "sticky_sessions": { "type": "none" }, "droplet_ids": [1], "redirect_http_to_https": false,
            "enable_proxy_protocol": false, "enable_backend_keepalive": false,
            "disable_lets_encrypt_dns_records": false, "firewall": {},
        })
    );
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn every_annotation_with_a_value_finds_its_attribute() {
    for (key, value, pointer, expected) in [
        (key::NAME.name, "web.example.com", "/name", json!("web.example.com")),
        (key::TYPE.name, "REGIONAL_NETWORK", "/type", json!("REGIONAL_NETWORK")),
        (key::NETWORK.name, "INTERNAL", "/network", json!("INTERNAL")),
        (key::NETWORK_STACK.name, "IPV4", "/network_stack", json!("IPV4")),
        (key::IP.name, " 198.51.100.7 ", "/ip", json!("198.51.100.7")),
        (key::SUBNET.name, super::OTHER_ID, "/subnet_uuid", json!(super::OTHER_ID)),
        (key::ALGORITHM.name, "least_connections", "/algorithm", json!("least_connections")),
        (key::SIZE_SLUG.name, "lb-large", "/size", json!("lb-large")),
        (key::SIZE_UNIT.name, "3", "/size_unit", json!(3)),
        (key::REDIRECT.name, "TRUE", "/redirect_http_to_https", json!(true)),
        (key::NO_DNS_RECORDS.name, "1", "/disable_lets_encrypt_dns_records", json!(true)),
        (key::PROXY_PROTOCOL.name, "t", "/enable_proxy_protocol", json!(true)),
        (key::KEEPALIVE.name, "T", "/enable_backend_keepalive", json!(true)),
        (key::IDLE_TIMEOUT.name, "600", "/http_idle_timeout_seconds", json!(600)),
        (
            key::DENY_RULES.name,
            "ip:1.2.3.4, cidr:2.3.0.0/16",
            "/firewall/deny",
            json!(["cidr:2.3.0.0/16", "ip:1.2.3.4"]),
        ),
        (key::ALLOW_RULES.name, "cidr:2001:db8::/32", "/firewall/allow", json!(["cidr:2001:db8::/32"])),
        (key::HEALTH_INTERVAL.name, "10", "/health_check/check_interval_seconds", json!(10)),
        (key::HEALTH_TIMEOUT.name, "300", "/health_check/response_timeout_seconds", json!(300)),
        (key::HEALTH_UNHEALTHY.name, "2", "/health_check/unhealthy_threshold", json!(2)),
        (key::HEALTH_HEALTHY.name, "10", "/health_check/healthy_threshold", json!(10)),
    ] {
        assert_eq!(part(&service().with_annotation(key, value), pointer), expected, "{key}");
    }
}

#[test]
fn sticky_sessions_need_a_cookie() {
    let service = regional()
        .with_annotation(key::STICKY_TYPE.name, "cookies")
        .with_annotation(key::STICKY_COOKIE_NAME.name, "LB")
        .with_annotation(key::STICKY_COOKIE_TTL.name, "300");
    let cookies = json!({ "type": "cookies", "cookie_name": "LB", "cookie_ttl_seconds": 300 });
    assert_eq!(part(&service, "/sticky_sessions"), cookies);
}

#[test]
fn an_empty_value_counts_as_not_set() {
    let service = service().with_annotation(key::SIZE_UNIT.name, "").with_annotation(key::TYPE.name, " ");
    assert_eq!(desired(&service), desired(&super::service()));
}

#[test]
fn local_traffic_is_checked_on_its_own_port() {
    let service = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..service() };
    assert_eq!(part(&service, "/health_check/port"), json!(31_000));
    assert_eq!(part(&service, "/health_check/path"), json!("/healthz"));
}

#[test]
fn an_overridden_check_asks_a_port_of_the_service() {
    let udp = Port::new(Protocol::Udp, 53, 30_053);
    let service = LoadBalancer { ports: vec![udp], ..service() }
        .with_port(Port::new(Protocol::Tcp, 80, 30_080))
        .with_port(Port::new(Protocol::Tcp, 81, 30_081))
        .with_annotation(key::HEALTH_OVERRIDE.name, "true");
    let check = |service: &LoadBalancer| {
        let check = part(service, "/health_check");
        (check["protocol"].clone(), check["port"].clone(), check["path"].clone(), check["proxy_protocol"].clone())
    };
    assert_eq!(check(&service), (json!("tcp"), json!(30_080), json!(null), json!(null)));
    let service = service.with_annotation(key::HEALTH_PORT.name, "81").with_annotation(key::HEALTH_PATH.name, "/well");
    assert_eq!(check(&service), (json!("http"), json!(30_081), json!("/well"), json!(null)));
    let service = service.with_annotation(key::HEALTH_PROTOCOL.name, "https");
    assert_eq!(check(&service), (json!("https"), json!(30_081), json!("/well"), json!(null)));
}

#[test]
fn source_ranges_take_the_place_of_the_annotation() {
    let service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() }
        .with_annotation(key::ALLOW_RULES.name, "ip:1.2.3.4")
        .with_annotation(key::DENY_RULES.name, "ip:10.0.0.1");
    let firewall = json!({ "allow": ["cidr:10.0.0.0/8"], "deny": ["ip:10.0.0.1"] });
    assert_eq!(part(&service, "/firewall"), firewall);
}

#[test]
fn regional_network_dual_stack_needs_nodes_with_both_families() {
    let dual = |droplet| {
        let mut node = worker(droplet);
        node.addresses.push(Address::external_ip("2001:db8::1"));
        node
    };
    let service = LoadBalancer { nodes: vec![dual(1), dual(2)], ..service() };
    assert_eq!(part(&service, "/network_stack"), json!("DUALSTACK"));
    let internal = service.clone().with_annotation(key::NETWORK.name, "INTERNAL");
    assert_eq!(part(&internal, "/network_stack"), json!("IPV4"));
    assert_eq!(part(&service.with_node(worker(3)), "/network_stack"), json!("IPV4"));
    assert_eq!(part(&regional(), "/network_stack"), json!("DUALSTACK"));
}

#[test]
fn each_kind_takes_the_nodes_that_it_reaches() {
    let private_only = private(2, [Address::internal_ip("10.0.0.2")]);
    let without = private(3, [Address::internal_ip("fd00::3"), Address::external_ip("2001:db8::3")]);
    let mut unknown = worker(4);
    unknown.provider_id = None;
    let all = service().with_node(private_only).with_node(without).with_node(unknown);
    for (annotation, droplets) in [
        ((key::TYPE.name, "REGIONAL_NETWORK"), json!([1])),
        ((key::TYPE.name, "REGIONAL"), json!([1, 2])),
        ((key::NETWORK.name, "INTERNAL"), json!([1, 2, 3])),
    ] {
        let (spec, warnings) = desired(&all.clone().with_annotation(annotation.0, annotation.1));
        assert_eq!(spec["droplet_ids"], droplets, "{annotation:?}");
        assert!(warnings.iter().all(|it| it.starts_with("NodesSkipped: ")), "{warnings:?}");
        assert!(warnings[0].contains("worker-4"), "{warnings:?}");
    }
}

#[test]
fn settings_give_vpc_region_type_and_tag() {
    let vpc = super::OTHER_ID;
    assert_eq!(with_setting("vpcId", vpc, &service())["vpc_uuid"], json!(vpc));
    assert_eq!(with_setting("region", "fra1", &service())["region"], json!("fra1"));
    assert_eq!(with_setting("defaultLoadBalancerType", "REGIONAL", &service())["type"], json!("REGIONAL"));
    assert_eq!(with_setting("clusterId", "c-1", &service())["tags"], json!(["k8s:c-1"]));
}

#[test]
fn adv_105_a_droplet_of_another_region_is_left_out() {
    let elsewhere = |droplet, region: &str| {
        let mut node = super::worker(droplet);
        node.region = Some(region.to_owned());
        node
    };
    let (spec, warnings) = desired(&service().with_node(super::worker(2)).with_node(elsewhere(3, "fra1")));
    assert_eq!((&spec["region"], &spec["droplet_ids"]), (&json!("nyc3"), &json!([1, 2])));
    assert!(warnings.iter().any(|it| it.starts_with("NodesSkipped: ") && it.contains("worker-3")), "{warnings:?}");
    let why = super::refusal(&service().with_node(elsewhere(3, "fra1")));
    assert!(why.starts_with("the region is not clear") && why.contains("fra1") && why.contains("nyc3"), "{why}");
}
