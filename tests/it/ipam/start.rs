//! The binary: what it starts with, and what it refuses.

use tests::control_plane::cluster;
use tests::guests;
use tests::operator::{Setup, says};
use tests::rig::nodes::create;

use crate::setup::{event, given, join, with};

/// Flags of node IPAM.
pub(crate) const FLAGS: [&str; 2] = ["--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16"];

#[tokio::test]
async fn case_201_without_its_flag_the_controller_does_not_run() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&FLAGS[1..]);
    let mut process = setup.start();
    process.says("node-ipam-controller is skipped: it needs --allocate-node-cidrs").await;
    assert!(!process.checks().await.contains(&"node-ipam-controller".to_owned()));
    process.stop().await;
}

#[tokio::test]
async fn case_201_with_its_flag_it_runs_beside_the_others() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&FLAGS);
    let mut process = setup.start();
    process.says("started node-ipam-controller").await;
    assert!(process.checks().await.contains(&"node-ipam-controller".to_owned()));
    join(&cluster, "n1").await;
    assert_eq!(given(&cluster, "n1").await, ["10.244.0.0/24"]);
    process.stop().await;
}

#[tokio::test]
async fn case_201_an_unknown_allocator_is_refused() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&FLAGS).flags(&["--cidr-allocator-type=Nope"]);
    says(&setup.refused().await, &["invalid CIDR allocator type: Nope"]);
}

#[tokio::test]
async fn case_210_a_wrong_cluster_cidr_ends_the_process() {
    let cluster = cluster().await;
    for name in ["old-1", "old-2"] {
        create(&cluster, &with(name, &["10.9.0.0/24"])).await;
    }
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&FLAGS);
    let mut process = setup.start();
    let line = process.says("node-ipam-controller cannot work").await;
    says(
        line["message"].as_str().unwrap(),
        &["of 2 nodes", "2 have pod networks outside", "node old-1 has 10.9.0.0/24"],
    );
    process.fails().await;
}

#[tokio::test]
async fn adv_153_one_foreign_network_does_not_end_the_process() {
    let cluster = cluster().await;
    create(&cluster, &with("old", &["10.9.0.0/24"])).await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&FLAGS);
    let process = setup.started().await;
    event(&cluster, "old", "ForeignPodCIDR").await;
    join(&cluster, "n1").await;
    assert_eq!(given(&cluster, "n1").await, ["10.244.0.0/24"]);
    process.stop().await;
}
