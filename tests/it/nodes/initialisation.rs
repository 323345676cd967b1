//! Initialisation, as far as an API server decides in it.

use std::sync::Arc;

use cloud_provider::{Address, AddressKind};
use controllers::node::Options;
use futures::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::api::DeleteParams;
use kube::runtime::{WatchStreamExt, watcher};
use tests::audit_log::Request;
use tests::control_plane::cluster;
use tests::{kubelet, wait};
use tokio::task::JoinSet;

use crate::cloud::{Cloud, machine};
use crate::controller::{
    Controller, OPTIONS, addressed, create, events, node_when, nodes, patch, settled, synced, taken, written,
};

const BOTH_WRITES: [&str; 2] = ["patch nodes 200", "patch nodes/status 200"];

#[tokio::test]
async fn case_001_a_node_is_initialised() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    let created = create(&cluster, &kubelet::node("n1")).await;

    let event = synced(&cluster, "n1").await;
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(event.message.as_deref(), Some("Node synced successfully"));
    assert_eq!(event.involved_object.uid, created.uid());
    assert!(event.involved_object.resource_version.is_some());
    assert_eq!(event.source.and_then(|it| it.component).as_deref(), Some("cloud-node-controller"));

    let node = nodes(&cluster).get("n1").await.unwrap();
    assert!(!kubelet::is_uninitialized(&node));
    assert_eq!(node.spec.as_ref().unwrap().provider_id.as_deref(), Some("fake://1"));
    assert_eq!(kubelet::addresses(&node), [("InternalIP", "10.1.0.1"), ("Hostname", "n1")]);
    for (key, value) in [
        ("beta.kubernetes.io/instance-type", "t1.micro"),
        ("node.kubernetes.io/instance-type", "t1.micro"),
        ("failure-domain.beta.kubernetes.io/zone", "z1"),
        ("topology.kubernetes.io/zone", "z1"),
        ("failure-domain.beta.kubernetes.io/region", "r1"),
        ("topology.kubernetes.io/region", "r1"),
    ] {
        assert_eq!(node.labels().get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(written(&cluster, "n1").await, BOTH_WRITES);
    assert_eq!(cluster.audit().events().unwrap().len(), 1);
    assert_eq!(cloud.calls(), ["get n1"]);
}

#[tokio::test]
async fn case_002_no_state_shows_a_node_without_taint_and_provider_id() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has((1..=5).map(machine));
    let watch = watcher(nodes(&cluster), watcher::Config::default()).applied_objects();
    let mut seen = JoinSet::new();
    seen.spawn(async move {
        let states = watch.try_take_while(|node| {
            let last = node.name_any() == "n5" && !kubelet::addresses(node).is_empty();
            std::future::ready(Ok(!last))
        });
        states.map(|it| it.expect("the watch goes on")).collect::<Vec<_>>().await
    });
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    for nth in 1..=5 {
        create(&cluster, &kubelet::node(&format!("n{nth}"))).await;
    }
    let states = tokio::time::timeout(wait::DEADLINE, seen.join_next()).await.unwrap().unwrap().unwrap();
    assert!(states.iter().any(kubelet::is_uninitialized));
    for node in states.iter().filter(|it| !kubelet::is_uninitialized(it)) {
        let spec = node.spec.as_ref().unwrap();
        assert!(spec.provider_id.is_some(), "{node:?}");
        assert!(node.labels().contains_key("topology.kubernetes.io/zone"), "{node:?}");
    }
    let addressed_first = |it: &&_| kubelet::is_uninitialized(it) && !kubelet::addresses(it).is_empty();
    assert_eq!(states.iter().find(addressed_first), None, "addresses come after the taint is gone");
}

#[tokio::test]
async fn case_006_a_node_that_is_gone_is_forgotten() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    cloud.has([machine(1)]);
    cloud.hold(true);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("the only worker is busy", async || (cloud.gets("n1") == 1).then_some(())).await;
    create(&cluster, &kubelet::node("n2")).await;
    nodes(&cluster).delete("n2", &DeleteParams::default()).await.unwrap();
    create(&cluster, &kubelet::node("n3")).await;
    let depth = || controller.gauge("workqueue_depth");
    wait::until("n2 and n3 are queued", async || (depth() == 2.0).then_some(())).await;
    cloud.hold(false);
    settled(&cluster, &cloud).await;
    assert_eq!(cloud.gets("n2"), 0);
    assert_eq!(written(&cluster, "n2").await, [""; 0]);
    assert_eq!(events(&cluster, "n2").await, []);
}

#[tokio::test]
async fn case_034_both_delays_are_measured() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    for name in ["cloud_provider_taint_removal_delay_seconds", "initial_node_sync_delay_seconds"] {
        let name = format!("node_controller_{name}");
        let (sum, count) =
            wait::until("a sample", async || Some(controller.histogram(&name)).filter(|(_, count)| *count > 0)).await;
        assert_eq!(count, 1, "{name}");
        assert!((0.0..60.0).contains(&sum), "{name}: {sum}");
    }
}

#[tokio::test]
async fn a_node_that_changes_during_a_slow_call_is_written_once() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    cloud.hold(true);
    let _controller = Controller::start(&cluster, &cloud, Options { syncs: 2, ..OPTIONS });
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("the slow call", async || (cloud.gets("n1") == 1).then_some(())).await;
    patch(&cluster, "n1", serde_json::json!({ "metadata": { "annotations": { "a": "b" } } })).await;
    // Asked about only after the watch has shown it, and with it the change before.
    create(&cluster, &kubelet::node("n2")).await;
    wait::until("the other node", async || (cloud.gets("n2") == 1).then_some(())).await;
    cloud.hold(false);
    synced(&cluster, "n1").await;
    let taken: Vec<_> = taken(&cluster, "n1").await.iter().map(Request::resource).collect();
    assert_eq!(taken, ["nodes", "nodes/status"]);
}

#[tokio::test]
async fn a_node_from_before_the_start_is_initialised_once() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1), machine(2)]);
    for name in ["n1", "n2"] {
        create(&cluster, &kubelet::node(name)).await;
    }
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    synced(&cluster, "n1").await;
    synced(&cluster, "n2").await;
    let mut calls = cloud.calls();
    calls.sort();
    assert_eq!(calls, ["get n1", "get n2"]);
}

#[tokio::test]
async fn a_kubelet_that_writes_at_the_same_time_loses_nothing() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let name = Address { kind: AddressKind::InternalDns, value: "n1.internal".to_owned() };
    let mut instance = machine(1);
    instance.addresses.push(name);
    cloud.has([instance]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    kubelet::join(&cluster.admin, "n1").await.unwrap();
    let expected = [("InternalIP", "10.1.0.1"), ("Hostname", "n1"), ("InternalDNS", "n1.internal")];
    let node = addressed(&cluster, "n1", &expected).await;
    let conditions = node.status.unwrap().conditions.unwrap();
    assert!(conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True"));
    node_when(&cluster, "n1", |it| !kubelet::is_uninitialized(it)).await;
}
