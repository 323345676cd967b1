//! Finding the machine behind one node: DO cases 1 to 8, and what of them Hetzner has.

use std::net::Ipv4Addr;

use cloud_provider::{Error, Instance, State};
use tests::clouds::digitalocean::{Droplet, Options, Status};
use tests::vendor::{Behaviour, Differences, DigitalOcean, Hetzner, ProviderRig, Vendor};

use crate::setup::{joining, node, start, with};

fn web() -> Droplet {
    Droplet::new(42, "web-1")
}

/// The instance that is found for the node of a droplet.
async fn found(droplet: Droplet) -> Instance {
    let rig = with([droplet]).await;
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
async fn do_05_a_droplet_that_no_list_shows_may_exist() {
    a_machine_that_no_list_shows_may_exist::<DigitalOcean>().await;
}

#[tokio::test]
async fn hcloud_04_a_server_that_no_list_shows_may_exist() {
    a_machine_that_no_list_shows_may_exist::<Hetzner>().await;
}

async fn a_machine_that_no_list_shows_may_exist<V: Vendor>() {
    let rig = two::<V>().await;
    V::hide_machine(rig.cloud.account(), 1);
    assert_eq!(rig.list_all(50).await.len(), 1);
    let found = rig.get(machine::<V>(1)).await.unwrap().expect("there is a machine");
    assert_eq!(found.provider_id, machine::<V>(1).provider_id);
}

#[tokio::test]
async fn do_06_a_foreign_provider_id_is_an_error_without_a_request() {
    a_foreign_provider_id_is_an_error::<DigitalOcean>([
        "provider id \"aws:///x/i-1\" does not begin with digitalocean://",
        "provider id \"digitalocean://web-1\" is not digitalocean:// and the droplet's id, a number",
    ])
    .await;
}

#[tokio::test]
async fn hcloud_04_a_foreign_provider_id_is_an_error_unasked() {
    a_foreign_provider_id_is_an_error::<Hetzner>(["aws:///x/i-1", "hcloud://web-1"]).await;
}

/// `whys` are parts of what is said about one of another cloud, and one of this cloud that is no number.
async fn a_foreign_provider_id_is_an_error<V: Vendor>(whys: [&str; 2]) {
    let rig = two::<V>().await;
    for (id, why) in ["aws:///x/i-1".to_owned(), format!("{}web-1", V::PROVIDER_ID)].iter().zip(whys) {
        let Err(Error::Invalid(text)) = rig.get(node("web-1", id)).await else { panic!("{id} was taken") };
        assert!(text.contains(why), "{text}");
    }
    assert!(rig.requests().is_empty());
}

/// A cloud with the machines `web-1` and `web-2`.
async fn two<V: Vendor>() -> ProviderRig<V> {
    ProviderRig::new(Behaviour::default(), &[]).await
}

/// The node of a machine.
fn machine<V: Vendor>(id: u64) -> cloud_provider::Node {
    node(&format!("web-{id}"), &format!("{}{id}", V::PROVIDER_ID))
}

#[tokio::test]
async fn do_07_a_node_without_provider_id_is_found_by_name() {
    let rig = with([web().size("s-4vcpu-8gb").region("nyc3"), Droplet::new(43, "web-10")]).await;
    let found = rig.get(joining("web-1")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
    assert_eq!(found.machine_type.as_deref(), Some("s-4vcpu-8gb"));
    assert_eq!((found.region.as_deref(), found.zone), (Some("nyc3"), None));
    assert_eq!(rig.requests(), ["GET /v2/droplets?name=web-1&page=1&per_page=200 → 200"]);
}

#[tokio::test]
async fn do_07_two_droplets_of_one_name_are_an_error_that_names_both() {
    let rig = with([web(), Droplet::new(43, "Web-1")]).await;
    let Err(Error::Invalid(text)) = rig.get(joining("web-1")).await else { panic!("one of the two was taken") };
    assert!(text.starts_with("droplets 42 and 43 are called web-1"), "{text}");
}

#[tokio::test]
async fn do_07_with_a_cluster_only_its_droplets_have_names() {
    let droplets = [web().tag("k8s:c-1"), Droplet::new(43, "web-1").tag("k8s:c-2"), Droplet::new(44, "web-2")];
    let differences = Differences { settings: &[("clusterId", "c-1")], ..Differences::default() };
    let rig = start(Options::default(), differences, droplets).await;
    let found = rig.get(joining("web-1")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
    assert_eq!(rig.get(joining("web-2")).await, Ok(None));
}

#[tokio::test]
async fn do_07_a_machine_with_gpus_is_found_by_name() {
    let rig = with([web().gpu()]).await;
    let found = rig.get(joining("web-1")).await.unwrap().expect("there is a droplet");
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
}

#[tokio::test]
async fn do_08_a_node_named_by_its_address_is_found_in_the_list() {
    let rig = with([web().private_v4([Ipv4Addr::new(10, 1, 2, 3)]), Droplet::new(43, "web-2")]).await;
    // The cloud's filter knows names only.
    assert_eq!(rig.get(joining("10.1.2.3")).await, Ok(None));
    let listed = rig.list_all(200).await;
    let matching: Vec<_> = listed.iter().filter(|it| it.addresses.iter().any(|it| it.value == "10.1.2.3")).collect();
    let [found] = matching[..] else { panic!("{listed:?}") };
    assert_eq!(found.provider_id.as_deref(), Some("digitalocean://42"));
}
