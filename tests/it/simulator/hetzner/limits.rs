//! Limits of load balancer types and projects.

use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Certificate, Options, Simulator};

use super::{act, behaving, change, create, desired, server, service, simulator, want, with};
use crate::table::{get, play, row, then};

#[tokio::test]
async fn limits_of_hetzner() {
    let of_type = |targets: u64, services: u64, certificates: u64, connections: u64, deprecated: Value| {
        json!({
            "max_targets": targets, "max_services": services, "max_assigned_certificates": certificates,
            "max_connections": connections, "deprecated": deprecated,
        })
    };
    let none = Value::Null;
    let types = json!([
        of_type(25, 5, 10, 10_000, none.clone()),
        of_type(75, 15, 25, 20_000, none.clone()),
        of_type(150, 30, 50, 40_000, none),
        of_type(25, 5, 10, 5_000, json!("~2")),
    ]);
    let types = json!({ "load_balancer_types": types });
    let targets = |count| {
        with(
            desired("web"),
            "targets",
            (1..=count).map(|it| with(server(it), "use_private_ip", json!(false))).collect(),
        )
    };
    let services = |count| with(desired("web"), "services", (1..=count).map(|it| service(it, 30_000 + it)).collect());
    let of_size = |name: &str| json!({ "load_balancer_type": name });
    let exceeded = "resource_limit_exceeded";
    let certificates = Vec::from_iter(1..=11);
    let https = json!({ "listen_port": 1, "protocol": "https", "http": { "certificates": certificates } });
    play([
        row("types say what they have at most", simulator(Options::instant(), 0)).asks([
            get("/v1/load_balancer_types").is(200, types),
            get("/v1/load_balancer_types?name=lb21").is(200, json!({ "load_balancer_types": [{ "id": 2 }] })),
            get("/v1/load_balancer_types/3").is(200, json!({ "load_balancer_type": { "name": "lb31" } })),
        ]),
        row("a type has so many targets", simulator(Options::instant(), 26)).asks([
            want(targets(26)).code(403, exceeded),
            create("$id", targets(25)),
            act("add_target", server(26)).code(403, exceeded),
            change("change_type", of_size("lb21")),
            change("add_target", server(26)),
            act("change_type", of_size("lb11")).code(422, "invalid_load_balancer_type"),
        ]),
        row("a type has so many services and certificates", simulator(Options::instant(), 2)).asks([
            want(services(6)).code(403, exceeded),
            create("$id", services(5)),
            act("add_service", service(6, 6)).code(403, exceeded),
            then(move |simulator: &Simulator, _| {
                let named = |id| Certificate::new(id, &format!("www-{id}"));
                certificates.into_iter().for_each(|it| simulator.certificates().insert(named(it)));
            }),
            act("update_service", https).code(403, exceeded),
        ]),
        row("a project has so many load balancers", behaving(Behaviour { limit: Some(1), ..Behaviour::instant() }))
            .asks([create("$id", desired("web")), want(desired("another")).code(403, exceeded)]),
    ])
    .await;
}
