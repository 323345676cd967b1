//! Actions: what they say, what they lock, and how they fail.

use std::time::Duration;

use serde_json::json;
use tests::clouds::hetzner::{Behaviour, Options, Simulator, Taking};

use super::{NETWORK, act, action, create, desired, route, service, show, simulator};
use crate::client::{delete, get, send};

/// A simulator whose actions take so long, with a load balancer that is done.
async fn taking(actions: Taking) -> (Simulator, u64) {
    let behaviour = Behaviour { actions, ..Behaviour::instant() };
    let simulator = simulator(Options { behaviour, ..Options::default() }, 2).await;
    let id = create(&simulator, &desired("web")).await;
    show(&simulator, id).await;
    (simulator, id)
}

#[tokio::test]
async fn what_is_being_changed_is_locked() {
    let (simulator, id) = taking(Taking::Forever).await;
    action(&act(&simulator, id, "add_service", &service(81, 30081)).await);
    let path = format!("/v1/load_balancers/{id}");
    assert_eq!(act(&simulator, id, "add_service", &service(82, 30082)).await.code(), (423, "locked"));
    assert_eq!(send(&simulator, "PUT", &path, &json!({ "name": "b" })).await.unwrap().code(), (423, "locked"));
    assert_eq!(delete(&simulator, &path).await.unwrap().code(), (423, "locked"));
    assert_eq!(show(&simulator, id).await["services"].as_array().unwrap().len(), 1);
    // Another one is not.
    create(&simulator, &desired("another")).await;

    simulator.behave(|it| it.actions = Taking::Time(Duration::ZERO));
    assert_eq!(show(&simulator, id).await["services"].as_array().unwrap().len(), 2);
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 204);
}

#[tokio::test]
async fn several_actions_run_where_nothing_locks() {
    let (simulator, id) = taking(Taking::Reads(1)).await;
    simulator.behave(|it| it.locks = false);
    let first = action(&act(&simulator, id, "add_service", &service(81, 30081)).await);
    let second = action(&act(&simulator, id, "add_service", &service(82, 30082)).await);
    let poll = async || {
        let answer = get(&simulator, &format!("/v1/actions?id={first}&id={second}")).await.unwrap();
        answer.body["actions"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(poll().await, ["running", "running"]);
    assert_eq!(poll().await, ["success", "success"]);
}

#[tokio::test]
async fn an_action_may_fail() {
    let (simulator, id) = taking(Taking::Time(Duration::ZERO)).await;
    simulator.behave(|it| it.failing = Some("add_service"));
    let failing = action(&act(&simulator, id, "add_service", &service(81, 30081)).await);
    let failed = get(&simulator, &format!("/v1/actions/{failing}")).await.unwrap().body["action"].clone();
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("error"), &json!("action_failed")));
    assert_eq!(show(&simulator, id).await["services"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn actions_are_listed_by_what_they_are_about() {
    let (simulator, id) = taking(Taking::Forever).await;
    let running = action(&act(&simulator, id, "change_algorithm", &json!({ "type": "least_connections" })).await);
    let of_network = action(&route(&simulator, "add_route", "10.244.1.0/24", "10.0.0.2").await);
    for (path, ids) in [
        (format!("/v1/load_balancers/{id}/actions?status=running"), vec![running]),
        (format!("/v1/networks/{NETWORK}/actions?status=running&sort=id:desc"), vec![of_network]),
        (format!("/v1/load_balancers/actions?id={running}"), vec![running]),
        ("/v1/networks/actions".to_owned(), vec![of_network]),
    ] {
        let answer = get(&simulator, &path).await.unwrap();
        let listed = answer.body["actions"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap());
        assert_eq!(Vec::from_iter(listed), ids, "{path}");
    }
    let all = get(&simulator, &format!("/v1/load_balancers/{id}/actions?sort=command:desc")).await.unwrap();
    let commands = all.body["actions"].as_array().unwrap().iter().map(|it| it["command"].clone());
    assert_eq!(Vec::from_iter(commands), ["create_load_balancer", "change_algorithm"]);
    assert_eq!(get(&simulator, "/v1/actions/5").await.unwrap().code(), (404, "not_found"));
}
