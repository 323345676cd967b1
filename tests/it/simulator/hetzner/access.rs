//! Tokens, projects, limits on requests, and what goes wrong on purpose.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tests::clouds::hetzner::{Fault, LIMITS, Limits, Options, Owner};

use super::{NETWORK, desired, simulator};
use crate::client::{get, send};

#[tokio::test]
async fn only_the_token_is_let_in() {
    let simulator = simulator(Options::instant(), 1).await;
    simulator.set_token("another");
    assert_eq!(get(&simulator, "/v1/servers").await.unwrap().code(), (401, "unauthorized"));
}

#[tokio::test]
async fn a_token_may_be_read_only() {
    let simulator = simulator(Options { read_only: true, ..Options::default() }, 2).await;
    assert_eq!(get(&simulator, "/v1/servers").await.unwrap().status, 200);
    let refused = send(&simulator, "POST", "/v1/load_balancers", &desired("web")).await.unwrap();
    assert_eq!(refused.code(), (403, "token_readonly"));
}

#[tokio::test]
async fn another_project_has_other_things() {
    let simulator = simulator(Options::instant(), 2).await;
    simulator.other_account().networks().remove(NETWORK);
    simulator.set_owner(Owner::Other);
    assert_eq!(get(&simulator, "/v1/servers").await.unwrap().body["servers"], json!([]));
    assert_eq!(get(&simulator, &format!("/v1/networks/{NETWORK}")).await.unwrap().code(), (404, "not_found"));
}

#[tokio::test]
async fn requests_are_counted_in_a_bucket() {
    let limits = Limits::Bucket { size: 2, refill: Duration::from_hours(1) };
    let simulator = simulator(Options { limits: Some(limits), ..Options::default() }, 1).await;
    let first = get(&simulator, "/v1/servers/1").await.unwrap();
    assert_eq!((first.header("ratelimit-limit"), first.header("ratelimit-remaining")), ("2", "1"));
    get(&simulator, "/v1/servers/1").await.unwrap();
    let third = get(&simulator, "/v1/servers/1").await.unwrap();
    assert_eq!((third.code(), third.header("ratelimit-remaining")), ((429, "rate_limit_exceeded"), "0"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let reset: u64 = third.header("ratelimit-reset").parse().unwrap();
    assert!((now + 7_190..=now + 7_200).contains(&reset), "{reset} is not two hours from {now}");
    assert_eq!((third.header("retry-after"), third.header("x-correlation-id").len()), ("", 32));
}

#[tokio::test]
async fn the_published_limit_is_3600_an_hour() {
    let simulator = simulator(Options { limits: Some(LIMITS), ..Options::default() }, 1).await;
    let answer = get(&simulator, "/v1/servers/1").await.unwrap();
    assert_eq!((answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")), ("3600", "3599"));
}

#[tokio::test]
async fn faults_have_the_services_own_words() {
    let simulator = simulator(Options::instant(), 1).await;
    for (status, code) in [
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (409, "conflict"),
        (423, "locked"),
        (429, "rate_limit_exceeded"),
        (500, "server_error"),
        (502, "bad_gateway"),
        (503, "unavailable"),
        (504, "timeout"),
    ] {
        simulator.inject(Fault::status("GET", "/v1/servers/*", status).times(1));
        assert_eq!(get(&simulator, "/v1/servers/1").await.unwrap().code(), (status, code));
    }
    simulator.inject(Fault::empty_list("GET", "/v1/servers"));
    let empty = get(&simulator, "/v1/servers").await.unwrap();
    assert_eq!(
        (empty.status, &empty.body["servers"], &empty.body["meta"]["pagination"]["page"]),
        (200, &json!([]), &json!(1))
    );
}

#[tokio::test]
async fn what_the_description_does_not_know_is_reported() {
    let simulator = simulator(Options::instant(), 1).await;
    get(&simulator, "/v1/servers?size=1").await.unwrap();
    get(&simulator, "/v1/actions").await.unwrap();
    send(&simulator, "POST", "/v1/load_balancers", &json!({ "name": "web" })).await.unwrap();
    let violations = simulator.take_violations();
    assert_eq!(violations.len(), 3, "{violations:#?}");
    assert!(violations[0].contains("the query key size is not declared"), "{violations:#?}");
    assert!(violations[1].contains("the query key id is missing"), "{violations:#?}");
    assert!(violations[2].contains("load_balancer_type"), "{violations:#?}");
}
