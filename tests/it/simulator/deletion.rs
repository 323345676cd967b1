//! Deletion of load balancers, and the texts of errors.

use std::time::Duration;

use serde_json::json;
use tests::clouds::digitalocean::{Options, Owner};

use crate::client::{delete, get, send, simulator};
use crate::creation::{create, desired, show};

#[tokio::test]
async fn what_is_deleted_is_gone() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let path = format!("/v2/load_balancers/{}", id.as_str().unwrap());
    let deleted = delete(&simulator, &path).await.unwrap();
    assert_eq!((deleted.status, deleted.body), (204, json!(null)));
    assert_eq!(simulator.load_balancers().all().len(), 0);
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 404);
    assert_eq!(get(&simulator, &path).await.unwrap().status, 404);
    create(&simulator, &desired("web")).await;
}

#[tokio::test]
async fn the_name_of_a_deleted_load_balancer_is_freed_late() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let taken = (422, "There is already a load balancer with that name");
    simulator.load_balancers().behave(|it| it.names_freed_late_by = Duration::from_hours(1));
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let other = create(&simulator, &desired("other")).await["id"].clone();
    let path = |id: &serde_json::Value| format!("/v2/load_balancers/{}", id.as_str().unwrap());
    assert_eq!(delete(&simulator, &path(&id)).await.unwrap().status, 204);
    assert_eq!(get(&simulator, "/v2/load_balancers").await.unwrap().body["meta"]["total"], 1);
    assert_eq!(send(&simulator, "POST", "/v2/load_balancers", &desired("web")).await.unwrap().refusal(), taken);
    assert_eq!(send(&simulator, "PUT", &path(&other), &desired("web")).await.unwrap().refusal(), taken);

    simulator.load_balancers().behave(|it| it.names_freed_late_by = Duration::ZERO);
    assert_eq!(send(&simulator, "PUT", &path(&other), &desired("web")).await.unwrap().status, 200);
}

#[tokio::test]
async fn an_error_names_the_request() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let missing = get(&simulator, "/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6").await.unwrap();
    let invalid = send(&simulator, "POST", "/v2/load_balancers", &desired("-")).await.unwrap();
    for (answer, id) in [(missing, "not_found"), (invalid, "unprocessable_entity")] {
        assert_eq!(answer.body["id"], id);
        assert_eq!(answer.body["request_id"], answer.header("x-request-id"));
        assert_eq!(answer.header("x-request-id").len(), 36);
    }
}

#[tokio::test]
async fn another_account_has_other_things() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let path = format!("/v2/load_balancers/{}", id.as_str().unwrap());
    let team = get(&simulator, "/v2/account").await.unwrap().body["account"]["team"].clone();

    simulator.set_owner(Owner::Other);
    assert_eq!(get(&simulator, &path).await.unwrap().status, 404);
    assert_eq!(get(&simulator, "/v2/droplets").await.unwrap().ids(), Vec::<u64>::new());
    assert_ne!(get(&simulator, "/v2/account").await.unwrap().body["account"]["team"]["uuid"], team["uuid"]);
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 404);
    simulator.other_account().droplets().insert(tests::clouds::digitalocean::Droplet::new(1, "worker-1"));
    assert_eq!(get(&simulator, "/v2/droplets").await.unwrap().ids(), [1]);

    simulator.set_owner(Owner::Us);
    assert_eq!(show(&simulator, &id).await["name"], "web");
    assert_eq!(simulator.other_account().load_balancers().all().len(), 0);
}
