//! Finding the droplet behind one node: DO cases 1 to 8.

use std::net::Ipv4Addr;

use cloud_provider::{Error, Instance, State};
use tests::clouds::digitalocean::{Droplet, Fault, Status};

use crate::setup::{Rig, Setup, joining, node};

fn web() -> Droplet {
    Droplet::new(42, "web-1")
}

/// What is found for the node of a droplet.
async fn found(droplet: Droplet) -> Instance {
    let rig = Rig::with([droplet]).await;
    let found = rig.get(node("web-1", "digitalocean://42")).await.unwrap().expect("there is a droplet");
    assert_eq!(rig.requests(), ["GET /v2/droplets/42 → 200"]);
    found
}

#[tokio::test]
async fn do_01_an_active_droplet_exists_and_runs() {
    let found = found(web()).await;
    assert_eq!((found.provider_id.as_deref(), found.state), (Some("digitalocean://42"), State::Running));
}

#[tokio::test]
async fn do_02_a_droplet_that_is_off_exists_and_is_stopped() {
    assert_eq!(found(web().status(Status::Off)).await.state, State::Stopped);
    assert_eq!(found(web().status(Status::Archive)).await.state, State::Stopped);
    assert_eq!(found(web().status(Status::New)).await.state, State::Running);
}

#[tokio::test]
async fn do_03_a_droplet_that_the_cloud_does_not_know_does_not_exist() {
    let rig = Rig::with([]).await;
    assert_eq!(rig.get(node("web-1", "digitalocean://42")).await, Ok(None));
    assert_eq!(rig.requests(), ["GET /v2/droplets/42 → 404"]);
}

#[tokio::test]
async fn do_04_an_error_of_the_cloud_is_not_absence() {
    let rig = Rig::with([web()]).await;
    for status in [429, 500, 502, 503] {
        rig.cloud.inject(Fault::status("GET", "/v2/droplets/*", status).header("ratelimit-reset", "").times(1));
        let answer = rig.get(node("web-1", "digitalocean://42")).await;
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{status}: {answer:?}");
    }
}

#[tokio::test]
async fn do_05_a_droplet_that_no_list_shows_may_exist() {
    let rig = Rig::with([web().unlisted()]).await;
    assert_eq!(rig.list_all(200).await, []);
    let found = rig.get(node("web-1", "digitalocean://42")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
}

#[tokio::test]
async fn do_06_a_foreign_provider_id_is_an_error_without_a_request() {
    let rig = Rig::with([web()]).await;
    let foreign = "provider id \"aws:///x/i-1\" does not begin with digitalocean://";
    assert_eq!(rig.get(node("web-1", "aws:///x/i-1")).await, Err(Error::Invalid(foreign.to_owned())));
    let odd = "provider id \"digitalocean://web-1\" is not digitalocean:// and the droplet's id, a number";
    assert_eq!(rig.get(node("web-1", "digitalocean://web-1")).await, Err(Error::Invalid(odd.to_owned())));
    assert!(rig.requests().is_empty());
}

#[tokio::test]
async fn do_07_a_node_without_provider_id_is_found_by_name() {
    let rig = Rig::with([web().size("s-4vcpu-8gb").region("nyc3"), Droplet::new(43, "web-10")]).await;
    let found = rig.get(joining("web-1")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
    assert_eq!(found.machine_type.as_deref(), Some("s-4vcpu-8gb"));
    assert_eq!((found.region.as_deref(), found.zone), (Some("nyc3"), None));
    assert_eq!(rig.requests(), ["GET /v2/droplets?name=web-1&page=1&per_page=200 → 200"]);
}

#[tokio::test]
async fn do_07_two_droplets_of_one_name_are_an_error_that_names_both() {
    let rig = Rig::with([web(), Droplet::new(43, "Web-1")]).await;
    let Err(Error::Invalid(text)) = rig.get(joining("web-1")).await else { panic!("one of the two was taken") };
    assert!(text.starts_with("droplets 42 and 43 are called web-1"), "{text}");
}

#[tokio::test]
async fn do_07_with_a_cluster_only_its_droplets_have_names() {
    let settings = vec![("clusterId".to_owned(), "c-1".to_owned())];
    let droplets = [web().tag("k8s:c-1"), Droplet::new(43, "web-1").tag("k8s:c-2"), Droplet::new(44, "web-2")];
    let rig = Rig::start(Setup { settings, ..Setup::default() }, droplets).await;
    let found = rig.get(joining("web-1")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
    assert_eq!(rig.get(joining("web-2")).await, Ok(None));
}

#[tokio::test]
async fn do_07_a_machine_with_gpus_is_found_by_name() {
    let rig = Rig::with([web().gpu()]).await;
    let found = rig.get(joining("web-1")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
}

#[tokio::test]
async fn do_08_a_node_named_by_its_address_is_found_in_the_list() {
    let rig = Rig::with([web().private_v4([Ipv4Addr::new(10, 1, 2, 3)]), Droplet::new(43, "web-2")]).await;
    // The cloud's filter knows names only.
    assert_eq!(rig.get(joining("10.1.2.3")).await, Ok(None));
    let listed = rig.list_all(200).await;
    let matching: Vec<_> = listed.iter().filter(|it| it.addresses.iter().any(|it| it.value == "10.1.2.3")).collect();
    let [found] = matching[..] else { panic!("{listed:?}") };
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
}
