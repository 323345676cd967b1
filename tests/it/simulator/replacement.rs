//! Changes of load balancers: a PUT replaces all attributes, and those that it leaves out are as by default.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Behaviour, Creation, Options, Simulator};

use crate::client::{Answer, send, simulator};
use crate::creation::{create, desired, show};

/// Replaces a load balancer.
async fn put(simulator: &Simulator, id: &Value, desired: &Value) -> Answer {
    send(simulator, "PUT", &format!("/v2/load_balancers/{}", id.as_str().unwrap()), desired).await.unwrap()
}

fn with(mut desired: Value, name: &str, value: Value) -> Value {
    desired[name] = value;
    desired
}

#[tokio::test]
async fn attributes_that_a_put_leaves_out_are_as_by_default() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let mut rich = desired("web");
    rich["project_id"] = json!("4de7ac8b-495b-4884-9a69-1050c6793cd6");
    rich["tls_cipher_policy"] = json!("STRONG");
    rich["health_check"] = json!({ "port": 10256, "path": "/healthz" });
    rich["firewall"] = json!({ "allow": ["cidr:10.0.0.0/8"] });
    rich["sticky_sessions"] = json!({ "type": "cookies", "cookie_name": "cc", "cookie_ttl_seconds": 1 });
    rich["enable_proxy_protocol"] = json!(true);
    let made = create(&simulator, &rich).await;
    let plain = create(&simulator, &desired("plain")).await;

    let put = put(&simulator, &made["id"], &desired("renamed")).await;
    assert_eq!(put.status, 200, "{}", put.body);
    let mut now = show(&simulator, &made["id"]).await;
    assert_eq!((&now["name"], &put.body["load_balancer"]["name"]), (&json!("renamed"), &json!("renamed")));
    for name in ["id", "name", "created_at", "ip", "status"] {
        now[name] = plain[name].clone();
    }
    assert_eq!(now, plain);
}

#[tokio::test]
async fn region_and_vpc_stay_if_a_put_leaves_them_out() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let made = create(&simulator, &desired("web")).await;
    let answer = put(&simulator, &made["id"], &desired("web")).await;
    assert_eq!(answer.body["load_balancer"]["vpc_uuid"], made["vpc_uuid"]);
}

#[tokio::test]
async fn some_attributes_never_change() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.droplets().clear();
    let desired = with(with(desired("web"), "droplet_ids", json!([])), "network_stack", json!("DUALSTACK"));
    let made = create(&simulator, &desired).await;
    for (name, value, message) in [
        ("type", json!("REGIONAL_NETWORK"), "type cannot be changed from REGIONAL to REGIONAL_NETWORK"),
        ("network", json!("INTERNAL"), "network cannot be changed from EXTERNAL to INTERNAL"),
        ("network_stack", json!("IPV4"), "network_stack cannot be changed from DUALSTACK to IPV4"),
        (
            "vpc_uuid",
            json!("760e15a0-dc84-11e8-981e-3cfdfeaae000"),
            "vpc_uuid cannot be changed from 760e09ef-dc84-11e8-981e-3cfdfeaae000 to 760e15a0-dc84-11e8-981e-3cfdfeaae000",
        ),
        ("region", json!("nyc3"), "region cannot be changed from fra1 to nyc3"),
    ] {
        let refused = put(&simulator, &made["id"], &with(desired.clone(), name, value)).await;
        assert_eq!(refused.refusal(), (422, message));
    }
    // A default counts as said.
    let mut silent = desired.clone();
    silent.as_object_mut().unwrap().remove("network_stack");
    let refused = put(&simulator, &made["id"], &silent).await;
    assert_eq!(refused.refusal(), (422, "network_stack cannot be changed from DUALSTACK to IPV4"));
    assert_eq!(put(&simulator, &made["id"], &desired).await.status, 200);
}

#[tokio::test]
async fn a_size_changes_once_an_hour_at_most() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let (small, large) = (desired("web"), with(desired("web"), "size", json!("lb-large")));
    let too_often = (422, "a load balancer can be resized once an hour, and not in its first hour");
    assert_eq!(put(&simulator, &id, &large).await.refusal(), too_often);

    let load_balancers = simulator.load_balancers();
    load_balancers.update(id.as_str().unwrap(), |it| it.created_at -= Duration::from_hours(1));
    assert_eq!(put(&simulator, &id, &large).await.body["load_balancer"]["size_unit"], 6);
    assert_eq!(put(&simulator, &id, &small).await.refusal(), too_often);
    assert_eq!(put(&simulator, &id, &large).await.status, 200);
    load_balancers.update(id.as_str().unwrap(), |it| it.resized_at = Some(it.created_at - Duration::from_hours(1)));
    assert_eq!(put(&simulator, &id, &small).await.body["load_balancer"]["size"], "lb-small");
}

#[tokio::test]
async fn one_change_is_taken_at_a_time() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let id_text = id.as_str().unwrap();
    let processing = (403, "Load Balancer can't be updated while it processes previous actions");
    simulator.load_balancers().behave(|it| it.busy = Duration::from_secs(3_600));
    assert_eq!(put(&simulator, &id, &desired("web")).await.refusal(), processing);
    for method in ["POST", "DELETE"] {
        let path = format!("/v2/load_balancers/{id_text}/droplets");
        let refused = send(&simulator, method, &path, &json!({ "droplet_ids": [1] })).await.unwrap();
        assert_eq!(refused.refusal(), processing);
    }
    simulator.load_balancers().update(id_text, |it| it.changed_at -= Duration::from_secs(3_600));
    assert_eq!(put(&simulator, &id, &desired("web")).await.status, 200);
    assert_eq!(put(&simulator, &id, &desired("web")).await.refusal(), processing);
}

#[tokio::test]
async fn a_new_load_balancer_may_be_busy_with_becoming_one() {
    let load_balancers = Behaviour { creation: Creation::Stuck, new_ones_are_busy: true, ..Behaviour::default() };
    let simulator = simulator(Options { load_balancers, ..Options::default() }, 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    assert_eq!(put(&simulator, &id, &desired("web")).await.status, 403);
    simulator.load_balancers().behave(|it| it.creation = Creation::Takes(Duration::ZERO));
    assert_eq!(put(&simulator, &id, &desired("web")).await.status, 200);
}

#[tokio::test]
async fn a_refused_change_changes_nothing() {
    let simulator = simulator(Options::default(), 1, 2).await;
    create(&simulator, &desired("taken")).await;
    let made = create(&simulator, &desired("web")).await;
    let before = show(&simulator, &made["id"]).await;
    let refused = put(&simulator, &made["id"], &desired("taken")).await;
    assert_eq!(refused.refusal(), (422, "There is already a load balancer with that name"));
    let refused = put(&simulator, &made["id"], &with(desired("web"), "droplet_ids", json!([1, 9]))).await;
    assert_eq!(refused.refusal(), (422, "droplet 9 was not found"));
    assert_eq!(show(&simulator, &made["id"]).await, before);
    let gone = json!("4de7ac8b-495b-4884-9a69-1050c6793cd6");
    assert_eq!(put(&simulator, &gone, &desired("web")).await.status, 404);
}
