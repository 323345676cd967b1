//! What differs from the published description is reported.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, Fault, LoadBalancer, Options, Simulator};

use crate::client::{get, send, simulator};
use crate::creation::desired;

/// Sends GET, and checks what is found wrong with it and its answer.
async fn check(simulator: &Simulator, path: &str, violations: &[&str]) {
    get(simulator, path).await.unwrap();
    let expected: Vec<String> = violations.iter().map(|it| format!("GET {path}: {it}")).collect();
    assert_eq!(simulator.take_violations(), expected);
}

#[tokio::test]
async fn a_request_is_as_declared() {
    let simulator = simulator(Options::default(), 1, 1).await;
    check(&simulator, "/v2/droplets?page=1&per_page=200&type=gpus", &[]).await;
    check(&simulator, "/v2/droplets?colour=red", &["the query key colour is not declared"]).await;
    check(&simulator, "/v2/droplets?page=1&page=1", &["the query key page stands there twice"]).await;
    check(&simulator, "/v2/droplets?per_page=201", &["the query key per_page: 201 is greater than the maximum of 200"])
        .await;
    check(&simulator, "/v2/droplets?page=one", &[r#"the query key page: "one" is not of type "integer""#]).await;
    check(&simulator, "/v2/droplets/first", &[r#"the path's droplet_id: "first" is not of type "integer""#]).await;
    check(&simulator, "/v2/droplets/1/actions", &["the description has no such operation"]).await;
    check(&simulator, "/v2/account?page=1", &["the query key page is not declared"]).await;
}

#[tokio::test]
async fn a_method_or_a_body_that_is_not_declared_is_reported() {
    let simulator = simulator(Options::default(), 1, 1).await;
    let client = simulator.client(&["h2"]);
    let url = format!("{}/v2/droplets/1", simulator.base_url());
    client.delete(&url).bearer_auth(&simulator.token).send().await.unwrap();
    client.get(&url).bearer_auth(&simulator.token).body("{}").send().await.unwrap();
    assert_eq!(
        simulator.take_violations(),
        [
            "DELETE /v2/droplets/1: the description has no such operation",
            "GET /v2/droplets/1: the operation takes no body"
        ]
    );
}

#[tokio::test]
async fn an_answer_is_as_declared() {
    let simulator = simulator(Options::default(), 1, 1).await;
    for (name, value, violation) in [
        (
            "colour",
            json!("red"),
            r#"the answer at "/droplet": Unevaluated properties are not allowed ('colour' was unexpected)"#,
        ),
        ("vcpus", json!("two"), r#"the answer at "/droplet/vcpus": "two" is not of type "integer""#),
        (
            "status",
            json!("resting"),
            r#"the answer at "/droplet/status": "resting" is not one of "new", "active" or 2 other candidates"#,
        ),
        (
            "networks",
            json!({ "v4": [{ "ip_address": "10.0.0.300", "type": "private" }] }),
            r#"the answer at "/droplet/networks/v4/0/ip_address": "10.0.0.300" is not a "ipv4""#,
        ),
        (
            "networks",
            json!({ "v5": [] }),
            r#"the answer at "/droplet/networks": Unevaluated properties are not allowed ('v5' was unexpected)"#,
        ),
    ] {
        simulator.droplets().insert(Droplet::new(7, "worker").field(name, value));
        check(&simulator, "/v2/droplets/7", &[violation]).await;
    }
    let list = r#"the answer at "/droplets/1": Unevaluated properties are not allowed ('colour' was unexpected)"#;
    simulator.droplets().insert(Droplet::new(7, "worker").field("colour", json!("red")));
    // A page is composed of parts. The part that holds the droplets does not count as a declaration once it fails.
    let composed = r#"the answer at "": Unevaluated properties are not allowed ('droplets' was unexpected)"#;
    check(&simulator, "/v2/droplets", &[list, composed]).await;
}

/// Asks for a load balancer with an attribute more, and checks what is found wrong with the request.
async fn check_attribute(simulator: &Simulator, method: &str, name: &str, value: Value, violations: &[&str]) {
    let path = match method {
        "POST" => "/v2/load_balancers",
        _ => "/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6",
    };
    let mut desired = desired("web");
    desired[name] = value;
    send(simulator, method, path, &desired).await.unwrap();
    let expected: Vec<String> =
        violations.iter().map(|it| format!("{method} {path}: the request's body at {it}")).collect();
    assert_eq!(simulator.take_violations(), expected);
}

#[tokio::test]
async fn a_body_says_what_is_declared_and_nothing_else() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let undeclared = |name: &str| format!(r#""": Unevaluated properties are not allowed ('{name}' was unexpected)"#);
    for method in ["POST", "PUT"] {
        check_attribute(&simulator, method, "size_unit", json!(1), &[]).await;
        // Declared nowhere, and known to be understood.
        check_attribute(&simulator, method, "tags", json!(["k8s:c"]), &[]).await;
        check_attribute(&simulator, method, "subnet_uuid", json!("4de7ac8b-495b-4884-9a69-1050c6793cd6"), &[]).await;
        check_attribute(&simulator, method, "health_check", json!({ "proxy_protocol": false }), &[]).await;
        // Declared nowhere.
        check_attribute(&simulator, method, "colour", json!("red"), &[&undeclared("colour")]).await;
        check_attribute(&simulator, method, "validate_only", json!(true), &[&undeclared("validate_only")]).await;
        // Declared, and read-only.
        for name in ["id", "status", "created_at", "ipv6"] {
            check_attribute(&simulator, method, name, json!("new"), &[&undeclared(name)]).await;
        }
    }
    check_attribute(&simulator, "POST", "ip", json!("198.51.100.7"), &[]).await;
    check_attribute(&simulator, "PUT", "ip", json!("198.51.100.7"), &[&undeclared("ip")]).await;
}

/// Checks that an attribute is noticed as wrong, with a reason among others that contains this.
async fn check_wrong(simulator: &Simulator, name: &str, value: Value, reason: &str) {
    let mut desired = desired("web");
    desired[name] = value;
    send(simulator, "POST", "/v2/load_balancers", &desired).await.unwrap();
    let violations = simulator.take_violations();
    assert!(violations.iter().any(|it| it.contains(reason)), "{violations:#?}");
}

#[tokio::test]
async fn a_body_says_it_as_declared() {
    let simulator = simulator(Options::default(), 1, 2).await;
    check_wrong(&simulator, "name", json!(7), r#"at "/name": 7 is not of type "string""#).await;
    check_wrong(&simulator, "firewall", json!({ "log": [] }), r#"at "/firewall": Unevaluated properties"#).await;
    check_wrong(&simulator, "size_unit", json!(101), r#"at "/size_unit": 101 is greater than the maximum"#).await;
    check_wrong(&simulator, "droplet_ids", json!(["1"]), r#"at "/droplet_ids/0": "1" is not of type "integer""#).await;
    check_wrong(&simulator, "forwarding_rules", json!([]), r#"at "/forwarding_rules""#).await;
    check_wrong(
        &simulator,
        "forwarding_rules",
        json!([{}]),
        r#"at "/forwarding_rules/0": "entry_protocol" is a required"#,
    )
    .await;
    check_wrong(&simulator, "enable_proxy_protocol", json!("true"), r#"is not of type "boolean""#).await;
    check_wrong(&simulator, "vpc_uuid", json!("default"), r#"at "/vpc_uuid": "default" is not a "uuid""#).await;
    check_wrong(&simulator, "tls_cipher_policy", Value::Null, r#"at "/tls_cipher_policy""#).await;
    // It takes one or the other.
    check_wrong(&simulator, "tag", json!("web"), r#"at "":"#).await;
    send(&simulator, "POST", "/v2/load_balancers", &json!({ "forwarding_rules": [] })).await.unwrap();
    let missing = simulator.take_violations().join("; ");
    assert!(missing.contains(r#""droplet_ids" is a required property"#), "{missing}");
}

#[tokio::test]
async fn bodies_of_targets_and_tags_are_as_declared() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    simulator.load_balancers().insert(LoadBalancer::new(id, "web"));
    let path = format!("/v2/load_balancers/{id}/droplets");
    send(&simulator, "POST", &path, &json!({ "droplet_ids": [1] })).await.unwrap();
    simulator.assert_valid();
    send(&simulator, "POST", &path, &json!({ "droplet_ids": [1], "tag": "web" })).await.unwrap();
    send(&simulator, "DELETE", &path, &json!({ "droplets": [1] })).await.unwrap();
    let resource = json!({ "resource_id": id, "resource_type": "balancer" });
    send(&simulator, "POST", "/v2/tags/web/resources", &json!({ "resources": [resource] })).await.unwrap();
    let violations = simulator.take_violations();
    let expected = [
        format!(
            "POST {path}: the request's body at \"\": Unevaluated properties are not allowed ('tag' was unexpected)"
        ),
        format!("DELETE {path}: the request's body at \"\": \"droplet_ids\" is a required property"),
    ];
    assert_eq!(violations[..2], expected);
    assert!(violations.last().unwrap().contains("\"balancer\" is not one of"), "{violations:#?}");
}

#[tokio::test]
async fn filters_that_only_the_vendors_client_knows_are_not_offered() {
    let simulator = simulator(Options::default(), 1, 2).await;
    check(&simulator, "/v2/load_balancers?page=1&per_page=200", &[]).await;
    check(&simulator, "/v2/load_balancers?names=web", &["the query key names is not declared"]).await;
    check(&simulator, "/v2/load_balancers?uuids=web", &["the query key uuids is not declared"]).await;
    check(&simulator, "/v2/load_balancers?name=web", &["the query key name is not declared"]).await;
    check(
        &simulator,
        "/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6?page=1",
        &["the query key page is not declared"],
    )
    .await;
}

#[tokio::test]
async fn faults_on_purpose_are_let_through_and_their_requests_are_not() {
    let simulator = simulator(Options::default(), 1, 1).await;
    simulator.inject(Fault::status("GET", "/v2/droplets", 500).body(r#"{"colour":"red"}"#));
    check(&simulator, "/v2/droplets", &[]).await;
    check(&simulator, "/v2/droplets?colour=red", &["the query key colour is not declared"]).await;
}

#[tokio::test]
async fn nothing_is_checked_where_that_is_switched_off() {
    let simulator = simulator(Options { checked: false, ..Options::default() }, 1, 1).await;
    get(&simulator, "/v2/droplets?colour=red").await.unwrap();
    simulator.stop().await;
}

#[tokio::test]
async fn a_test_fails_even_if_it_does_not_check() {
    let simulator = simulator(Options::default(), 1, 1).await;
    get(&simulator, "/v2/droplets?colour=red").await.unwrap();
    let file = simulator.ca_file();
    let panic = catch_unwind(AssertUnwindSafe(|| drop(simulator))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.ends_with("\n    GET /v2/droplets?colour=red: the query key colour is not declared"), "{message}");
    assert!(!file.exists());
}

#[tokio::test]
async fn the_explicit_check_lists_everything() {
    let simulator = simulator(Options::default(), 1, 1).await;
    get(&simulator, "/v2/droplets?colour=red").await.unwrap();
    get(&simulator, "/v2/things").await.unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| simulator.assert_valid())).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap().lines().count(), 3);
}
