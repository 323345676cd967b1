//! Tokens, limits, and the record of requests.

use std::time::Duration;

use serde_json::json;
use tests::clouds::digitalocean::{Authorization, Limits, LoadBalancer, Options, Scopes, Simulator};
use tests::simulator::Cloud;

use crate::client::{self, get_with, read, simulator};
use crate::creation::{ID, ONE, create, desired, two};
use crate::table::{Step, delete, get, play, post, put, row, say, then};

#[tokio::test]
async fn only_the_current_token_is_accepted() {
    let simulator = simulator(Options::default(), 1, 1).await;
    let client = simulator.client(&["h2"]);
    let url = format!("{}/v2/droplets/1", simulator.base_url());

    let anonymous = read(client.get(&url).send().await.unwrap()).await.unwrap();
    assert_eq!((anonymous.status, &anonymous.body["id"]), (401, &json!("unauthorized")));
    let foreign = read(client.get(&url).bearer_auth("stolen").send().await.unwrap()).await.unwrap();
    assert_eq!(foreign.status, 401);
    assert_eq!(client::get(&simulator, "/v2/droplets/1").await.unwrap().status, 200);

    simulator.set_token("rotated");
    assert_eq!(client::get(&simulator, "/v2/droplets/1").await.unwrap().status, 401);
    let rotated = read(client.get(&url).bearer_auth("rotated").send().await.unwrap()).await.unwrap();
    assert_eq!(rotated.status, 200);

    let offered: Vec<_> = simulator.requests().into_iter().map(|it| it.authorization.clone()).collect();
    assert_eq!(
        offered,
        [
            Authorization::Absent,
            Authorization::Refused("Bearer stolen".to_owned()),
            Authorization::Accepted,
            Authorization::Refused(format!("Bearer {}", simulator.token)),
            Authorization::Accepted,
        ]
    );
}

/// A request that the token does not allow.
fn forbidden<C: Cloud>(step: Step<C>) -> Step<C> {
    let message = "You are missing the required permission for this operation.";
    step.is(403, json!({ "id": "forbidden", "message": message })).headers([("x-request-id", "/request_id")])
}

#[tokio::test]
async fn a_token_does_what_its_scopes_say() {
    let all = "/v2/load_balancers";
    let one = format!("{all}/{ID}");
    let targets = format!("{one}/droplets");
    let body = || json!({ "droplet_ids": [1] });
    let resources = json!({ "resources": [{ "resource_id": ID, "resource_type": "load_balancer" }] });
    let read = ["/v2/account", "/v2/droplets/1", "/v2/certificates", "/v2/vpcs", all, &one];
    let written = [
        post(all, desired("other")),
        put(&*one, desired("renamed")),
        post(&*targets, body()),
        say("DELETE", &*targets, body()),
        post("/v2/tags", json!({ "name": "k8s" })),
        post("/v2/tags/k8s/resources", resources),
        delete(&*one),
    ];
    let custom = Scopes::Custom(vec!["load_balancer:create", "droplet:read"]);
    let read_only = simulator(Options { scopes: Scopes::ReadOnly, ..Options::default() }, 1, 2);
    play([
        row("a token that may only read changes nothing", read_only)
            .asks([then(|it: &Simulator, _| it.load_balancers().insert(LoadBalancer::new(ID, "web")))])
            .asks(read.map(get))
            .asks(written.map(forbidden))
            .asks([then(|simulator: &Simulator, _| {
                let all = simulator.load_balancers().all();
                assert_eq!((all.len(), all[0].name(), all[0].attributes.droplet_ids.len()), (1, "web", 0));
            })]),
        row("a token has scopes of its own", two())
            .asks([then(|it: &Simulator, _| it.set_scopes(custom)), create("$id", desired("web")), get("/v2/droplets")])
            .asks(["/v2/account", all, ONE].map(|it| forbidden(get(it))))
            .asks([then(|it: &Simulator, _| it.set_scopes(Scopes::Full)), get("/v2/account")]),
    ])
    .await;
}

#[tokio::test]
async fn every_answer_has_the_quota_and_a_request_id() {
    let simulator = simulator(Options::default(), 1, 1).await;
    simulator.set_token("another");
    let refused = client::get(&simulator, "/v2/droplets").await.unwrap();
    simulator.set_token(&simulator.token);
    let missing = client::get(&simulator, "/v2/droplets/7").await.unwrap();
    let list = client::get(&simulator, "/v2/droplets").await.unwrap();
    let mut ids = Vec::new();
    for answer in [&refused, &missing, &list] {
        assert_eq!(answer.header("ratelimit-limit"), "5000");
        assert_eq!(answer.header("ratelimit-remaining"), "5000");
        assert!(answer.header("ratelimit-reset").parse::<u64>().unwrap() > 1_700_000_000);
        ids.push(answer.header("x-request-id"));
    }
    assert_eq!(ids.iter().map(|it| it.len()).collect::<Vec<_>>(), [36, 36, 36]);
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
}

#[tokio::test]
async fn one_request_too_many_is_refused_with_the_time_to_come_back() {
    let limits = Limits::Windows { per_hour: 10, per_minute: 2 };
    let simulator = simulator(Options { limits: Some(limits), ..Options::default() }, 1, 1).await;
    let client = simulator.client(&["h2"]);
    let mut remaining = Vec::new();
    for _ in 0..2 {
        let answer = get_with(&client, &simulator, "/v2/droplets/1").await.unwrap();
        assert_eq!((answer.status, answer.header("retry-after")), (200, ""));
        remaining.push(answer.header("ratelimit-remaining").to_owned());
    }
    assert_eq!(remaining, ["9", "8"]);
    let refused = get_with(&client, &simulator, "/v2/droplets/1").await.unwrap();
    assert_eq!((refused.status, &refused.body["id"]), (429, &json!("too_many_requests")));
    assert_eq!(refused.header("ratelimit-remaining"), "0");
    let seconds: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn both_protocols_are_spoken() {
    let simulator = simulator(Options::default(), 1, 1).await;
    for (protocol, version) in [("h2", http::Version::HTTP_2), ("http/1.1", http::Version::HTTP_11)] {
        let request = simulator.client(&[protocol]).get(format!("{}/v2/droplets", simulator.base_url()));
        let response = request.bearer_auth(&simulator.token).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, version));
    }
}

#[tokio::test]
async fn requests_are_kept_and_can_be_watched() {
    let simulator = simulator(Options::default(), 1, 1).await;
    let mut observed = simulator.observe();
    client::get(&simulator, "/v2/droplets?name=worker-1&per_page=5").await.unwrap();
    client::get(&simulator, "/v2/droplets/1").await.unwrap();

    let list = &simulator.requests_to("GET", "/v2/droplets")[0];
    assert_eq!(list.query_value("per_page"), Some("5"));
    assert_eq!((list.status, list.took.is_some(), list.body.len()), (Some(200), true, 0));
    assert_eq!(simulator.requests_to("GET", "/v2/droplets/*").len(), 1);
    assert_eq!(simulator.requests_to("POST", "/v2/droplets").len(), 0);
    assert_eq!(observed.recv().await.unwrap().to_string(), "GET /v2/droplets?name=worker-1&per_page=5 → 200");
    assert_eq!(observed.recv().await.unwrap().to_string(), "GET /v2/droplets/1 → 200");
}

#[tokio::test]
async fn a_request_can_be_awaited_before_it_is_answered() {
    let simulator = simulator(Options { latency: Duration::from_secs(3_600), ..Options::default() }, 1, 1).await;
    let asked = client::get(&simulator, "/v2/droplets/1");
    let seen = simulator.wait_for("the request", |requests| requests.len() == 1);
    tokio::select! {
        answer = asked => panic!("answered an hour early: {answer:?}"),
        () = seen => assert_eq!(simulator.requests()[0].status, None),
    }
    simulator.set_latency(Duration::ZERO);
    client::get(&simulator, "/v2/droplets/1").await.unwrap();
}

#[tokio::test]
async fn a_stopped_simulator_leaves_neither_port_nor_file() {
    let simulator = simulator(Options::default(), 1, 1).await;
    let (address, file) = (simulator.address(), simulator.ca_file());
    let client = simulator.client(&["http/1.1"]);
    get_with(&client, &simulator, "/v2/droplets").await.unwrap();
    assert!(file.exists());
    simulator.stop().await;
    assert!(!file.parent().unwrap().exists());
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
