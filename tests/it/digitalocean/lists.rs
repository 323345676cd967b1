//! Reading all machines: case 12 of each cloud.

use std::collections::BTreeSet;

use cloud_provider::Error;
use tests::clouds::digitalocean::{Droplet, Options};
use tests::vendor::{Behaviour, Differences, DigitalOcean, Hetzner, ProviderRig, Vendor};

use crate::setup::{start, with};

/// So many droplets.
fn droplets(count: u64) -> impl Iterator<Item = Droplet> {
    (1..=count).map(|id| Droplet::new(id, &format!("web-{id}")))
}

#[tokio::test]
async fn do_12_listing_450_droplets_takes_four_requests() {
    let rig = with(droplets(450)).await;
    let names: BTreeSet<_> = rig.list_all(200).await.into_iter().map(|it| it.name).collect();
    assert_eq!(names.len(), 450);
    assert_eq!(
        rig.requests(),
        [
            "GET /v2/droplets?page=1&per_page=200 → 200",
            "GET /v2/droplets?page=2&per_page=200 → 200",
            "GET /v2/droplets?page=3&per_page=200 → 200",
            "GET /v2/droplets?type=gpus&page=1&per_page=200 → 200",
        ]
    );
}

#[tokio::test]
async fn do_12_the_list_has_machines_with_gpus() {
    let rig = with(droplets(2).chain([Droplet::new(7, "gpu-1").gpu()])).await;
    let names: Vec<_> = rig.list_all(200).await.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["web-1", "web-2", "gpu-1"]);
}

#[tokio::test]
async fn do_12_the_list_of_a_cluster_reads_its_droplets_alone() {
    let ours = droplets(450).filter(|it| it.id <= 250).map(|it| it.tag("k8s:c-1"));
    let differences = Differences { settings: &[("clusterId", "c-1")], ..Differences::default() };
    let rig = start(Options::default(), differences, droplets(450).chain(ours)).await;
    assert_eq!(rig.list_all(200).await.len(), 250);
    assert_eq!(
        rig.requests(),
        [
            "GET /v2/droplets?tag_name=k8s:c-1&page=1&per_page=200 → 200",
            "GET /v2/droplets?tag_name=k8s:c-1&page=2&per_page=200 → 200",
        ]
    );
}

#[tokio::test]
async fn do_12_a_page_size_does_not_change_half_way() {
    a_page_size_does_not_change_half_way::<DigitalOcean>("droplets").await;
}

#[tokio::test]
async fn hcloud_12_a_page_size_does_not_change_half_way() {
    a_page_size_does_not_change_half_way::<Hetzner>("servers").await;
}

async fn a_page_size_does_not_change_half_way<V: Vendor>(machines: &str) {
    let rig = five::<V>().await;
    let first = rig.instances.list(None, 4).await.answer.unwrap();
    let Err(Error::Invalid(text)) = rig.instances.list(first.next, 2).await.answer else { panic!("pages shifted") };
    assert_eq!(text, format!("cursor \"{machines}:2:4\" is not one of a list with 2 {machines} a page"));
}

/// A cloud with five machines.
async fn five<V: Vendor>() -> ProviderRig<V> {
    ProviderRig::new(Behaviour::default(), &[]).await.with_machines(5)
}
