//! Tokens, projects, limits on requests, and what goes wrong on purpose.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tests::clouds::hetzner::{Fault, LIMITS, Limits, Options, Owner, Simulator};

use super::{NETWORK, desired, simulator, want};
use crate::client;
use crate::table::{get, play, post, row, then};

#[tokio::test]
async fn access_to_hetzner() {
    let network = format!("/v1/networks/{NETWORK}");
    let published = Options { limits: Some(LIMITS), ..Options::default() };
    let codes = [
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
    ];
    let faults = codes.into_iter().flat_map(|(status, code)| {
        let fault = Fault::status("GET", "/v1/servers/*", status).times(1);
        [then(|it: &Simulator, _| it.inject(fault)), get("/v1/servers/1").code(status, code)]
    });
    let empty = json!({ "servers": [], "meta": { "pagination": { "page": 1 } } });
    play([
        row("the token alone is let in", simulator(Options::instant(), 1))
            .asks([then(|it: &Simulator, _| it.set_token("another")), get("/v1/servers").code(401, "unauthorized")]),
        row("a token may be read-only", simulator(Options { read_only: true, ..Options::default() }, 2))
            .asks([get("/v1/servers"), want(desired("web")).code(403, "token_readonly")]),
        row("another project has other things", simulator(Options::instant(), 2)).asks([
            then(|simulator: &Simulator, _| {
                simulator.other_account().networks().remove(NETWORK);
                simulator.set_owner(Owner::Other);
            }),
            get("/v1/servers").is(200, json!({ "servers": [] })),
            get(network).code(404, "not_found"),
        ]),
        row("the published limit is 3,600 an hour", simulator(published, 1))
            .asks([get("/v1/servers/1").headers([("ratelimit-limit", "3600"), ("ratelimit-remaining", "3599")])]),
        row("faults have the service's own words", simulator(Options::instant(), 1)).also(faults),
        row("an empty list is a whole answer", simulator(Options::instant(), 1)).asks([
            then(|it: &Simulator, _| it.inject(Fault::empty_list("GET", "/v1/servers"))),
            get("/v1/servers").is(200, empty),
        ]),
        row("what the description does not know is reported", simulator(Options::instant(), 1)).asks([
            get("/v1/servers?size=1").whatever(),
            get("/v1/actions").whatever(),
            post("/v1/load_balancers", json!({ "name": "web" })).whatever(),
            then(|simulator: &Simulator, _| {
                let violations = simulator.take_violations();
                assert_eq!(violations.len(), 3, "{violations:#?}");
                assert!(violations[0].contains("the query key size is not declared"), "{violations:#?}");
                assert!(violations[1].contains("the query key id is missing"), "{violations:#?}");
                assert!(violations[2].contains("load_balancer_type"), "{violations:#?}");
            }),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn requests_are_counted_in_a_bucket() {
    let limits = Limits::Bucket { size: 2, refill: Duration::from_hours(1) };
    let simulator = simulator(Options { limits: Some(limits), ..Options::default() }, 1).await;
    let first = client::get(&simulator, "/v1/servers/1").await.unwrap();
    assert_eq!((first.header("ratelimit-limit"), first.header("ratelimit-remaining")), ("2", "1"));
    client::get(&simulator, "/v1/servers/1").await.unwrap();
    let third = client::get(&simulator, "/v1/servers/1").await.unwrap();
    assert_eq!((third.code(), third.header("ratelimit-remaining")), ((429, "rate_limit_exceeded"), "0"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let reset: u64 = third.header("ratelimit-reset").parse().unwrap();
    assert!((now + 7_190..=now + 7_200).contains(&reset), "{reset} is not two hours from {now}");
    assert_eq!((third.header("retry-after"), third.header("x-correlation-id").len()), ("", 32));
}
