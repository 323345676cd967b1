//! Load balancers that are told of other nodes: how often, when, and what happens when it fails.

use std::sync::Arc;

use cloud_provider::Error;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::{kubelet, wait};

use crate::cloud::{Answer, Cloud, unavailable};
use crate::controller::{
    Controller, RETRY, addressed, called, create, delete, gone, join, node, nodes, one, patch_node, resize, service,
    settled, told, workers,
};
use crate::hosts::{hosts, standing};

#[tokio::test]
async fn case_164_an_update_that_fails_is_told_and_tried_again() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    join(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;
    cloud.ensures_next("s1", [unavailable()]);
    join(&cluster, &node(2)).await;
    // As upstream, the second try is one for the whole Service.
    let events = told(&cluster, "s1", "EnsuredLoadBalancer", 2).await;
    let failed = "Warning UpdateLoadBalancerFailed: Error updating load balancer with new hosts [n1 n2] [node names \
                  limited, total number of nodes: 2], error: cloud is down";
    assert_eq!(events[events.len() - 2..], [failed, "Normal EnsuredLoadBalancer: Ensured load balancer"]);
    assert_eq!(hosts(&cloud, "s1", 3).await, ["n1", "n2"]);
    assert_eq!(cloud.about("s1").len(), 3);
}

#[tokio::test]
async fn case_168_a_slow_update_delays_no_other_service() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    join(&cluster, &node(1)).await;
    let controller = Controller::start(&cluster, &cloud, workers(2));
    standing(&cluster, &["s1"]).await;
    cloud.hold("s1");
    join(&cluster, &node(2)).await;
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n2"]);

    join(&cluster, &node(3)).await;
    controller.knows("n3").await;
    standing(&cluster, &["s2"]).await;
    assert_eq!(hosts(&cloud, "s2", 1).await, ["n1", "n2", "n3"]);
    cloud.release("s1");
    assert_eq!(hosts(&cloud, "s1", 3).await, ["n1", "n2", "n3"]);
    told(&cluster, "s1", "UpdatedLoadBalancer", 2).await;
    assert_eq!((cloud.about("s1").len(), cloud.about("s2").len()), (3, 1));
}

#[tokio::test]
async fn case_169_updates_are_counted_and_measured() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1", "s2"]).await;
    let count = || controller.counter("service_controller_loadbalancer_sync_total");
    assert_eq!(count(), 0.0, "upstream counts updates of hosts alone");
    cloud.ensures_next("s1", [unavailable()]);
    join(&cluster, &node(1)).await;
    called(&cloud, "s1", 3).await;
    called(&cloud, "s2", 2).await;
    settled(&cluster).await;
    let measured = controller.samples("service_controller_update_loadbalancer_host_latency_seconds");
    assert_eq!((count(), measured), (2.0, 2), "the second try is one for the whole Service");
    assert_eq!(controller.counter("service_controller_nodesync_error_total"), 1.0);
    assert_eq!(controller.samples("service_controller_nodesync_latency_seconds"), 1);
}

#[tokio::test]
async fn case_172_a_joining_node_is_added_once_it_is_initialised() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    join(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;
    join(&cluster, &kubelet::node("n2")).await;
    kubelet::post_ready(&cluster.admin, "n2", true).await.unwrap();
    // Our node controller writes both, the addresses second.
    patch_node(&cluster, "n2", json!({ "spec": { "providerID": "fake://2", "taints": null } })).await;
    let address = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.1.0.2" }] } });
    nodes(&cluster).patch_status("n2", &PatchParams::default(), &Patch::Merge(address)).await.unwrap();
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n2"]);
    // Where the address comes late, it is one more call.
    let calls = wait::until("n2 with its address", async || {
        let calls = cloud.about("s1");
        let address = calls.last()?.desired.nodes.get(1)?.addresses.first()?;
        (address.value == "10.1.0.2").then_some(calls.len())
    })
    .await;
    assert!(calls <= 3, "{calls} calls");
    join(&cluster, &node(3)).await;
    assert_eq!(hosts(&cloud, "s1", calls + 1).await, ["n1", "n2", "n3"]);
    assert_eq!(cloud.about("s1").len(), calls + 1);
}

/// A node joins, and the pass for it is made, while a call about `s1` is in flight.
async fn joined_during_a_call(cluster: &Cluster, cloud: &Arc<Cloud>) -> Controller {
    join(cluster, &node(1)).await;
    let controller = Controller::start(cluster, cloud, workers(4));
    cloud.hold("s1");
    for name in ["s1", "s2"] {
        create(cluster, &service(name)).await;
        called(cloud, name, 1).await;
    }
    join(cluster, &node(2)).await;
    // The other one shows that the pass was made.
    assert_eq!(hosts(cloud, "s2", 2).await, ["n1", "n2"]);
    controller
}

#[tokio::test]
async fn case_174_an_update_waits_for_the_call_before_it() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = joined_during_a_call(&cluster, &cloud).await;
    resize(&cluster, "s1", "2").await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1, "one call at a time");
    cloud.release("s1");
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n2"]);
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2, "one call for both changes");
}

#[tokio::test]
async fn a_node_that_joins_during_a_call_is_not_forgotten() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = joined_during_a_call(&cluster, &cloud).await;
    cloud.release("s1");
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n2"]);
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2);
}

#[tokio::test]
async fn case_176_updates_that_fail_back_off_for_each_service() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1", "s2"]).await;
    cloud.ensures("s1", unavailable());
    join(&cluster, &node(1)).await;
    called(&cloud, "s1", 6).await;
    for (nth, pair) in cloud.about("s1")[1..6].windows(2).enumerate() {
        let pause = pair[1].began - pair[0].began;
        assert!(pause >= RETRY * 2_u32.pow(nth as u32), "{nth}: {pause:?}");
    }
    assert_eq!(cloud.about("s2").len(), 2);
}

#[tokio::test]
async fn a_service_that_is_gone_is_not_updated() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1", "s2"]).await;
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    join(&cluster, &node(1)).await;
    assert_eq!(hosts(&cloud, "s2", 2).await, ["n1"]);
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2);
}

#[tokio::test]
async fn a_service_that_lacked_nodes_is_tried_when_one_joins() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let invalid = Answer::Error(Error::Invalid("no usable nodes".to_owned()));
    cloud.ensures_next("s1", [invalid.clone(), invalid]);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    join(&cluster, &node(1)).await;
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1"]);
    join(&cluster, &node(2)).await;
    assert_eq!(hosts(&cloud, "s1", 3).await, ["n1", "n2"]);
    addressed(&cluster, "s1", "192.0.2.1").await;
    let events = told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    assert_eq!(events.iter().filter(|it| it.contains(" SyncLoadBalancerFailed: ")).count(), 1, "it is told once");
}
