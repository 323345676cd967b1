//! Values that the vendor puts up with keep their meaning, and are a warning.

use serde_json::{Value, json};

use super::{key, regional, service, wished};

/// Checks what is made of a value, and that there is one warning about it.
fn check(service: aerostat_sdk::LoadBalancer, key: &str, value: &str, pointer: &str, expected: &Value, meaning: &str) {
    let (spec, warnings) = wished(&service.with_annotation(key, value));
    assert_eq!(spec.pointer(pointer).unwrap_or(&Value::Null), expected, "{key}");
    assert_eq!(warnings, [format!("AnnotationTolerated: annotation {key}: {value:?} {meaning}")]);
}

#[test]
fn what_is_no_boolean_does_not_pass_tls_through() {
    let meaning = "counts as false: it is neither true nor false";
    let passthrough = "/forwarding_rules/0/tls_passthrough";
    check(regional(), key::TLS_PASSTHROUGH, "yes", passthrough, &json!(null), meaning);
}

#[test]
fn an_unknown_algorithm_is_round_robin() {
    let meaning = "counts as round_robin: it is neither that nor least_connections";
    check(service(), key::ALGORITHM, "random", "/algorithm", &json!("round_robin"), meaning);
}

#[test]
fn unknown_sticky_sessions_are_none() {
    let meaning = "counts as none: it is neither that nor cookies";
    check(regional(), key::STICKY_TYPE, "ip", "/sticky_sessions/type", &json!("none"), meaning);
}

#[test]
fn an_override_that_says_false_overrides() {
    let meaning = "counts as true: only its absence is false";
    check(service(), key::HEALTH_OVERRIDE, "false", "/health_check/port", &json!(30_080), meaning);
}

#[test]
fn what_needs_the_override_and_lacks_it_names_it() {
    let meaning = format!("has no effect without annotation {}", key::HEALTH_OVERRIDE);
    for (key, value) in [(key::HEALTH_PORT, "80"), (key::HEALTH_PATH, "/"), (key::HEALTH_PROTOCOL, "tcp")] {
        check(service(), key, value, "/health_check/port", &json!(10_256), &meaning);
    }
}

#[test]
fn nothing_is_zero() {
    check(service(), key::SIZE_UNIT, "0", "/size_unit", &json!(null), "counts as not set: the least is 1");
    let pointer = "/http_idle_timeout_seconds";
    check(service(), key::IDLE_TIMEOUT, "0", pointer, &json!(null), "counts as not set: 60 seconds");
}

#[test]
fn ports_that_the_service_lacks_have_no_effect() {
    let meaning = "has no effect: the Service has no such port";
    let protocol = "/forwarding_rules/0/entry_protocol";
    check(regional(), key::HTTP_PORTS, "81", protocol, &json!("tcp"), meaning);
    let secured = regional().with_annotation(key::CERTIFICATE_ID, super::CERTIFICATE);
    check(secured, key::HTTP3_PORT, "8443", "/forwarding_rules/2", &json!(null), meaning);
}

#[test]
fn what_only_a_proxy_does_has_no_effect_where_packets_are_passed_through() {
    let meaning = "has no effect on a REGIONAL_NETWORK load balancer";
    let protocol = "/forwarding_rules/0/entry_protocol";
    for (key, value) in [(key::PROTOCOL, "http"), (key::HTTP_PORTS, "any"), (key::CERTIFICATE_NAME, "web")] {
        check(service(), key, value, protocol, &json!("tcp"), meaning);
    }
}
