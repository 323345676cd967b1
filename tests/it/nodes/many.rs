//! Many nodes: one list answers for all of them.

use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use tests::control_plane::{Cluster, cluster};
use tests::{kubelet, wait};

use crate::cloud::{Cloud, List, machine};
use crate::controller::{Controller, OPTIONS, create, nodes, standing};

/// Creates nodes, 32 at a time.
async fn create_all(cluster: &Cluster, count: usize, node: impl Fn(usize) -> Node) {
    let node = &node;
    stream::iter(1..=count).for_each_concurrent(32, |nth| async move { drop(create(cluster, &node(nth)).await) }).await;
}

#[tokio::test]
async fn a_hundred_joining_nodes_cost_three_requests_each_and_a_list() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=100).map(machine));
    create_all(&cluster, 100, |nth| kubelet::node(&format!("n{nth}"))).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    let all = nodes(&cluster);
    wait::until("no node waits", async || {
        let nodes = all.list(&ListParams::default()).await.ok()?;
        nodes.iter().all(|it| !kubelet::is_uninitialized(it) && !kubelet::addresses(it).is_empty()).then_some(())
    })
    .await;
    assert_eq!(cloud.calls(), ["list"]);
    wait::until("all events", async || cluster.audit().events().ok().filter(|it| it.len() == 100)).await;
    cluster.audit().settle(&cluster.admin).await.unwrap();
    assert_eq!(cluster.audit().requests().unwrap().len(), 200);
}

#[tokio::test]
async fn case_060_a_pass_over_a_thousand_nodes_is_two_pages() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=1000).map(machine));
    cloud.lists(List::Without(["n7", "n77", "n777"].map(str::to_owned).into()));
    create_all(&cluster, 1000, |nth| {
        let (name, address) = (format!("n{nth}"), format!("10.1.{}.{}", nth / 256, nth % 256));
        standing(&name, &[("InternalIP", &address), ("Hostname", &name)])
    })
    .await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    wait::until("a pass", async || (cloud.calls().len() >= 5).then_some(())).await;
    let mut calls = cloud.calls();
    calls.sort();
    assert_eq!(calls, ["get n7", "get n77", "get n777", "list", "page"]);
    cluster.audit().settle(&cluster.admin).await.unwrap();
    assert_eq!(cluster.audit().requests().unwrap().len(), 0, "nothing had changed");
}
