//! What differs from the published description is noticed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use tests::digitalocean::{Droplet, Fault, Options, Simulator};

use crate::client::{client, get, simulator};

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
async fn a_method_or_a_body_that_is_not_declared_is_noticed() {
    let simulator = simulator(Options::default(), 1, 1).await;
    let client = client(&simulator, &["h2"]);
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
async fn no_test_can_forget_to_look() {
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
