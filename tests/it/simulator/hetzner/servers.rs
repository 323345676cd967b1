//! Servers, locations and volumes in lists and one by one.

use serde_json::{Value, json};
use tests::clouds::hetzner::{Options, Server, Simulator, Status, Volume};
use tests::simulator::Cloud;

use super::{NETWORK, simulator};
use crate::table::{Step, get, play, row, then};

/// Asks for a list that has these names.
fn names<C: Cloud>(list: &str, query: &str, names: &[&str]) -> Step<C> {
    let named: Value = names.iter().map(|it| json!({ "name": it })).collect();
    get(format!("/v1/{list}{query}")).is(200, json!({ list: named }))
}

#[tokio::test]
async fn servers_of_hetzner() {
    let one = |id: u64, server: Value| get(format!("/v1/servers/{id}")).is(200, json!({ "server": server }));
    let whole = json!({
        "name": "worker-1", "status": "running", "server_type": { "name": "cx22" }, "location": { "name": "fsn1" },
        "public_net": { "ipv4": { "ip": "198.18.0.1" }, "ipv6": { "ip": "2001:db8:c000:1::/64" } },
        "private_net": [{ "network": NETWORK, "ip": "10.0.0.2" }], "datacenter": null,
    });
    let inside = json!({ "public_net": { "ipv4": null, "ipv6": null }, "status": "off" });
    let last = json!({
        "servers": { "#": 20 },
        "meta": { "pagination": {
            "page": 3, "per_page": 50, "previous_page": 2, "next_page": null, "last_page": 3, "total_entries": 120,
        } },
    });
    let labelled = || Server::new(4, "labelled").label("env", "dev").status(Status::Off);
    let places = ["fsn1", "nbg1", "hel1", "ash", "hil", "sin"];
    let workers = ["worker-3", "worker-2", "worker-1"];
    let all = ["labelled", "worker-3", "worker-2", "worker-1"];
    play([
        row("a server is shown with addresses and place", simulator(Options::instant(), 1)).asks([one(1, whole)]),
        row("a server may have no public address", simulator(Options::instant(), 0)).asks([
            then(|simulator: &Simulator, _| {
                let inside = Server::new(7, "inside").ipv4(None).ipv6(None).status(Status::Off);
                simulator.servers().insert(inside);
            }),
            one(7, inside),
        ]),
        row("servers are listed in pages of 50 at most", simulator(Options::instant(), 120)).asks([
            get("/v1/servers?page=3&per_page=50&sort=id:asc").is(200, last),
            get("/v1/servers?page=101&per_page=1&sort=id:asc")
                .is(200, json!({ "servers": [{ "name": "worker-101" }] })),
            get("/v1/servers").is(200, json!({ "servers": { "#": 25 } })),
            get("/v1/servers?per_page=51").code(422, "invalid_input"),
        ]),
        row("servers are chosen by name, status and labels", simulator(Options::instant(), 3)).asks([
            then(move |it: &Simulator, _| it.servers().insert(labelled())),
            names("servers", "?name=worker-2", &["worker-2"]),
            names("servers", "?name=WORKER-2", &[]),
            names("servers", "?label_selector=env%3D%3Ddev", &["labelled"]),
            names("servers", "?label_selector=%21env&sort=name:desc", &workers),
            names("servers", "?status=off", &["labelled"]),
            names("servers", "?status=off&status=running&sort=id:desc", &all),
            get("/v1/servers?label_selector=env%20within%20(a)").code(422, "invalid_input"),
        ]),
        row("a server that is not listed can be asked for", simulator(Options::instant(), 1)).asks([
            then(|it: &Simulator, _| it.servers().insert(Server::new(2, "late").unlisted())),
            names("servers", "", &["worker-1"]),
            one(2, json!({})),
            then(|it: &Simulator, _| it.servers().remove(2)),
            get("/v1/servers/2").code(404, "not_found"),
        ]),
        row("locations and volumes are listed", simulator(Options::instant(), 0)).asks([
            then(|it: &Simulator, _| it.volumes().insert(Volume::new(9, "data").location("hel1"))),
            names("locations", "", &places),
            names("locations", "?name=ash", &["ash"]),
            get("/v1/locations/3").is(200, json!({ "location": { "name": "hel1" } })),
            names("volumes", "?name=data", &["data"]),
            get("/v1/volumes/9").is(200, json!({ "volume": { "location": { "name": "hel1" } } })),
            get("/v1/volumes/8").code(404, "not_found"),
        ]),
    ])
    .await;
}
