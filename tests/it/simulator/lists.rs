//! Droplets one by one, and in pages.

use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Options, Status};

use crate::client::{get, get_with, simulator};

#[tokio::test]
async fn pages_are_cut_by_offset_and_link_to_the_public_service() {
    let simulator = simulator(Options::default(), 1, 450).await;
    let first = get(&simulator, "/v2/droplets?page=1&per_page=200").await.unwrap();
    assert_eq!(first.ids(), Vec::from_iter(1..=200));
    assert_eq!(first.body["meta"], json!({ "total": 450 }));
    let public = |page: u32| format!("https://api.digitalocean.com/v2/droplets?page={page}&per_page=200");
    assert_eq!(first.body["links"], json!({ "pages": { "next": public(2), "last": public(3) } }));

    let middle = get(&simulator, "/v2/droplets?page=2&per_page=200").await.unwrap();
    assert_eq!(
        middle.body["links"]["pages"],
        json!({ "first": public(1), "prev": public(1), "next": public(3), "last": public(3) })
    );

    let last = get(&simulator, "/v2/droplets?page=3&per_page=200").await.unwrap();
    assert_eq!(last.ids(), Vec::from_iter(401..=450));
    assert_eq!(last.body["links"], json!({ "pages": { "first": public(1), "prev": public(2) } }));

    let beyond = get(&simulator, "/v2/droplets?page=4&per_page=200").await.unwrap();
    assert_eq!((beyond.status, beyond.ids().len()), (200, 0));

    // A droplet that goes away between two pages moves all that follow it.
    simulator.droplets().remove(1);
    let shifted = get(&simulator, "/v2/droplets?page=2&per_page=200").await.unwrap();
    assert_eq!(shifted.ids(), Vec::from_iter(202..=401));
    simulator.stop().await;
}

#[tokio::test]
async fn a_page_holds_twenty_droplets_unless_asked_otherwise() {
    let simulator = simulator(Options::default(), 1, 21).await;
    assert_eq!(get(&simulator, "/v2/droplets").await.unwrap().ids().len(), 20);
    let all = get(&simulator, "/v2/droplets?per_page=21").await.unwrap();
    assert_eq!((all.ids().len(), &all.body["links"]), (21, &json!({})));
}

#[tokio::test]
async fn filters_choose_by_name_tag_and_kind() {
    let simulator = simulator(Options::default(), 1, 0).await;
    for droplet in [
        Droplet::new(1, "web-1").tag("k8s").tag("k8s:c1"),
        Droplet::new(2, "web-10").tag("k8s:c10"),
        Droplet::new(3, "WEB-1"),
        Droplet::new(4, "web-1").gpu().tag("k8s"),
        Droplet::new(5, "web-1").unlisted().tag("k8s"),
    ] {
        simulator.droplets().insert(droplet);
    }
    for (query, ids) in [
        ("", vec![1, 2, 3]),
        ("?name=Web-1", vec![1, 3]),
        ("?name=web", vec![]),
        ("?tag_name=k8s", vec![1]),
        ("?tag_name=k8s%3Ac1", vec![1]),
        ("?type=droplets", vec![1, 2, 3]),
        ("?type=gpus", vec![4]),
        ("?type=gpus&name=web-1", vec![4]),
        ("?type=gpus&name=web-2", vec![]),
    ] {
        let answer = get(&simulator, &format!("/v2/droplets{query}")).await.unwrap();
        assert_eq!((answer.status, answer.ids()), (200, ids), "{query}");
    }
    for query in ["?tag_name=k8s&name=web-1", "?tag_name=k8s&type=gpus"] {
        let answer = get(&simulator, &format!("/v2/droplets{query}")).await.unwrap();
        assert_eq!((answer.status, &answer.body["id"]), (400, &json!("bad_request")), "{query}");
    }
    let links = get(&simulator, "/v2/droplets?name=web-1&per_page=1").await.unwrap().body;
    assert_eq!(
        links["links"]["pages"]["next"],
        json!("https://api.digitalocean.com/v2/droplets?name=web-1&page=2&per_page=1")
    );
}

#[tokio::test]
async fn a_droplet_is_shown_whole_and_as_it_is_now() {
    let simulator = simulator(Options::default(), 42, 42).await;
    simulator.droplets().update(42, |it| it.public_v6 = vec!["2001:db8::42".parse().unwrap()]);
    let droplet = get(&simulator, "/v2/droplets/42").await.unwrap().body["droplet"].clone();
    assert_eq!(droplet["id"], 42);
    assert_eq!(droplet["status"], "active");
    assert_eq!(
        (&droplet["size_slug"], &droplet["vcpus"], &droplet["memory"]),
        (&json!("s-2vcpu-4gb"), &json!(2), &json!(4096))
    );
    assert_eq!(droplet["region"]["slug"], "fra1");
    assert_eq!(droplet["networks"]["v4"][1]["ip_address"], "10.0.0.42");
    assert_eq!(droplet["networks"]["v4"][1]["type"], "private");
    assert_eq!(droplet["networks"]["v6"][0]["ip_address"], "2001:db8::42");

    simulator.droplets().update(42, |it| it.status = Status::Off);
    assert_eq!(get(&simulator, "/v2/droplets/42").await.unwrap().body["droplet"]["status"], "off");

    simulator.droplets().remove(42);
    let gone = get(&simulator, "/v2/droplets/42").await.unwrap();
    assert_eq!((gone.status, &gone.body["id"]), (404, &json!("not_found")));
}

#[tokio::test]
async fn every_kind_of_droplet_is_as_the_description_says() {
    let simulator = simulator(Options::default(), 1, 1).await;
    for (id, status) in [(2, Status::New), (3, Status::Off), (4, Status::Archive)] {
        simulator.droplets().insert(Droplet::new(id, "worker").status(status).private_v4([]).public_v4([]));
    }
    simulator.droplets().insert(Droplet::new(5, "worker").gpu().tag("env:prod").size("g-8vcpu-32gb"));
    simulator.droplets().insert(Droplet::new(6, "worker").public_v6(["2001:db8::6".parse().unwrap()]).region("nyc3"));
    for id in 1..=6 {
        assert_eq!(get(&simulator, &format!("/v2/droplets/{id}")).await.unwrap().status, 200);
    }
    simulator.assert_valid();
}

#[tokio::test]
async fn a_droplet_that_no_list_shows_can_be_asked_for_by_id() {
    let simulator = simulator(Options::default(), 1, 3).await;
    simulator.droplets().update(2, |it| it.listed = false);
    let list = get(&simulator, "/v2/droplets").await.unwrap();
    assert_eq!((list.ids(), &list.body["meta"]["total"]), (vec![1, 3], &json!(2)));
    assert_eq!(get(&simulator, "/v2/droplets/2").await.unwrap().status, 200);
}

#[tokio::test]
async fn the_account_names_its_team() {
    let simulator = simulator(Options::default(), 1, 0).await;
    let account = get(&simulator, "/v2/account").await.unwrap().body["account"].clone();
    assert_eq!(account["team"]["uuid"], "5df3e3004a17e242b7c20ca6c9fc25b701a47ece");
}

#[tokio::test]
async fn a_thousand_droplets_are_read_over_one_connection() {
    let simulator = simulator(Options::default(), 1, 1_000).await;
    let client = simulator.client(&["h2"]);
    let pages = (1..=5).map(|page| format!("/v2/droplets?page={page}&per_page=200"));
    let answers =
        futures::future::join_all(pages.map(async |path| get_with(&client, &simulator, &path).await.unwrap().ids()))
            .await;
    assert_eq!(answers.concat(), Vec::from_iter(1..=1_000));
}
