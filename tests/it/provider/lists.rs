//! Reading all droplets: DO case 12.

use std::collections::BTreeSet;

use cloud_provider::Error;
use tests::clouds::digitalocean::{Droplet, Fault};

use crate::setup::{Rig, Setup};

/// So many droplets.
fn droplets(count: u64) -> impl Iterator<Item = Droplet> {
    (1..=count).map(|id| Droplet::new(id, &format!("web-{id}")))
}

#[tokio::test]
async fn do_12_listing_450_droplets_takes_four_requests() {
    let rig = Rig::with(droplets(450)).await;
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
    let rig = Rig::with(droplets(2).chain([Droplet::new(7, "gpu-1").gpu()])).await;
    let names: Vec<_> = rig.list_all(200).await.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["web-1", "web-2", "gpu-1"]);
}

#[tokio::test]
async fn do_12_the_list_of_a_cluster_reads_its_droplets_alone() {
    let settings = vec![("clusterId".to_owned(), "c-1".to_owned())];
    let ours = droplets(450).filter(|it| it.id <= 250).map(|it| it.tag("k8s:c-1"));
    let rig = Rig::start(Setup { settings, ..Setup::default() }, droplets(450).chain(ours)).await;
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
async fn do_12_smaller_pages_find_the_same_machines() {
    let rig = Rig::with(droplets(5)).await;
    let large = rig.list_all(200).await;
    assert_eq!(rig.list_all(2).await, large);
    assert_eq!(rig.requests().len(), 2 + 4);
}

#[tokio::test]
async fn do_12_a_page_size_does_not_change_half_way() {
    let rig = Rig::with(droplets(5)).await;
    let first = rig.instances.list(None, 4).await.answer.unwrap();
    let Err(Error::Invalid(text)) = rig.instances.list(first.next, 2).await.answer else { panic!("pages shifted") };
    assert_eq!(text, "cursor \"droplets:2:4\" is not one of a list with 2 droplets a page");
}

#[tokio::test]
async fn do_12_a_page_that_fails_ends_the_list() {
    let rig = Rig::with(droplets(3)).await;
    rig.cloud.inject(Fault::status("GET", "/v2/droplets", 502).query("page", "2"));
    let first = rig.instances.list(None, 2).await.answer.unwrap();
    assert!(matches!(rig.instances.list(first.next, 2).await.answer, Err(Error::Unavailable(_))));
}
