//! Creation, renaming and deletion of load balancers.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Certificate, LoadBalancer, Options, Simulator, Taking};

use super::{NETWORK, behaving, change, create, desired, server, service, show, simulator, want, with};
use crate::table::{delete, get, play, put, row, then};

/// The body of a creation that says all there is.
fn whole() -> Value {
    let mut https = service(443, 30443);
    https["protocol"] = json!("https");
    https["proxyprotocol"] = json!(true);
    https["http"] = json!({ "certificates": [7], "timeout_idle": 60, "redirect_http": true });
    https["health_check"]["protocol"] = json!("http");
    https["health_check"]["http"] = json!({ "domain": "", "path": "/healthz", "status_codes": ["200"], "tls": false });
    json!({
        "name": "web",
        "load_balancer_type": "lb21",
        "algorithm": { "type": "least_connections" },
        "network_zone": "eu-central",
        "network": NETWORK,
        "public_interface": true,
        "labels": { "hcloud-ccm/service-uid": "c1a5e000-1111-2222-3333-444455556666" },
        "services": [https],
        "targets": [
            { "type": "server", "server": { "id": 1 }, "use_private_ip": true },
            { "type": "server", "server": { "id": 2 }, "use_private_ip": false },
            { "type": "label_selector", "label_selector": { "selector": "env=dev" }, "use_private_ip": true },
        ],
    })
}

#[tokio::test]
async fn creation_at_hetzner() {
    let new = json!({
        "action": { "status": "running" },
        "load_balancer": { "id": "$id", "public_net": { "ipv4": { "ip": null } }, "private_net": [] },
    });
    let http = json!({
        "cookie_name": "HCLBSTICKY", "cookie_lifetime": 300, "redirect_http": true, "timeout_idle": 60,
    });
    let made = json!({
        "location": { "name": "fsn1" },
        "load_balancer_type": { "max_targets": 75 },
        "algorithm": { "type": "least_connections" },
        "labels": whole()["labels"],
        "private_net": [{ "network": NETWORK, "ip": "10.0.255.254" }],
        "public_net": { "ipv4": { "ip": "~" }, "ipv6": { "ip": "~" } },
        "services": [{ "http": http }],
        "targets": [{ "use_private_ip": true }, {}, { "targets": [] }],
    });
    let address = |ip: Value| show(json!({ "public_net": { "ipv4": { "ip": ip } } }));
    let lists_late_by = Duration::from_secs(20);
    let late = Behaviour { lists_late_by, ..Behaviour::instant() };
    let check = json!({
        "protocol": "http", "port": 30080, "interval": 1, "timeout": 600, "retries": 40,
        "http": { "domain": null, "path": "healthz" },
    });
    let unusual = |name: &str, path: &str| {
        let mut unusual = desired(name);
        unusual["services"][0]["health_check"] = check.clone();
        unusual["services"][0]["health_check"]["http"]["path"] = json!(path);
        unusual
    };
    let long = "name ".repeat(60);
    let taken = json!({ "name": long, "services": [{ "health_check": check }] });
    play([
        row("a creation takes everything at once", simulator(Options::instant(), 2)).asks([
            then(|it: &Simulator, _| it.certificates().insert(Certificate::new(7, "www"))),
            want(whole()).is(201, new),
            show(made),
            get("/v1/servers/1").is(200, json!({ "server": { "load_balancers": ["$id"] } })),
            get("/v1/networks?name=net").is(200, json!({ "networks": [{ "load_balancers": ["$id"] }] })),
        ]),
        row(
            "a load balancer has no addresses before it is done",
            behaving(Behaviour { creation: Taking::Reads(2), ..Behaviour::instant() }),
        )
        .asks([
            create("$id", desired("web")),
            address(Value::Null),
            address(Value::Null),
            address(json!("~")),
            address(json!("~")),
        ]),
        row("a late list shows a load balancer when its time has come", behaving(late)).asks([
            create("$id", desired("web")),
            get("/v1/load_balancers").is(200, json!({ "load_balancers": [] })),
            show(json!({ "id": "$id" })),
            then(move |simulator: &Simulator, known| {
                let id = known["$id"].as_u64().unwrap();
                simulator.load_balancers().update(id, |it| it.created_at -= lists_late_by);
            }),
            get("/v1/load_balancers?name=web").is(200, json!({ "load_balancers": [{ "id": "$id" }] })),
        ]),
        row("what nothing published refuses is taken, but spaces are", simulator(Options::instant(), 2)).asks([
            create("$id", unusual(&long, "healthz")),
            show(taken),
            want(unusual("another", "/a b")).code(422, "invalid_input"),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn creations_that_hetzner_refuses() {
    let other = |name: &str, value: Value| with(desired("web"), name, value);
    let private = with(server(1), "use_private_ip", json!(true));
    let refused = [
        (other("location", json!("moon1")), (422, "invalid_input")),
        (other("network_zone", json!("eu-central")), (422, "invalid_input")),
        (other("load_balancer_type", json!("lb99")), (422, "invalid_input")),
        (other("load_balancer_type", json!("lb1")), (422, "invalid_load_balancer_type")),
        (other("network", json!(12)), (404, "not_found")),
        (other("targets", json!([server(99), server(2)])), (422, "invalid_input")),
        (other("targets", json!([private, server(2)])), (422, "load_balancer_not_attached_to_network")),
        (other("targets", json!([server(1), server(1)])), (409, "target_already_defined")),
        (other("services", json!([service(80, 1), service(80, 2)])), (409, "source_port_already_used")),
    ];
    let steps = refused.into_iter().map(|(body, (status, code))| want(body).code(status, code));
    let nothing = then(|it: &Simulator, _| assert!(it.load_balancers().all().is_empty()));
    play([row("refused", simulator(Options::instant(), 2)).also(steps.chain([nothing]))]).await;
}

#[tokio::test]
async fn names_labels_and_protection_at_hetzner() {
    let path = "/v1/load_balancers/$id";
    let taken = "uniqueness_error";
    let freed_late = |by: Duration| then(move |it: &Simulator, _| it.behave(|it| it.names_freed_late_by = by));
    let protect = |yes: bool| change("change_protection", json!({ "delete": yes }));
    let labels = json!({ "load_balancer": { "labels": { "one": null, "two": "2" } } });
    play([
        row("a name is had once", simulator(Options::instant(), 2)).asks([
            create("$id", desired("web")),
            want(desired("web")).code(409, taken),
            create("$other", desired("other")),
            put("/v1/load_balancers/$other", json!({ "name": "web" })).code(409, taken),
            freed_late(Duration::from_hours(1)),
            delete(path).status(204),
            want(desired("web")).code(409, taken),
            freed_late(Duration::ZERO),
            create("$again", desired("web")),
        ]),
        row("labels are replaced as a whole", simulator(Options::instant(), 2)).asks([
            then(|it: &Simulator, _| it.load_balancers().insert(LoadBalancer::new(5, "web").label("one", "1"))),
            put("/v1/load_balancers/5", json!({ "labels": { "two": "2" } })).is(200, labels),
            get("/v1/load_balancers?label_selector=two%3D2").is(200, json!({ "load_balancers": [{ "id": 5 }] })),
            put("/v1/load_balancers/5", json!({ "labels": { "-": "2" } })).code(422, "invalid_input"),
        ]),
        row("a protected load balancer stays", simulator(Options::instant(), 2)).asks([
            create("$id", desired("web")),
            protect(true),
            show(json!({ "protection": { "delete": true } })),
            delete(path).code(403, "protected"),
            protect(false),
            delete(path).status(204),
            delete(path).code(404, "not_found"),
            then(|it: &Simulator, _| assert!(it.load_balancers().all().is_empty())),
        ]),
    ])
    .await;
}
