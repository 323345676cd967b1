//! Servers, locations and volumes in lists and one by one.

use serde_json::{Value, json};
use tests::clouds::hetzner::{Options, Server, Status, Volume};

use super::{NETWORK, simulator};
use crate::client::{Answer, get};

/// The names in a list.
fn names(answer: &Answer, list: &str) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body[list].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_server_is_shown_with_its_addresses_and_its_place() {
    let simulator = simulator(Options::instant(), 1).await;
    let server = get(&simulator, "/v1/servers/1").await.unwrap().body["server"].clone();
    assert_eq!((&server["name"], &server["status"]), (&json!("worker-1"), &json!("running")));
    assert_eq!((&server["server_type"]["name"], &server["location"]["name"]), (&json!("cx22"), &json!("fsn1")));
    assert_eq!(server["public_net"]["ipv4"]["ip"], "198.18.0.1");
    assert_eq!(server["public_net"]["ipv6"]["ip"], "2001:db8:c000:1::/64");
    assert_eq!(server["private_net"][0]["network"], NETWORK);
    assert_eq!(server["private_net"][0]["ip"], "10.0.0.2");
    assert_eq!(server["datacenter"], Value::Null);
}

#[tokio::test]
async fn a_server_may_have_no_public_address() {
    let simulator = simulator(Options::instant(), 0).await;
    simulator.servers().insert(Server::new(7, "inside").ipv4(None).ipv6(None).status(Status::Off));
    let server = get(&simulator, "/v1/servers/7").await.unwrap().body["server"].clone();
    let public = &server["public_net"];
    assert_eq!((&public["ipv4"], &public["ipv6"], &server["status"]), (&Value::Null, &Value::Null, &json!("off")));
}

#[tokio::test]
async fn servers_are_listed_in_pages_of_50_at_most() {
    let simulator = simulator(Options::instant(), 120).await;
    let page = get(&simulator, "/v1/servers?page=3&per_page=50&sort=id:asc").await.unwrap();
    assert_eq!((names(&page, "servers").len(), names(&page, "servers")[0].as_str()), (20, "worker-101"));
    let expected = json!({ "page": 3, "per_page": 50, "previous_page": 2, "next_page": null, "last_page": 3, "total_entries": 120 });
    assert_eq!(page.body["meta"]["pagination"], expected);

    assert_eq!(names(&get(&simulator, "/v1/servers").await.unwrap(), "servers").len(), 25);
    let many = get(&simulator, "/v1/servers?per_page=51").await.unwrap();
    assert_eq!(many.code(), (422, "invalid_input"));
}

#[tokio::test]
async fn servers_are_chosen_by_name_status_and_labels() {
    let simulator = simulator(Options::instant(), 3).await;
    simulator.servers().insert(Server::new(4, "labelled").label("env", "dev").status(Status::Off));
    for (query, expected) in [
        ("name=worker-2", vec!["worker-2"]),
        ("name=WORKER-2", vec![]),
        ("label_selector=env%3D%3Ddev", vec!["labelled"]),
        ("label_selector=%21env&sort=name:desc", vec!["worker-3", "worker-2", "worker-1"]),
        ("status=off", vec!["labelled"]),
        ("status=off&status=running&sort=id:desc", vec!["labelled", "worker-3", "worker-2", "worker-1"]),
    ] {
        let answer = get(&simulator, &format!("/v1/servers?{query}")).await.unwrap();
        assert_eq!(names(&answer, "servers"), expected, "{query}");
    }
    let wrong = get(&simulator, "/v1/servers?label_selector=env%20within%20(a)").await.unwrap();
    assert_eq!(wrong.code(), (422, "invalid_input"));
}

#[tokio::test]
async fn a_server_that_is_not_listed_can_be_asked_for() {
    let simulator = simulator(Options::instant(), 1).await;
    simulator.servers().insert(Server::new(2, "late").unlisted());
    assert_eq!(names(&get(&simulator, "/v1/servers").await.unwrap(), "servers"), ["worker-1"]);
    assert_eq!(get(&simulator, "/v1/servers/2").await.unwrap().status, 200);
    simulator.servers().remove(2);
    assert_eq!(get(&simulator, "/v1/servers/2").await.unwrap().code(), (404, "not_found"));
}

#[tokio::test]
async fn locations_and_volumes_are_listed() {
    let simulator = simulator(Options::instant(), 0).await;
    simulator.volumes().insert(Volume::new(9, "data").location("hel1"));
    let locations = names(&get(&simulator, "/v1/locations").await.unwrap(), "locations");
    assert_eq!(locations, ["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]);
    assert_eq!(names(&get(&simulator, "/v1/locations?name=ash").await.unwrap(), "locations"), ["ash"]);
    assert_eq!(get(&simulator, "/v1/locations/3").await.unwrap().body["location"]["name"], "hel1");
    assert_eq!(names(&get(&simulator, "/v1/volumes?name=data").await.unwrap(), "volumes"), ["data"]);
    let volume = get(&simulator, "/v1/volumes/9").await.unwrap();
    assert_eq!(volume.body["volume"]["location"]["name"], "hel1");
    assert_eq!(get(&simulator, "/v1/volumes/8").await.unwrap().code(), (404, "not_found"));
}
