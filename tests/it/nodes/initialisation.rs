//! Cases 1 to 38 of initialisation that need a cluster.

use std::sync::Arc;

use cloud_provider::{Address, AddressKind, Instance};
use controllers::node::Options;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt;
use kube::api::DeleteParams;
use kube::runtime::{WatchStreamExt, watcher};
use tests::control_plane::cluster;
use tests::{kubelet, wait};
use tokio::task::JoinSet;

use crate::cloud::{Answer, Cloud, external, internal, machine};
use crate::controller::{
    Controller, NODE_IP, OPTIONS, addressed, annotate, create, events, initialised, label, node_when, nodes, patch,
    set_addresses, settled, synced, waiting, written,
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
async fn case_004_both_taints_go_and_foreign_ones_stay() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1)]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    let taint = |key: &str, effect: &str| Taint { key: key.to_owned(), effect: effect.to_owned(), ..Taint::default() };
    let taints = vec![
        taint(kubelet::UNINITIALIZED, "NoSchedule"),
        taint("foo", "NoSchedule"),
        taint(kubelet::UNINITIALIZED, "NoExecute"),
        taint("bar", "PreferNoSchedule"),
    ];
    create(&cluster, &waiting("n1", |it| it.spec.get_or_insert_default().taints = Some(taints))).await;
    let node = initialised(&cluster, "n1").await;
    let left: Vec<_> = node.spec.unwrap().taints.unwrap().into_iter().map(|it| it.key).collect();
    assert_eq!(left, ["foo", "bar"]);
}

#[tokio::test]
async fn case_005_a_node_that_needs_nothing_gets_nothing() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    settled(&cluster, &cloud).await;
    create(&cluster, &waiting("n1", |it| it.spec = None)).await;
    kubelet::post_ready(&cluster.admin, "n1", true).await.unwrap();
    patch(&cluster, "n1", serde_json::json!({ "metadata": { "annotations": { "a": "b" } } })).await;
    cloud.has([machine(2)]);
    create(&cluster, &kubelet::node("n2")).await;
    synced(&cluster, "n2").await;
    assert_eq!(cloud.gets("n1"), 0);
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
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
async fn case_009_without_any_provider_id_the_taint_stays() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([Instance { provider_id: None, ..machine(1) }]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("it is tried again", async || (cloud.gets("n1") >= 3).then_some(())).await;
    assert!(kubelet::is_uninitialized(&nodes(&cluster).get("n1").await.unwrap()));
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
    assert_eq!(events(&cluster, "n1").await.len(), 0);
}

#[tokio::test]
async fn case_010_the_nodes_own_provider_id_stays() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.answers("n1", Answer::Machine(Instance { provider_id: None, ..machine(1) }));
    cloud.has([machine(2)]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    for (name, provider_id) in [("n1", "fake://own"), ("n2", "fake://2")] {
        let provider_id = Some(provider_id.to_owned());
        create(&cluster, &waiting(name, |it| it.spec.get_or_insert_default().provider_id = provider_id)).await;
    }
    let provider_id = |node: Node| node.spec.unwrap().provider_id;
    assert_eq!(provider_id(initialised(&cluster, "n1").await).as_deref(), Some("fake://own"));
    assert_eq!(provider_id(initialised(&cluster, "n2").await).as_deref(), Some("fake://2"));
}

#[tokio::test]
async fn case_020_and_021_labels_of_the_cloud_do_not_overrule() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let labels = [("my.label/x", "new"), ("my.label/y", "new"), ("k8s.io/z", "3"), ("app.k8snio/bar", "6")];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    cloud.has([Instance { labels, ..machine(1) }]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &waiting("n1", |it| label(it, "my.label/x", "old"))).await;
    let node = initialised(&cluster, "n1").await;
    let label = |key| node.labels().get(key).map(String::as_str);
    assert_eq!(label("my.label/x"), Some("old"));
    assert_eq!(label("my.label/y"), Some("new"));
    assert_eq!(label("app.k8snio/bar"), Some("6"));
    assert_eq!(label("k8s.io/z"), None);
}

#[tokio::test]
async fn case_022_and_025_the_node_ip_sorts_the_addresses() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let addresses = |nth: u8| vec![external("132.143.154.163"), internal(&format!("10.0.0.{nth}"))];
    cloud.has([1, 2].map(|nth| Instance { addresses: addresses(nth), ..machine(nth.into()) }));
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &waiting("n1", |it| annotate(it, NODE_IP, "10.0.0.1"))).await;
    create(&cluster, &kubelet::node("n2")).await;
    addressed(&cluster, "n1", &[("InternalIP", "10.0.0.1"), ("ExternalIP", "132.143.154.163")]).await;
    addressed(&cluster, "n2", &[("ExternalIP", "132.143.154.163"), ("InternalIP", "10.0.0.2")]).await;
}

#[tokio::test]
async fn case_024_a_wrong_node_ip_keeps_the_taint_until_it_is_right() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine(1), machine(2)]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create(&cluster, &waiting("n1", |it| annotate(it, NODE_IP, "10.0.0.1x"))).await;
    create(&cluster, &waiting("n2", |it| annotate(it, NODE_IP, ""))).await;
    wait::until("both are tried again", async || (cloud.gets("n1") >= 3 && cloud.gets("n2") >= 3).then_some(())).await;
    for name in ["n1", "n2"] {
        assert!(kubelet::is_uninitialized(&nodes(&cluster).get(name).await.unwrap()));
        assert_eq!(written(&cluster, name).await, [""; 0]);
    }
    patch(&cluster, "n1", serde_json::json!({ "metadata": { "annotations": { NODE_IP: "10.1.0.1" } } })).await;
    initialised(&cluster, "n1").await;
}

#[tokio::test]
async fn case_030_the_kubelets_host_name_stays() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([Instance { addresses: vec![internal("10.0.0.1"), external("192.0.2.1")], ..machine(1) }]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    let reported = [("InternalIP", "10.9.9.9"), ("Hostname", "kubelet-1")];
    create(&cluster, &waiting("n1", |it| set_addresses(it, &reported))).await;
    let expected = [("InternalIP", "10.0.0.1"), ("ExternalIP", "192.0.2.1"), ("Hostname", "kubelet-1")];
    addressed(&cluster, "n1", &expected).await;
}

#[tokio::test]
async fn case_032_without_addresses_in_the_cloud_the_nodes_own_stay() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([Instance { addresses: Vec::new(), ..machine(1) }]);
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    let reported = [("InternalIP", "10.9.9.9"), ("Hostname", "kubelet-1")];
    create(&cluster, &waiting("n1", |it| set_addresses(it, &reported))).await;
    synced(&cluster, "n1").await;
    assert_eq!(kubelet::addresses(&initialised(&cluster, "n1").await), reported);
    assert_eq!(written(&cluster, "n1").await, BOTH_WRITES[..1]);
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
async fn case_036_events_during_a_slow_call_make_one_more_run() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let refused = cloud_provider::Error::Denied("HTTP 403".to_owned());
    cloud.answers("n1", Answer::Error(refused));
    cloud.hold(true);
    let _controller = Controller::start(&cluster, &cloud, Options { syncs: 2, ..OPTIONS });
    create(&cluster, &kubelet::node("n1")).await;
    wait::until("the slow call", async || (cloud.gets("n1") == 1).then_some(())).await;
    for nth in 0..10 {
        patch(&cluster, "n1", serde_json::json!({ "metadata": { "annotations": { NODE_IP: nth.to_string() } } })).await;
    }
    // Asked about only after the watch has shown it, and with it the changes before.
    cloud.has([machine(999)]);
    create(&cluster, &kubelet::node("n999")).await;
    wait::until("the other node", async || (cloud.gets("n999") == 1).then_some(())).await;
    cloud.hold(false);
    synced(&cluster, "n999").await;
    wait::until("one more run", async || (cloud.gets("n1") == 2).then_some(())).await;
    // A second node after it: whatever was queued before has been worked on.
    cloud.has([machine(2)]);
    create(&cluster, &kubelet::node("n2")).await;
    synced(&cluster, "n2").await;
    assert_eq!(cloud.gets("n1"), 2);
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
    cluster.audit().settle(&cluster.admin).await.unwrap();
    let mut writes = cluster.audit().writes().unwrap();
    writes.retain(|it| it.object.name == "n1");
    let writes: Vec<_> = writes.iter().map(|it| (it.resource(), it.response.code)).collect();
    assert_eq!(writes, [("nodes".to_owned(), 200), ("nodes/status".to_owned(), 200)]);
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
