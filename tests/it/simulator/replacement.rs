//! Changes of load balancers: a PUT replaces all attributes, and those that it leaves out are as by default.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Behaviour, Creation, Simulator};
use tests::simulator::Cloud;

use crate::creation::{ID, ONE, behaving, create, desired, saying, show, two, update, want, with};
use crate::table::{Known, Step, play, put, row, say, then};

const TOO_OFTEN: &str = "a load balancer can be resized once an hour, and not in its first hour";
const PROCESSING: &str = "Load Balancer can't be updated while it processes previous actions";
const TAKEN: &str = "There is already a load balancer with that name";

/// Replaces the load balancer `$id`.
fn replace<C: Cloud>(desired: Value) -> Step<C> {
    put(ONE, desired).is(200, json!({ "load_balancer": {} }))
}

/// The body of a creation that says more than the smallest.
fn rich() -> Value {
    let said = json!({
        "project_id": "4de7ac8b-495b-4884-9a69-1050c6793cd6",
        "tls_cipher_policy": "STRONG",
        "health_check": { "port": 10256, "path": "/healthz" },
        "firewall": { "allow": ["cidr:10.0.0.0/8"] },
        "sticky_sessions": { "type": "cookies", "cookie_name": "cc", "cookie_ttl_seconds": 1 },
        "enable_proxy_protocol": true,
    });
    saying("web", &said)
}

#[tokio::test]
async fn a_put_replaces_all_attributes() {
    let same = |known: &Known| {
        let (mut now, plain) = (known["$now"].clone(), &known["$plain"]);
        for name in ["id", "name", "created_at", "ip", "status"] {
            now[name] = plain[name].clone();
        }
        assert_eq!(&now, plain);
    };
    let renamed = json!({ "load_balancer": { "name": "renamed" } });
    play([
        row("attributes that a PUT leaves out are as by default", two()).asks([
            create("$id", rich()),
            want(desired("plain")).is(202, json!({ "load_balancer": "$plain" })),
            put(ONE, desired("renamed")).is(200, renamed),
            show(json!({ "name": "renamed" })),
            show(json!("$now")),
            then(move |_, known| same(known)),
        ]),
        row("region and VPC stay if a PUT leaves them out", two()).asks([
            want(desired("web")).is(202, json!({ "load_balancer": { "id": "$id", "vpc_uuid": "$vpc" } })),
            replace(desired("web")).is(200, json!({ "load_balancer": { "vpc_uuid": "$vpc" } })),
        ]),
        row("a refused change changes nothing", two()).asks([
            create("$taken", desired("taken")),
            create("$id", desired("web")),
            show(json!("$before")),
            put(ONE, desired("taken")).refused(422, TAKEN),
            put(ONE, with(desired("web"), "droplet_ids", json!([1, 9]))).refused(422, "droplet 9 was not found"),
            show(json!("$before")),
            put(format!("/v2/load_balancers/{ID}"), desired("web")).status(404),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn some_attributes_never_change() {
    let dual = || with(with(desired("web"), "droplet_ids", json!([])), "network_stack", json!("DUALSTACK"));
    let mut silent = dual();
    silent.as_object_mut().unwrap().remove("network_stack");
    let (ours, other) = ("760e09ef-dc84-11e8-981e-3cfdfeaae000", "760e15a0-dc84-11e8-981e-3cfdfeaae000");
    let refused = |name: &str, from: &str, to: &str| {
        let body = with(dual(), name, json!(to));
        put(ONE, body).refused(422, &format!("{name} cannot be changed from {from} to {to}"))
    };
    play([row("attributes", two()).asks([
        then(|it: &Simulator, _| it.droplets().clear()),
        create("$id", dual()),
        refused("type", "REGIONAL", "REGIONAL_NETWORK"),
        refused("network", "EXTERNAL", "INTERNAL"),
        refused("network_stack", "DUALSTACK", "IPV4"),
        refused("vpc_uuid", ours, other),
        refused("region", "fra1", "nyc3"),
        // A default counts as said.
        put(ONE, silent).refused(422, "network_stack cannot be changed from DUALSTACK to IPV4"),
        replace(dual()),
    ])])
    .await;
}

#[tokio::test]
async fn changes_have_their_time() {
    let large = || with(desired("web"), "size", json!("lb-large"));
    let size =
        |body: Value, name: &str, value: Value| put(ONE, body).is(200, json!({ "load_balancer": { name: value } }));
    let hour = Duration::from_hours(1);
    let targets = |method| say(method, "/v2/load_balancers/$id/droplets", json!({ "droplet_ids": [1] }));
    let busy = Behaviour { creation: Creation::Stuck, new_ones_are_busy: true, ..Behaviour::default() };
    play([
        row("a size changes once an hour at most", two()).asks([
            create("$id", desired("web")),
            put(ONE, large()).refused(422, TOO_OFTEN),
            then(update(|it| it.created_at -= Duration::from_hours(1))),
            size(large(), "size_unit", json!(6)),
            put(ONE, desired("web")).refused(422, TOO_OFTEN),
            replace(large()),
            then(update(|it| it.resized_at = Some(it.created_at - Duration::from_hours(1)))),
            size(desired("web"), "size", json!("lb-small")),
        ]),
        row("one change is taken at a time", two()).asks([
            create("$id", desired("web")),
            then(move |it: &Simulator, _| it.load_balancers().behave(|it| it.busy = hour)),
            put(ONE, desired("web")).refused(403, PROCESSING),
            targets("POST").refused(403, PROCESSING),
            targets("DELETE").refused(403, PROCESSING),
            then(update(|it| it.changed_at -= Duration::from_hours(1))),
            replace(desired("web")),
            put(ONE, desired("web")).refused(403, PROCESSING),
        ]),
        row("a new load balancer may be busy with becoming one", behaving(busy)).asks([
            create("$id", desired("web")),
            put(ONE, desired("web")).status(403),
            then(|it: &Simulator, _| it.load_balancers().behave(|it| it.creation = Creation::Takes(Duration::ZERO))),
            replace(desired("web")),
        ]),
    ])
    .await;
}
