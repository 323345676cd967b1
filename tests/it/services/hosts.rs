//! The nodes that a load balancer sends traffic to, and what their changes cost.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};
use tests::wait;

use crate::cloud::Cloud;
use crate::controller::{
    Controller, addressed, called, create, join, join_all, node, nodes, one, patch_node, service, settled, told,
    workers,
};

const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";
/// A label that the provider is shown.
const SHOWN: &str = "example.com/exclude-node";
/// A label that it is not shown.
const OTHER: &str = "example.com/other";
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

fn taints(taints: Value) -> Value {
    json!({ "spec": { "taints": taints } })
}

#[tokio::test]
async fn case_156_and_161_a_joining_node_costs_one_call_each() {
    let cluster = cluster().await;
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
async fn case_158_165_and_173_leaving_backends_go_at_once() {
    let cluster = cluster().await;
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
async fn a_label_that_the_provider_is_shown_is_followed() {
    let cluster = cluster().await;
    let cloud = Cloud::shown(SHOWN);
    join_all(&cluster, 2).await;
    let controller = Controller::start(&cluster, &cloud, one());
    standing(&cluster, &["s1"]).await;
    let is_worked_on = || controller.of_node_queue("workqueue_depth") == 0.0;
    wait::until("a first pass", async || is_worked_on().then_some(())).await;
    let passes = || controller.of_node_queue("workqueue_adds_total");
    let label = |key: &str, value: Value| json!({ "metadata": { "labels": { key: value } } });
    let knows_other = || cloud.calls().last().is_some_and(|it| is_labelled(&it.desired.nodes[0], OTHER));

    let before = passes();
    patch_node(&cluster, "n1", label(OTHER, json!("a"))).await;
    // Another Service is asked for with the nodes as they are by then.
    wait::until("the label is known", async || {
        settled(&cluster).await;
        knows_other().then_some(())
    })
    .await;
    assert_eq!(passes(), before, "it is nothing to load balancers");
    assert_eq!(cloud.about("s1").len(), 1);

    for (nth, value) in [(2, json!("")), (3, json!(null))] {
        let is_set = value.is_string();
        patch_node(&cluster, "n2", label(SHOWN, value)).await;
        assert_eq!(hosts(&cloud, "s1", nth).await, ["n1", "n2"], "the provider decides by it");
        assert_eq!(is_labelled(&cloud.about("s1")[nth - 1].desired.nodes[1], SHOWN), is_set);
        told(&cluster, "s1", "UpdatedLoadBalancer", nth - 1).await;
    }
    assert_eq!(cloud.about("s1").len(), 3);
}

fn is_labelled(node: &cloud_provider::Node, key: &str) -> bool {
    node.labels.iter().any(|it| it.0 == key)
}
