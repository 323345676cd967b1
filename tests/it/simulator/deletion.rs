//! Load balancers that go, and what errors say.

use serde_json::json;
use tests::digitalocean::{Options, Owner};

use crate::client::{delete, get, send, simulator};
use crate::creation::{create, show, wish};

#[tokio::test]
async fn what_is_deleted_is_gone() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &wish("web")).await["id"].clone();
    let path = format!("/v2/load_balancers/{}", id.as_str().unwrap());
    let deleted = delete(&simulator, &path).await.unwrap();
    assert_eq!((deleted.status, deleted.body), (204, json!(null)));
    assert_eq!(simulator.load_balancers().all().len(), 0);
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 404);
    assert_eq!(get(&simulator, &path).await.unwrap().status, 404);
    create(&simulator, &wish("web")).await;
}

#[tokio::test]
async fn an_error_names_the_request() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let missing = get(&simulator, "/v2/load_balancers/4de7ac8b-495b-4884-9a69-1050c6793cd6").await.unwrap();
    let invalid = send(&simulator, "POST", "/v2/load_balancers", &wish("-")).await.unwrap();
    for (answer, id) in [(missing, "not_found"), (invalid, "unprocessable_entity")] {
        assert_eq!(answer.body["id"], id);
        assert_eq!(answer.body["request_id"], answer.header("x-request-id"));
        assert_eq!(answer.header("x-request-id").len(), 36);
    }
}

#[tokio::test]
async fn another_account_has_other_things() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &wish("web")).await["id"].clone();
    let path = format!("/v2/load_balancers/{}", id.as_str().unwrap());
    let team = get(&simulator, "/v2/account").await.unwrap().body["account"]["team"].clone();

    simulator.set_owner(Owner::Strangers);
    assert_eq!(get(&simulator, &path).await.unwrap().status, 404);
    assert_eq!(get(&simulator, "/v2/droplets").await.unwrap().ids(), Vec::<u64>::new());
    assert_ne!(get(&simulator, "/v2/account").await.unwrap().body["account"]["team"]["uuid"], team["uuid"]);
    assert_eq!(delete(&simulator, &path).await.unwrap().status, 404);
    simulator.strangers().droplets().insert(tests::digitalocean::Droplet::new(1, "worker-1"));
    assert_eq!(get(&simulator, "/v2/droplets").await.unwrap().ids(), [1]);

    simulator.set_owner(Owner::Us);
    assert_eq!(show(&simulator, &id).await["name"], "web");
    assert_eq!(simulator.strangers().load_balancers().all().len(), 0);
}
