//! Writes to a load balancer that there is.

use aerostat_sdk::{Address, LoadBalancer, SortedSet};
use serde_json::{Value, json};

use super::{desired_of, key, live, service, worker};
use crate::api::load_balancers::Spec;
use crate::load_balancer::compare::{FieldDifference, difference};

/// The difference between a load balancer and a Service that nobody has to be warned about.
fn differs(live: &Value, service: &LoadBalancer) -> FieldDifference {
    let live = super::live(live);
    let (desired, warnings) = desired_of(service, &live);
    assert_eq!(warnings, [""; 0]);
    difference(&live, &desired.spec)
}

/// The usual check with changes.
fn check(changes: &Value) -> Value {
    let mut check = super::shown()["health_check"].clone();
    for (name, value) in changes.as_object().unwrap() {
        check[name] = value.clone();
    }
    json!({ "health_check": check })
}

#[test]
fn a_load_balancer_as_desired_is_not_written() {
    assert_eq!(differs(&json!({}), &service()), FieldDifference::Nothing);
}

#[test]
fn a_field_left_out_or_said_otherwise_is_no_difference() {
    for same in [
        json!({ "firewall": null, "sticky_sessions": {}, "http_idle_timeout_seconds": null }),
        json!({ "redirect_http_to_https": null, "tag": null, "ipv6": null, "size_unit": null, "size": null }),
        json!({ "sticky_sessions": { "type": "none", "cookie_name": "", "cookie_ttl_seconds": 0 } }),
        json!({ "algorithm": "least_connections" }),
        json!({ "network": "", "network_stack": "", "size_unit": 0, "size": "", "http_idle_timeout_seconds": 0 }),
        json!({ "network": null, "network_stack": null, "sticky_sessions": { "type": null } }),
        json!({ "sticky_sessions": { "type": "" }, "vpc_uuid": "", "subnet_uuid": null }),
        check(&json!({ "protocol": null })),
        check(&json!({ "protocol": "" })),
        check(&json!({ "proxy_protocol": null })),
        check(&json!({ "proxy_protocol": false })),
    ] {
        assert_eq!(differs(&same, &service()), FieldDifference::Nothing, "{same}");
    }
}

#[test]
fn a_missing_type_is_the_default_one() {
    for kind in [json!(""), json!(null)] {
        let live = super::live(&json!({ "type": kind }));
        assert_eq!(live.kind, crate::api::load_balancers::Kind::Regional);
    }
}

#[test]
fn numbers_of_zero_count_as_missing() {
    let live = super::live(&check(&json!({ "check_interval_seconds": 0, "healthy_threshold": null, "port": 0 })));
    let check = &live.health_check;
    assert_eq!((check.check_interval_seconds, check.healthy_threshold, check.port), (None, None, 80));
}

#[test]
fn the_proxy_protocol_of_a_check_is_a_difference() {
    assert_eq!(differs(&check(&json!({ "proxy_protocol": true })), &service()), FieldDifference::Everything);
    // A check of one's own leaves it to the load balancer.
    let own = service().with_annotation(key::HEALTH_OVERRIDE.name, "");
    let shown = |proxy: bool| check(&json!({ "protocol": "tcp", "port": 30_080, "path": "", "proxy_protocol": proxy }));
    assert_eq!(differs(&shown(true), &own), FieldDifference::Nothing);
    assert_eq!(differs(&shown(false), &own), FieldDifference::Nothing);
}

#[test]
fn the_order_of_rules_is_no_difference() {
    let rule =
        |port| json!({ "entry_protocol": "tcp", "entry_port": port, "target_protocol": "tcp", "target_port": port });
    let service = service().with_port(aerostat_sdk::Port::new(aerostat_sdk::Protocol::Tcp, 443, 30_443));
    assert_eq!(differs(&json!({ "forwarding_rules": [rule(443), rule(80)] }), &service), FieldDifference::Nothing);
    assert_eq!(differs(&json!({ "forwarding_rules": [rule(443)] }), &service), FieldDifference::Everything);
}

#[test]
fn targets_alone_are_written_alone() {
    let service = service().with_node(worker(2));
    let add = FieldDifference::Targets { add: SortedSet::from([2]), remove: SortedSet::new() };
    assert_eq!(differs(&json!({}), &service), add);
    let change = FieldDifference::Targets { add: SortedSet::from([1, 2]), remove: SortedSet::from([7]) };
    assert_eq!(differs(&json!({ "droplet_ids": [7] }), &service), change);
    assert_eq!(differs(&json!({ "droplet_ids": [2, 1] }), &service), FieldDifference::Nothing);
}

#[test]
fn a_tag_that_chooses_targets_is_taken_away() {
    assert_eq!(differs(&json!({ "tag": "web" }), &service()), FieldDifference::Everything);
}

#[test]
fn everything_else_is_written_as_a_whole() {
    for other in [
        json!({ "name": "web" }),
        json!({ "redirect_http_to_https": true }),
        json!({ "enable_proxy_protocol": true }),
        json!({ "enable_backend_keepalive": true }),
        json!({ "disable_lets_encrypt_dns_records": true }),
        json!({ "http_idle_timeout_seconds": 90 }),
        json!({ "firewall": { "allow": ["ip:1.2.3.4"] } }),
        json!({ "sticky_sessions": { "type": "cookies", "cookie_name": "LB", "cookie_ttl_seconds": 300 } }),
        json!({ "health_check": { "protocol": "http", "port": 10_256, "path": "/healthz" } }),
    ] {
        assert_eq!(differs(&other, &service()), FieldDifference::Everything, "{other}");
    }
}

#[test]
fn a_size_without_an_annotation_stays() {
    assert_eq!(differs(&json!({ "size_unit": 5, "size": null }), &service()), FieldDifference::Nothing);
    let five = service().with_annotation(key::SIZE_UNIT.name, "5");
    assert_eq!(differs(&json!({ "size_unit": 5, "size": null }), &five), FieldDifference::Nothing);
    assert_eq!(differs(&json!({}), &five), FieldDifference::Everything);
    let large = service().with_annotation(key::SIZE_SLUG.name, "lb-large");
    assert_eq!(differs(&json!({ "size_unit": 6 }), &large), FieldDifference::Nothing);
}

#[test]
fn unmanaged_fields_are_sent_back() {
    let live = live(&json!({ "size_unit": 5, "domains": [{ "name": "a.example" }] }));
    let (desired, _) = desired_of(&service(), &live);
    let spec = json!(desired.spec);
    for (name, value) in [
        ("project_id", json!("9cc10173-e9ea-4176-9dbc-a4cee4c4ff30")),
        ("tls_cipher_policy", json!("STRONG")),
        ("size_unit", json!(5)),
        ("vpc_uuid", json!("c33931f2-a26a-4e61-b85c-4e95a2ec431b")),
        ("region", json!("nyc3")),
    ] {
        assert_eq!(spec[name], value, "{name}");
    }
    assert_eq!((spec.get("ip"), spec.get("status"), spec.get("size")), (None, None, None));
    assert_eq!(spec.get("domains"), None, "only global load balancers have them");
}

#[test]
fn a_field_that_cannot_be_changed_stays_with_a_warning() {
    for (service, live, warning) in [
        (
            service().with_annotation(key::TYPE.name, "REGIONAL"),
            json!({}),
            "type stays REGIONAL_NETWORK: it cannot become REGIONAL once the load balancer is built",
        ),
        (
            service().with_annotation(key::NETWORK.name, "INTERNAL"),
            json!({}),
            "network stays EXTERNAL: it cannot become INTERNAL once the load balancer is built",
        ),
        (
            service().with_annotation(key::NETWORK_STACK.name, "DUALSTACK"),
            json!({}),
            "network stack stays IPV4: it cannot become DUALSTACK once the load balancer is built",
        ),
        (
            service().with_annotation(key::NETWORK_STACK.name, "IPV4"),
            json!({ "network_stack": "DUALSTACK" }),
            "network stack stays DUALSTACK: it cannot become IPV4 once the load balancer is built",
        ),
        (
            service(),
            json!({ "network_stack": "DUALSTACK" }),
            "network stack stays DUALSTACK, although a node lacks a public IPv6 address: what arrives by IPv6 does not \
             reach it",
        ),
    ] {
        let live = super::live(&live);
        let (desired, warnings) = desired_of(&service, &live);
        assert_eq!(warnings, [format!("LoadBalancerImmutable: {warning}")]);
        let Spec { kind, network, network_stack, .. } = &desired.spec;
        assert_eq!((kind, network, network_stack), (&live.kind, &live.network, &live.network_stack));
        assert_eq!(difference(&live, &desired.spec), FieldDifference::Nothing);
    }
}

#[test]
fn a_default_that_changed_later_is_no_difference() {
    let mut dual = worker(1);
    dual.addresses.push(Address::external_ip("2001:db8::1"));
    let service = LoadBalancer { nodes: vec![dual], ..service() };
    assert_eq!(differs(&json!({}), &service), FieldDifference::Nothing);
    assert_eq!(
        differs(
            &json!({ "type": "REGIONAL", "forwarding_rules": [
        { "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 30_080 },
    ] }),
            &service
        ),
        FieldDifference::Nothing
    );
}
