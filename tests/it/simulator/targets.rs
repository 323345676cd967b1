//! The droplets behind a load balancer.

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, LoadBalancer, Options, Simulator};

use crate::client::{Answer, send, simulator};
use crate::creation::{create, desired, show};

async fn change(simulator: &Simulator, method: &str, id: &Value, droplets: &[u64]) -> Answer {
    let path = format!("/v2/load_balancers/{}/droplets", id.as_str().unwrap());
    send(simulator, method, &path, &json!({ "droplet_ids": droplets })).await.unwrap()
}

#[tokio::test]
async fn targets_come_and_go_and_nothing_else_changes() {
    let simulator = simulator(Options::default(), 1, 4).await;
    let mut rich = desired("web");
    rich["tls_cipher_policy"] = json!("STRONG");
    let id = create(&simulator, &rich).await["id"].clone();
    let before = show(&simulator, &id).await;

    let added = change(&simulator, "POST", &id, &[2, 3, 4]).await;
    assert_eq!((added.status, added.body), (204, Value::Null));
    assert_eq!(show(&simulator, &id).await["droplet_ids"], json!([1, 2, 3, 4]));
    assert_eq!(change(&simulator, "DELETE", &id, &[3, 4]).await.status, 204);
    assert_eq!(show(&simulator, &id).await, before);
}

#[tokio::test]
async fn targets_are_droplets_of_the_same_network() {
    let simulator = simulator(Options::default(), 1, 2).await;
    simulator.droplets().insert(Droplet::new(3, "far").region("nyc3"));
    simulator.droplets().insert(Droplet::new(4, "apart").vpc("e0fe0f4d-596a-465e-a902-571ce57b79fa"));
    let id = create(&simulator, &desired("web")).await["id"].clone();
    let vpc = "760e09ef-dc84-11e8-981e-3cfdfeaae000";
    for (droplet, message) in [
        (3, format!("droplet 3 is not in the VPC {vpc} of the load balancer")),
        (4, format!("droplet 4 is not in the VPC {vpc} of the load balancer")),
        (9, "droplet 9 was not found".to_owned()),
    ] {
        assert_eq!(change(&simulator, "POST", &id, &[2, droplet]).await.refusal(), (422, message.as_str()));
    }
    assert_eq!(show(&simulator, &id).await["droplet_ids"], json!([1, 2]));
}

#[tokio::test]
async fn targets_by_id_are_limited_and_can_be_taken_away() {
    let simulator = simulator(Options::default(), 1, 12).await;
    let id = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    let mut large = LoadBalancer::new(id, "large");
    large.attributes.droplet_ids = (1..=11).collect();
    simulator.load_balancers().insert(large);
    simulator.load_balancers().behave(|it| it.targets = Some(10));
    let id = json!(id);
    let refusal = (422, "a load balancer can have at most 10 droplets");
    assert_eq!(change(&simulator, "POST", &id, &[12]).await.refusal(), refusal);
    assert_eq!(change(&simulator, "DELETE", &id, &[11]).await.status, 204);
    assert_eq!(change(&simulator, "POST", &id, &[12]).await.refusal(), refusal);
    assert_eq!(change(&simulator, "DELETE", &id, &[10]).await.status, 204);
    assert_eq!(change(&simulator, "POST", &id, &[12]).await.status, 204);
    let mut many = desired("many");
    many["droplet_ids"] = json!(Vec::from_iter(1..=11));
    assert_eq!(send(&simulator, "POST", "/v2/load_balancers", &many).await.unwrap().refusal(), refusal);
}

#[tokio::test]
async fn a_deleted_droplet_is_no_target() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = create(&simulator, &desired("web")).await["id"].clone();
    simulator.droplets().remove(1);
    assert_eq!(show(&simulator, &id).await["droplet_ids"], json!([2]));
    assert_eq!(simulator.load_balancers().get(id.as_str().unwrap()).unwrap().attributes.droplet_ids, [2]);
    assert_eq!(change(&simulator, "DELETE", &id, &[1]).await.refusal(), (422, "droplet 1 was not found"));
}

#[tokio::test]
async fn a_tag_chooses_droplets_in_the_place_of_ids() {
    let simulator = simulator(Options::default(), 1, 3).await;
    simulator.droplets().update(3, |it| it.tags.push("web".to_owned()));
    let mut tagged = desired("web");
    tagged["tag"] = json!("web");
    tagged.as_object_mut().unwrap().remove("droplet_ids");
    let made = create(&simulator, &tagged).await;
    assert_eq!((&made["tag"], &made["droplet_ids"]), (&json!("web"), &json!([3])));
    let refused = change(&simulator, "POST", &made["id"], &[1]).await;
    assert_eq!(refused.refusal(), (422, "droplets of a load balancer with a tag are chosen by the tag"));
}

#[tokio::test]
async fn a_load_balancer_can_be_there_before_the_first_request() {
    let simulator = simulator(Options::default(), 1, 2).await;
    let id = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    let mut there = LoadBalancer::new(id, "before");
    there.attributes.droplet_ids = vec![2];
    there.attributes.kind = "REGIONAL_NETWORK".to_owned();
    simulator.load_balancers().insert(there);
    let shown = show(&simulator, &json!(id)).await;
    assert_eq!((&shown["status"], &shown["droplet_ids"]), (&json!("active"), &json!([2])));
    assert!(shown["ip"].as_str().unwrap().starts_with("192.0.2."), "{shown}");
}
