//! Machines that are made again under a name that another one had: a node gets the provider id of the one that lives.

use std::sync::Arc;

use cloud_provider::Instance;
use tests::control_plane::{Cluster, cluster};
use tests::{kubelet, wait};

use crate::cloud::{Cloud, machine};
use crate::controller::{Controller, OPTIONS, create, initialised};

/// The machine behind node `n20`, as it was made first and then again.
fn made(times: usize) -> Instance {
    Instance { provider_id: Some(format!("fake://20-{times}")), ..machine(20) }
}

/// Checks that node `n20` has got the provider id of the machine that was made again.
async fn check_is_the_new_one(cluster: &Cluster) {
    let node = initialised(cluster, "n20").await;
    assert_eq!(node.spec.and_then(|it| it.provider_id).as_deref(), Some("fake://20-2"));
}

#[tokio::test]
async fn a_joining_node_is_served_from_no_list_before_it_came() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=8).map(machine).chain([made(1)]));
    for nth in 1..=8 {
        create(&cluster, &kubelet::node(&format!("n{nth}"))).await;
    }
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    for nth in 1..=8 {
        initialised(&cluster, &format!("n{nth}")).await;
    }
    assert_eq!(cloud.calls(), ["list"]);
    cloud.has([made(2)]);
    create(&cluster, &kubelet::node("n20")).await;
    check_is_the_new_one(&cluster).await;
}

#[tokio::test]
async fn nodes_that_come_during_a_list_share_the_next() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=8).map(machine).chain([made(1)]));
    cloud.hold(true);
    for nth in 1..=8 {
        create(&cluster, &kubelet::node(&format!("n{nth}"))).await;
    }
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    wait::until("a list is asked for", async || cloud.calls().contains(&"list".to_owned()).then_some(())).await;
    cloud.has((21..=30).map(machine).chain([made(2)]));
    for nth in 20..=30 {
        create(&cluster, &kubelet::node(&format!("n{nth}"))).await;
    }
    // The last of them was seen before the list ends: its event comes after all of them.
    cloud.hold(false);
    check_is_the_new_one(&cluster).await;
    for nth in 21..=30 {
        initialised(&cluster, &format!("n{nth}")).await;
    }
    let lists = cloud.calls().iter().filter(|it| *it == "list").count();
    assert!((2..=3).contains(&lists), "{:?}", cloud.calls());
}
