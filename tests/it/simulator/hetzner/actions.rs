//! Actions: what they say, what they lock, and how they fail.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Simulator, Taking};
use tests::simulator::Cloud;

use super::{NETWORK, act, behaving, change, create, desired, route, service, show};
use crate::table::{Step, delete, get, play, put, row, then};

/// A simulator whose actions take so long.
async fn taking(actions: Taking) -> Simulator {
    behaving(Behaviour { actions, ..Behaviour::instant() }).await
}

/// Begins an action, and remembers its id under this name.
fn begin<C: Cloud>(id: &str, command: &str, body: Value) -> Step<C> {
    act(command, body).is(201, json!({ "action": { "id": id, "status": "running" } }))
}

#[tokio::test]
async fn actions_of_hetzner() {
    let made = || [create("$id", desired("web")), show(json!({}))];
    let of_services = |count: usize| show(json!({ "services": { "#": count } }));
    let path = "/v1/load_balancers/$id";
    let two = |status: &str| {
        let actions = json!({ "actions": [{ "status": status }, { "status": status }] });
        get("/v1/actions?id=$first&id=$second").is(200, actions)
    };
    let listed = |path: &str, id: &str| get(path).is(200, json!({ "actions": [{ "id": id }] }));
    let by_command = json!({ "actions": [{ "command": "create_load_balancer" }, { "command": "change_algorithm" }] });
    let algorithm = json!({ "type": "least_connections" });
    let instant = Duration::ZERO;
    play([
        row("what is being changed is locked", taking(Taking::Forever)).asks(made()).asks([
            change("add_service", service(81, 30081)),
            act("add_service", service(82, 30082)).code(423, "locked"),
            put(path, json!({ "name": "b" })).code(423, "locked"),
            delete(path).code(423, "locked"),
            of_services(1),
            // Another one is not.
            create("$another", desired("another")),
            then(move |it: &Simulator, _| it.behave(|it| it.actions = Taking::Time(instant))),
            of_services(2),
            delete(path).status(204),
        ]),
        row("several actions run where nothing locks", taking(Taking::Reads(1))).asks(made()).asks([
            then(|it: &Simulator, _| it.behave(|it| it.locks = false)),
            begin("$first", "add_service", service(81, 30081)),
            begin("$second", "add_service", service(82, 30082)),
            two("running"),
            two("success"),
        ]),
        row("an action may fail", taking(Taking::Time(instant))).asks(made()).asks([
            then(|it: &Simulator, _| it.behave(|it| it.failing = Some("add_service"))),
            begin("$failing", "add_service", service(81, 30081)),
            get("/v1/actions/$failing")
                .is(200, json!({ "action": { "status": "error", "error": { "code": "action_failed" } } })),
            of_services(1),
        ]),
        row("actions are listed by what they are about", taking(Taking::Forever)).asks(made()).asks([
            begin("$running", "change_algorithm", algorithm),
            route("add_route", "10.244.1.0/24", "10.0.0.2").is(201, json!({ "action": { "id": "$route" } })),
            listed("/v1/load_balancers/$id/actions?status=running", "$running"),
            listed(&format!("/v1/networks/{NETWORK}/actions?status=running&sort=id:desc"), "$route"),
            listed("/v1/load_balancers/actions?id=$running", "$running"),
            listed("/v1/networks/actions", "$route"),
            get("/v1/load_balancers/$id/actions?sort=command:desc").is(200, by_command),
            get("/v1/actions/5").code(404, "not_found"),
        ]),
    ])
    .await;
}
