//! Values that the vendor puts up with keep their meaning, and are a warning.

use serde_json::{Value, json};

use super::{desired, desired_of, key, live, regional, service};
use crate::load_balancer::compare::{FieldDifference, difference};

/// Checks what is made of a value, and that there is one warning about it.
fn check(service: aerostat_sdk::LoadBalancer, key: &str, value: &str, pointer: &str, expected: &Value, meaning: &str) {
    let (spec, warnings) = desired(&service.with_annotation(key, value));
    assert_eq!(spec.pointer(pointer).unwrap_or(&Value::Null), expected, "{key}");
    assert_eq!(warnings, [format!("AnnotationTolerated: annotation {key}: {value:?} {meaning}")]);
}

#[test]
fn a_value_that_is_no_boolean_does_not_pass_tls_through() {
    let meaning = "counts as false: it is neither true nor false";
    let passthrough = "/forwarding_rules/0/tls_passthrough";
    check(regional(), key::TLS_PASSTHROUGH.name, "yes", passthrough, &json!(null), meaning);
}

#[test]
fn an_unknown_algorithm_is_round_robin() {
    let meaning = "counts as round_robin: it is neither that nor least_connections";
    check(service(), key::ALGORITHM.name, "random", "/algorithm", &json!("round_robin"), meaning);
}

#[test]
fn unknown_sticky_sessions_are_none() {
    let meaning = "counts as none: it is neither that nor cookies";
    check(regional(), key::STICKY_TYPE.name, "ip", "/sticky_sessions/type", &json!("none"), meaning);
}

#[test]
fn an_override_with_the_value_false_counts_as_set() {
    let meaning = "counts as true: only its absence is false";
    check(service(), key::HEALTH_OVERRIDE.name, "false", "/health_check/port", &json!(30_080), meaning);
}

#[test]
fn an_annotation_that_lacks_the_override_names_it() {
    let meaning = format!("has no effect without annotation {}", key::HEALTH_OVERRIDE.name);
    for (key, value) in
        [(key::HEALTH_PORT.name, "80"), (key::HEALTH_PATH.name, "/"), (key::HEALTH_PROTOCOL.name, "tcp")]
    {
        check(service(), key, value, "/health_check/port", &json!(10_256), &meaning);
    }
}

#[test]
fn zero_counts_as_not_set() {
    check(service(), key::SIZE_UNIT.name, "0", "/size_unit", &json!(null), "counts as not set: the least is 1");
    let pointer = "/http_idle_timeout_seconds";
    check(service(), key::IDLE_TIMEOUT.name, "0", pointer, &json!(null), "counts as not set: 60 seconds");
}

#[test]
fn ports_that_the_service_lacks_have_no_effect() {
    let meaning = "has no effect: the Service has no such port";
    let protocol = "/forwarding_rules/0/entry_protocol";
    check(regional(), key::HTTP_PORTS.name, "81", protocol, &json!("tcp"), meaning);
    let secured = regional().with_annotation(key::CERTIFICATE_ID.name, super::CERTIFICATE);
    check(secured, key::HTTP3_PORT.name, "8443", "/forwarding_rules/2", &json!(null), meaning);
}

#[test]
fn proxy_annotations_have_no_effect_on_regional_network() {
    let meaning = "has no effect on a REGIONAL_NETWORK load balancer";
    let protocol = "/forwarding_rules/0/entry_protocol";
    for (key, value) in
        [(key::PROTOCOL.name, "http"), (key::HTTP_PORTS.name, "any"), (key::CERTIFICATE_NAME.name, "web")]
    {
        check(service(), key, value, protocol, &json!("tcp"), meaning);
    }
}

/// Checks that a value which may not stand there is a warning where the load balancer has it, and changes nothing.
fn stays(service: aerostat_sdk::LoadBalancer, key: &str, value: &str, shown: &Value, allowed: &str) {
    let (service, live) = (service.with_annotation(key, value), live(shown));
    let (desired, warnings) = desired_of(&service, &live);
    let meaning = format!("stays, because the load balancer has it; it is not {allowed}");
    assert_eq!(warnings, [format!("AnnotationTolerated: annotation {key}: {value:?} {meaning}")]);
    assert_eq!(difference(&live, &desired.spec), FieldDifference::Nothing, "{key}");
}

/// The usual check with one other value.
fn check_with(name: &str, value: &Value) -> Value {
    let mut check = super::shown()["health_check"].clone();
    check[name] = value.clone();
    json!({ "health_check": check })
}

#[test]
fn a_value_that_the_load_balancer_has_stays_with_a_warning() {
    let size = "a whole number from 0 to 100";
    stays(service(), key::SIZE_UNIT.name, "200", &json!({ "size_unit": 200, "size": null }), size);
    let timeout = json!({ "http_idle_timeout_seconds": 900 });
    stays(service(), key::IDLE_TIMEOUT.name, "900", &timeout, "a whole number of seconds from 30 to 600");
    for (key, name, value, allowed) in [
        (key::HEALTH_INTERVAL.name, "check_interval_seconds", 2, "a whole number from 3 to 300"),
        (key::HEALTH_TIMEOUT.name, "response_timeout_seconds", 301, "a whole number from 3 to 300"),
        (key::HEALTH_UNHEALTHY.name, "unhealthy_threshold", 1, "a whole number from 2 to 10"),
        (key::HEALTH_HEALTHY.name, "healthy_threshold", 11, "a whole number from 2 to 10"),
    ] {
        stays(service(), key, &value.to_string(), &check_with(name, &json!(value)), allowed);
    }
    let rules = json!({ "firewall": { "deny": ["host:b", "host:a"] } });
    stays(
        service(),
        key::DENY_RULES.name,
        "host:a, host:b",
        &rules,
        "a list such as ip:192.0.2.1,cidr:198.51.100.0/24",
    );
    let cookies = json!({ "sticky_sessions": { "type": "cookies", "cookie_name": "L", "cookie_ttl_seconds": 300 } });
    let sticky =
        service().with_annotation(key::STICKY_TYPE.name, "cookies").with_annotation(key::STICKY_COOKIE_TTL.name, "300");
    stays(sticky, key::STICKY_COOKIE_NAME.name, "L", &cookies, "a name of 2 to 40 characters");
}

#[test]
fn a_value_that_the_load_balancer_does_not_have_is_refused() {
    let service = service().with_annotation(key::SIZE_UNIT.name, "200");
    let live = live(&json!({ "size_unit": 199, "size": null }));
    let refused = aerostat_sdk::testing::Host::new()
        .run(|| super::Desired::of(&service, &super::Settings::read()?, Some(&live)).map(|it| it.spec));
    assert!(refused.is_err(), "{refused:?}");
}
