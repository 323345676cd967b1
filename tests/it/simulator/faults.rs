//! Faults on purpose, as a client sees them.

use std::time::Duration;

use serde_json::json;
use tests::clouds::digitalocean::{Fault, Options, Simulator};
use tokio::time::Instant;

use crate::client::{get, get_with, simulator};
use crate::table::{ask, play, row, then};

async fn with(last: u64) -> Simulator {
    simulator(Options::default(), 1, last).await
}

#[tokio::test]
async fn faults_as_a_client_sees_them() {
    let statuses = [
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (429, "too_many_requests"),
        (500, "server_error"),
        (502, "server_error"),
    ];
    let statuses = statuses.into_iter().flat_map(|(status, id)| {
        let fault = Fault::status("GET", "/v2/droplets/*", status).times(1);
        let faulty = ask("GET", "/v2/droplets/1").is(status, json!({ "id": id }));
        [
            then(|it: &Simulator, _| it.inject(fault)),
            faulty.headers([("retry-after", ""), ("ratelimit-limit", "5000")]),
            ask("GET", "/v2/droplets/1"),
        ]
    });
    let late = ["/v2/droplets", "/v2/droplets/1", "/v2/account"];
    let late = late.map(|it| ask("GET", it).status(429).headers([("retry-after", "30")]));
    let slow = || {
        let slow =
            Fault::status("GET", "/v2/account", 429).header("retry-after", "7").header("ratelimit-remaining", "0");
        slow.body(r#"{"id":"slow"}"#)
    };
    let second = |status| ask("GET", "/v2/droplets?page=2").status(status);
    let empty = json!({ "droplets": [], "meta": { "total": 0 } });
    play([
        row("a status has the service's body and a count", with(1)).also(statuses),
        row("a fault hits only what it names", with(30)).asks([
            then(|simulator: &Simulator, _| {
                simulator.inject(Fault::status("GET", "/v2/droplets", 500).query("page", "2"));
                simulator.inject(Fault::status("POST", "/v2/droplets", 500));
            }),
            ask("GET", "/v2/droplets?page=1"),
            second(500),
            ask("GET", "/v2/droplets/1"),
            then(|it: &Simulator, _| it.clear_faults()),
            second(200),
        ]),
        row("a fault can hit everything", with(1))
            .asks([then(|it: &Simulator, _| it.inject(Fault::status("*", "/**", 429).header("retry-after", "30")))])
            .asks(late)
            .asks([then(|it: &Simulator, _| assert_eq!(it.requests_to("*", "/v2/droplets/**").len(), 2))]),
        row("a test sets headers and bodies of a fault", with(1)).asks([
            then(move |it: &Simulator, _| it.inject(slow())),
            ask("GET", "/v2/account")
                .is(429, json!({ "id": "slow", "message": null }))
                .headers([("retry-after", "7"), ("ratelimit-remaining", "0")]),
        ]),
        row("an empty list is a whole answer", with(5)).asks([
            then(|it: &Simulator, _| it.inject(Fault::empty_list("GET", "/v2/droplets"))),
            ask("GET", "/v2/droplets").is(200, empty),
        ]),
    ])
    .await;
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
async fn broken_answers_are_errors_of_the_client() {
    check_broken(Fault::nonsense("GET", "/v2/droplets"), Some(200), "expected value").await;
    check_broken(Fault::half("GET", "/v2/droplets"), Some(200), "kind: Decode").await;
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
