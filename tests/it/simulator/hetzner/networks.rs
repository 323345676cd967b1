//! Networks and their routes.

use serde_json::json;
use tests::clouds::hetzner::{Behaviour, Options, Route, Simulator, Taking};

use super::{NETWORK, behaving, route, simulator};
use crate::table::{get, play, row, then};

#[tokio::test]
async fn networks_of_hetzner() {
    let network = |expected| get(format!("/v1/networks/{NETWORK}")).is(200, json!({ "network": expected }));
    let whole = json!({
        "ip_range": "10.0.0.0/8", "servers": [1, 2], "subnets": [{ "ip_range": "10.0.0.0/16" }],
    });
    let one = |destination: &str, gateway: &str| json!({ "destination": destination, "gateway": gateway });
    let both = json!({ "routes": [one("10.244.1.0/24", "10.0.0.2"), one("10.244.2.0/24", "10.0.0.3")] });
    let first = |command: &str| route(command, "10.244.1.0/24", "10.0.0.2");
    let second = || route("add_route", "10.244.2.0/24", "10.0.0.3");
    let polled =
        |status: &str| get("/v1/actions?id=$first&id=77").is(200, json!({ "actions": [{ "status": status }] }));
    play([
        row("a network is shown with all that is in it", simulator(Options::instant(), 2)).asks([
            network(whole),
            get("/v1/networks/1").code(404, "not_found"),
            get("/v1/networks?name=nothing").is(200, json!({ "networks": [] })),
        ]),
        row("routes come and go", simulator(Options::instant(), 2)).asks([
            first("add_route"),
            second(),
            network(both),
            route("delete_route", "10.244.1.0/24", "10.0.0.3").code(404, "not_found"),
            first("delete_route"),
            then(|simulator: &Simulator, _| {
                assert_eq!(simulator.networks().routes(NETWORK), [Route::new("10.244.2.0/24", "10.0.0.3")])
            }),
            route("add_route", "10.244.2.0/24", "10.0.0.2").code(422, "invalid_input"),
        ]),
        row(
            "a network takes one change at a time",
            behaving(Behaviour { actions: Taking::Reads(1), ..Behaviour::instant() }),
        )
        .asks([
            first("add_route").is(201, json!({ "action": { "id": "$first", "status": "running" } })),
            second().code(409, "conflict"),
            then(|it: &Simulator, _| assert_eq!(it.networks().routes(NETWORK), [])),
            polled("running"),
            polled("success"),
            second(),
            then(|simulator: &Simulator, _| {
                assert_eq!(simulator.networks().routes(NETWORK), [Route::new("10.244.1.0/24", "10.0.0.2")])
            }),
        ]),
        row("a network has so many routes", behaving(Behaviour { routes: 1, ..Behaviour::instant() }))
            .asks([first("add_route"), second().code(403, "resource_limit_exceeded")]),
    ])
    .await;
}
