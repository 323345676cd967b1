//! The nodes that a load balancer sends traffic to, and what their changes cost.

use cloud_provider::AddressKind;
use futures::future;
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, any_cluster};
use tests::{kubelet, wait};

use crate::cloud::Cloud;
use crate::controller::{
    Controller, addressed, called, create, join, join_all, node, nodes, one, patch_node, service, told, workers,
};

const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";
pub(crate) const UPDATED: &str = "Normal UpdatedLoadBalancer: Updated load balancer with new hosts";

/// Creates Services of type LoadBalancer, and waits until they have their addresses.
pub(crate) async fn standing(cluster: &Cluster, names: &[&str]) {
    for name in names {
        create(cluster, &service(name)).await;
    }
    for name in names {
        addressed(cluster, name, "192.0.2.1").await;
    }
}

/// The nodes of the `nth` call about a Service, counted from 1, as soon as there is one.
pub(crate) async fn hosts(cloud: &Cloud, service: &str, nth: usize) -> Vec<String> {
    called(cloud, service, nth).await;
    cloud.about(service)[nth - 1].nodes().into_iter().map(str::to_owned).collect()
}

fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), effect: effect.to_owned(), ..Taint::default() }
}

fn with_taint(mut node: Node, key: &str, effect: &str) -> Node {
    node.spec.get_or_insert_default().taints = Some(vec![taint(key, effect)]);
    node
}

fn with_label(mut node: Node, key: &str, value: &str) -> Node {
    node.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    node
}

fn taints(taints: Value) -> Value {
    json!({ "spec": { "taints": taints } })
}

#[tokio::test]
async fn case_152_leaving_and_uninitialised_nodes_are_no_backends() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    let mut cordoned = node(3);
    cordoned.spec.as_mut().unwrap().unschedulable = Some(true);
    let mut no_provider_id = node(7);
    no_provider_id.spec = None;
    let mut deleted = node(8);
    deleted.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    let all = [
        node(1),
        node(2),
        cordoned,
        with_label(node(4), EXCLUDE, ""),
        with_taint(node(5), TO_BE_DELETED, "PreferNoSchedule"),
        with_taint(node(6), kubelet::UNINITIALIZED, "NoSchedule"),
        no_provider_id,
        deleted,
        with_label(node(9), EXCLUDE, "false"),
        with_label(node(10), "node-role.kubernetes.io/control-plane", ""),
        with_taint(node(11), "example.com/any", "NoExecute"),
        with_label(node(12), EXCLUDE, "true"),
    ];
    for node in &all {
        join(&cluster, node).await;
    }
    kubelet::post_ready(&cluster.admin, "n2", false).await.unwrap();
    nodes(&cluster).delete("n8", &DeleteParams::default()).await.unwrap();
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;
    assert_eq!(hosts(&cloud, "s1", 1).await, ["n1", "n10", "n11", "n2", "n3", "n9"]);
    let first = &cloud.about("s1")[0].desired.nodes[0];
    assert_eq!(first.provider_id.as_deref(), Some("fake://1"));
    assert_eq!((first.addresses[0].kind, first.addresses[0].value.as_str()), (AddressKind::InternalIp, "10.1.0.1"));
}

#[tokio::test]
async fn case_156_and_161_a_joining_node_costs_one_call_each() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    join_all(&cluster, 3).await;
    let _controller = Controller::start(&cluster, &cloud, workers(2));
    let mut plain = service("plain");
    plain.spec.as_mut().unwrap().type_ = Some("ClusterIP".to_owned());
    let mut classed = service("classed");
    classed.spec.as_mut().unwrap().load_balancer_class = Some("example.com/other".to_owned());
    create(&cluster, &plain).await;
    create(&cluster, &classed).await;
    let names = ["s1", "s2", "s3", "s4"];
    standing(&cluster, &names).await;

    join(&cluster, &node(4)).await;
    for name in names {
        assert_eq!(hosts(&cloud, name, 2).await, ["n1", "n2", "n3", "n4"]);
        assert_eq!(told(&cluster, name, "UpdatedLoadBalancer", 1).await[2..], [UPDATED]);
    }
    assert_eq!(cloud.calls().len(), 8);
    assert!(cloud.calls().iter().all(|it| it.in_flight <= 2));
}

#[tokio::test]
async fn case_156_many_nodes_that_join_at_once_cost_one_call() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;
    let all: Vec<_> = (1..=20).map(node).collect();
    future::join_all(all.iter().map(|it| join(&cluster, it))).await;
    assert_eq!(hosts(&cloud, "s1", 2).await.len(), 20);
    // The next change is another one.
    join(&cluster, &node(21)).await;
    assert_eq!(hosts(&cloud, "s1", 3).await.len(), 21);
    assert_eq!(cloud.about("s1").len(), 3);
}

#[tokio::test]
async fn case_153_154_157_and_170_same_backends_cost_nothing() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    join_all(&cluster, 2).await;
    join(&cluster, &with_label(node(3), EXCLUDE, "true")).await;
    let controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;
    // The nodes that were there at the beginning are dealt with.
    wait::until("a first pass", async || (controller.of_node_queue("workqueue_depth") == 0.0).then_some(())).await;
    let before = controller.of_node_queue("workqueue_adds_total");
    for ready in [false, true, false] {
        kubelet::post_ready(&cluster.admin, "n2", ready).await.unwrap();
    }
    let label = |key: &str, value: Value| json!({ "metadata": { "labels": { key: value } } });
    patch_node(&cluster, "n2", taints(json!([{ "key": "example.com/any", "effect": "NoExecute" }]))).await;
    patch_node(&cluster, "n2", taints(json!(null))).await;
    patch_node(&cluster, "n2", json!({ "spec": { "unschedulable": true } })).await;
    patch_node(&cluster, "n2", label("example.com/any", json!("label"))).await;
    patch_node(&cluster, "n2", label(EXCLUDE, json!("false"))).await;
    // One that is left out stays so, whatever else becomes of it.
    patch_node(&cluster, "n3", label(EXCLUDE, json!(""))).await;
    patch_node(&cluster, "n3", taints(json!([{ "key": TO_BE_DELETED, "effect": "NoSchedule" }]))).await;
    kubelet::post_ready(&cluster.admin, "n3", false).await.unwrap();
    join(&cluster, &with_label(node(4), EXCLUDE, "true")).await;
    join(&cluster, &with_label(node(6), EXCLUDE, "true")).await;
    controller.knows("n6").await;
    assert_eq!(controller.of_node_queue("workqueue_adds_total"), before);

    join(&cluster, &node(5)).await;
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n2", "n5"]);
    assert_eq!(cloud.about("s1").len(), 2);
    let events = told(&cluster, "s1", "UpdatedLoadBalancer", 1).await;
    assert_eq!(events.iter().filter(|it| *it == UPDATED).count(), 1);
}

#[tokio::test]
async fn case_158_165_and_173_leaving_backends_go_at_once() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    join(&cluster, &node(1)).await;
    join(&cluster, &node(2)).await;
    let mut held = node(3);
    held.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    join(&cluster, &held).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;

    patch_node(&cluster, "n2", taints(json!([{ "key": TO_BE_DELETED, "effect": "NoSchedule" }]))).await;
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n3"]);
    nodes(&cluster).delete("n3", &DeleteParams::default()).await.unwrap();
    assert_eq!(hosts(&cloud, "s1", 3).await, ["n1"]);
    patch_node(&cluster, "n1", json!({ "metadata": { "labels": { EXCLUDE: "true" } } })).await;
    assert!(hosts(&cloud, "s1", 4).await.is_empty());
    patch_node(&cluster, "n2", taints(json!(null))).await;
    assert_eq!(hosts(&cloud, "s1", 5).await, ["n2"]);

    let events = told(&cluster, "s1", "UpdatedLoadBalancer", 3).await;
    let unavailable = "Warning UnAvailableLoadBalancer: There are no available nodes for LoadBalancer";
    assert_eq!(events[2..], [UPDATED, UPDATED, unavailable, UPDATED]);
    // The machine is gone for good: it had been taken off before.
    nodes(&cluster)
        .patch("n3", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "finalizers": null } })))
        .await
        .unwrap();
    join(&cluster, &node(4)).await;
    assert_eq!(hosts(&cloud, "s1", 6).await, ["n2", "n4"]);
    assert_eq!(cloud.about("s1").len(), 6);
}

#[tokio::test]
async fn case_160_another_machine_behind_a_name_is_a_change() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    join_all(&cluster, 2).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1", "s2"]).await;
    nodes(&cluster).delete("n1", &DeleteParams::default()).await.unwrap();
    let mut other = node(1);
    other.spec.as_mut().unwrap().provider_id = Some("fake://101".to_owned());
    join(&cluster, &other).await;
    for name in ["s1", "s2"] {
        assert_eq!(hosts(&cloud, name, 2).await, ["n1", "n2"]);
        assert_eq!(cloud.about(name)[1].desired.nodes[0].provider_id.as_deref(), Some("fake://101"));
    }
    let address = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.9.9.9" }] } });
    nodes(&cluster).patch_status("n1", &PatchParams::default(), &Patch::Merge(address)).await.unwrap();
    for name in ["s1", "s2"] {
        called(&cloud, name, 3).await;
        assert_eq!(cloud.about(name)[2].desired.nodes[0].addresses[0].value, "10.9.9.9");
    }
    assert_eq!(cloud.calls().len(), 6);
}
