//! Answers that leave out, and show, what the published examples do.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Behaviour, Certificate, Creation, Droplet, Simulator};

use crate::creation::{ONE, behaving, create, desired, saying, show, want, with};
use crate::table::{Known, get, play, put, row, then};

/// An example of the description, by its name there.
fn example(name: &str) -> Value {
    let examples: Value = serde_json::from_str(include_str!("../../api/digitalocean-examples.json")).unwrap();
    examples[name].clone()
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn answers_are_as_in_the_examples() {
    assert_eq!(example("load_balancer_update_response")["load_balancer"]["status"], "new");
    let request = example("load_balancer_ssl_termination_create_request");
    let published = || example("load_balancer_ssl_termination_response")["load_balancer"].clone();
    let insert = |simulator: &Simulator, request: &Value| {
        for id in request["droplet_ids"].as_array().unwrap() {
            simulator.droplets().insert(Droplet::new(id.as_u64().unwrap(), "worker").region("nyc3"));
        }
        let certificate = request["forwarding_rules"][0]["certificate_id"].as_str().unwrap();
        simulator.certificates().insert(Certificate::new(certificate, "web"));
    };
    let is_published = move |known: &Known| {
        let (made, published) = (&known["$made"], &published());
        assert_eq!(names(made), names(published));
        for part in ["forwarding_rules", "health_check", "sticky_sessions"] {
            let (made, published) = (&made[part], &published[part]);
            assert_eq!(names(made.get(0).unwrap_or(made)), names(published.get(0).unwrap_or(published)), "{part}");
        }
        assert_eq!(names(&known["$listed"]), names(published));
    };
    let said = json!({
        "type": "REGIONAL_NETWORK",
        "network_stack": "DUALSTACK",
        "size_unit": 3,
        "firewall": { "allow": ["cidr:10.0.0.0/8"], "deny": [] },
        "http_idle_timeout_seconds": 600,
        "project_id": "4de7ac8b-495b-4884-9a69-1050c6793cd6",
        "tls_cipher_policy": "STRONG",
    });
    let left_out = || behaving(Behaviour { defaults_left_out: true, ..Behaviour::default() });
    let new_again = Behaviour { replacements_are_new: true, ..Behaviour::default() };
    let creation = |creation| then(move |it: &Simulator, _| it.load_balancers().behave(|it| it.creation = creation));
    let replaced = || put(ONE, desired("web")).is(200, json!({ "load_balancer": { "status": "new", "ip": "$ip" } }));
    let before = || show(json!({ "ip": "$ip" }));
    play([
        row("an answer may leave out what an example leaves out", left_out()).asks([
            then({
                let request = request.clone();
                move |it, _| insert(it, &request)
            }),
            want(request).is(202, json!({ "load_balancer": "$made" })),
            get("/v2/load_balancers").is(200, json!({ "load_balancers": ["$listed"] })),
            then(move |_, known| is_published(known)),
        ]),
        row("what is not as by default is never left out", left_out()).asks([
            want(saying("web", &said)).is(202, json!({ "load_balancer": said })),
            want(with(desired("inside"), "network", json!("INTERNAL")))
                .is(202, json!({ "load_balancer": { "network": "INTERNAL" } })),
        ]),
        row("a replaced load balancer may be new again", behaving(new_again)).asks([
            create("$id", desired("web")),
            before(),
            show(json!("$before")),
            creation(Creation::Reads(1)),
            replaced(),
            show(json!({ "status": "new" })),
            show(json!("$before")),
            creation(Creation::Takes(Duration::ZERO)),
            put(ONE, desired("web")).status(200),
            show(json!("$before")),
        ]),
    ])
    .await;
}
