//! What goes wrong on purpose, as a client sees it.

use std::time::Duration;

use serde_json::json;
use tests::clouds::digitalocean::{Fault, Options};
use tokio::time::Instant;

use crate::client::{get, get_with, simulator};

#[tokio::test]
async fn a_status_fault_has_the_services_body_and_a_count() {
    let simulator = simulator(Options::default(), 1, 1).await;
    for (status, id) in [
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (429, "too_many_requests"),
        (500, "server_error"),
        (502, "server_error"),
    ] {
        simulator.inject(Fault::status("GET", "/v2/droplets/*", status).times(1));
        let answer = get(&simulator, "/v2/droplets/1").await.unwrap();
        assert_eq!((answer.status, &answer.body["id"]), (status, &json!(id)));
        assert_eq!((answer.header("retry-after"), answer.header("ratelimit-limit")), ("", "5000"));
        assert_eq!(get(&simulator, "/v2/droplets/1").await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_fault_hits_only_what_it_names() {
    let simulator = simulator(Options::default(), 1, 30).await;
    simulator.inject(Fault::status("GET", "/v2/droplets", 500).query("page", "2"));
    simulator.inject(Fault::status("POST", "/v2/droplets", 500));
    assert_eq!(get(&simulator, "/v2/droplets?page=1").await.unwrap().status, 200);
    assert_eq!(get(&simulator, "/v2/droplets?page=2").await.unwrap().status, 500);
    assert_eq!(get(&simulator, "/v2/droplets/1").await.unwrap().status, 200);
    simulator.clear_faults();
    assert_eq!(get(&simulator, "/v2/droplets?page=2").await.unwrap().status, 200);
}

#[tokio::test]
async fn a_fault_can_hit_everything() {
    let simulator = simulator(Options::default(), 1, 1).await;
    simulator.inject(Fault::status("*", "/**", 429).header("retry-after", "30"));
    for path in ["/v2/droplets", "/v2/droplets/1", "/v2/account"] {
        let answer = get(&simulator, path).await.unwrap();
        assert_eq!((answer.status, answer.header("retry-after")), (429, "30"));
    }
    assert_eq!(simulator.requests_to("*", "/v2/droplets/**").len(), 2);
}

#[tokio::test]
async fn a_test_sets_headers_and_bodies_of_a_fault() {
    let simulator = simulator(Options::default(), 1, 1).await;
    let fault = Fault::status("GET", "/v2/account", 429).header("retry-after", "7").header("ratelimit-remaining", "0");
    simulator.inject(fault.body(r#"{"id":"slow"}"#));
    let answer = get(&simulator, "/v2/account").await.unwrap();
    assert_eq!((answer.status, &answer.body), (429, &json!({ "id": "slow" })));
    assert_eq!((answer.header("retry-after"), answer.header("ratelimit-remaining")), ("7", "0"));
}

#[tokio::test]
async fn an_empty_list_is_a_whole_answer() {
    let simulator = simulator(Options::default(), 1, 5).await;
    simulator.inject(Fault::empty_list("GET", "/v2/droplets"));
    let answer = get(&simulator, "/v2/droplets").await.unwrap();
    assert_eq!((answer.status, answer.ids().len(), &answer.body["meta"]["total"]), (200, 0, &json!(0)));
}

/// Checks that a fault leaves the client without an answer in both protocols, and for that one request.
async fn check_broken(fault: Fault, status: Option<u16>, reason: &str) {
    for protocol in ["h2", "http/1.1"] {
        let simulator = simulator(Options::default(), 1, 200).await;
        simulator.inject(fault.clone().times(1));
        let client = simulator.client(&[protocol]);
        let error = get_with(&client, &simulator, "/v2/droplets?per_page=200").await.unwrap_err();
        let error = format!("{error:?}");
        assert!(error.contains(reason), "{protocol}: {error}");
        assert_eq!(simulator.requests()[0].status, status, "{protocol}");
        assert_eq!(get_with(&client, &simulator, "/v2/droplets").await.unwrap().status, 200, "{protocol}");
        simulator.stop().await;
    }
}

#[tokio::test]
async fn nonsense_is_not_json() {
    check_broken(Fault::nonsense("GET", "/v2/droplets"), Some(200), "expected value").await;
}

#[tokio::test]
async fn half_an_answer_breaks_off_in_the_body() {
    check_broken(Fault::half("GET", "/v2/droplets"), Some(200), "kind: Decode").await;
}

#[tokio::test]
async fn no_answer_is_an_error_of_the_request() {
    check_broken(Fault::nothing("GET", "/v2/droplets"), None, "kind: Request").await;
}

#[tokio::test]
async fn half_an_answer_begins_correctly_and_breaks_off() {
    let simulator = simulator(Options::default(), 1, 200).await;
    let url = format!("{}/v2/droplets?per_page=200", simulator.base_url());
    let client = simulator.client(&["http/1.1"]);
    let whole = client.get(&url).bearer_auth(&simulator.token).send().await.unwrap().bytes().await.unwrap();
    simulator.inject(Fault::half("GET", "/v2/droplets"));
    let mut half = client.get(&url).bearer_auth(&simulator.token).send().await.unwrap();
    assert_eq!((half.status().as_u16(), half.content_length()), (200, Some(whole.len() as u64)));
    let mut received = Vec::new();
    while let Ok(Some(chunk)) = half.chunk().await {
        received.extend_from_slice(&chunk);
    }
    assert_eq!(received, whole[..whole.len() / 2]);
}

#[tokio::test]
async fn answers_are_as_late_as_asked_for() {
    let simulator = simulator(Options { latency: Duration::from_millis(50), ..Options::default() }, 1, 1).await;
    simulator.inject(Fault::late("GET", "/v2/droplets/*", Duration::from_millis(60)).times(1));
    let started = Instant::now();
    assert_eq!(get(&simulator, "/v2/droplets/1").await.unwrap().status, 200);
    assert!(started.elapsed() >= Duration::from_millis(110));
    get(&simulator, "/v2/droplets/1").await.unwrap();
    let took: Vec<_> = simulator.requests().iter().map(|it| it.took.unwrap()).collect();
    assert!(took[0] >= Duration::from_millis(110) && took[1] >= Duration::from_millis(50), "{took:?}");
}
