//! Nodes whose machine is gone.

use std::sync::Arc;
use std::time::Duration;

use controllers::KubeNode;
use http::Method;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults, Reply};
use tests::{kubelet, wait};
use tokio::sync::watch;

use crate::cloud::{Answer, Cloud, List, machine, names, stopped, unavailable};
use crate::controller::{
    Controller, OPTIONS, SHUTDOWN, asked, create, create_living, deletions, event, events, gone, left, node, node_when,
    nodes, passed, patch, post_ready, set_ready, taints, taken, writes, written,
};

const NODE: &str = r"/api/v1/nodes/n1(\?|$)";

#[tokio::test]
async fn case_076_a_node_without_a_machine_is_deleted() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    let created = create(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    gone(&cluster, "n1").await;
    let event = event(&cluster, "n1", "DeletingNode").await;
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(event.message.as_deref(), Some("Deleting node n1 because it does not exist in the cloud provider"));
    // Two passes: in each at most one list, and one question about the node that is about to be deleted.
    assert_eq!(cloud.calls(), ["get n1", "list", "get n1"]);
    let [delete] = writes(&cluster, "n1").await.try_into().expect("one write");
    assert_eq!((delete.verb.as_str(), delete.response.code), ("delete", 200));
    assert_eq!(delete.body["preconditions"]["uid"], json!(created.uid()));
    assert_eq!(delete.body["preconditions"]["resourceVersion"], json!(created.resource_version()));
    assert_eq!(left(&cluster).await, ["n9999"]);
}

#[tokio::test]
async fn case_076_a_deletion_that_fails_is_told_and_tried_again() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let faults = Faults::new();
    faults.set(Fault::status(Method::DELETE, NODE, 500, "InternalError", "injected failure").times(1));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    gone(&cluster, "n1").await;
    let failed = event(&cluster, "n1", "DeletingNodeFailed").await;
    assert_eq!(failed.type_.as_deref(), Some("Warning"));
    assert_eq!(failed.message.as_deref(), Some("Failed deleting node n1: injected failure"));
    wait::until("the deletion is announced twice", async || {
        events(&cluster, "n1").await.iter().any(|it| it.count == Some(2)).then_some(())
    })
    .await;
    assert_eq!(written(&cluster, "n1").await, ["delete nodes 200"]);
    assert_eq!(cloud.calls(), ["get n1", "list", "get n1", "list", "get n1"]);
}

#[tokio::test]
async fn case_078_a_ready_node_is_never_asked_about() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    let mut ready = [node(1), node(2)];
    ready.iter_mut().for_each(|it| set_ready(it, Some("True")));
    cloud.has([stopped(2)]);
    for node in &ready {
        create(&cluster, node).await;
    }
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    passed(&cluster).await;
    passed(&cluster).await;
    assert_eq!(cloud.calls(), [""; 0]);
    for name in ["n1", "n2"] {
        assert_eq!(written(&cluster, name).await, [""; 0]);
    }
}

#[tokio::test]
async fn case_086_a_machine_that_was_stopped_and_is_gone_is_gone() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    cloud.has([stopped(1)]);
    create(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    node_when(&cluster, "n1", |it| taints(it) == [(SHUTDOWN, "NoSchedule")]).await;
    cloud.loses("n1");
    gone(&cluster, "n1").await;
    let taken: Vec<_> = taken(&cluster, "n1").await.into_iter().map(|it| it.verb).collect();
    assert_eq!(taken, ["patch", "delete"]);
}

#[tokio::test]
async fn case_092_events_are_about_the_node_as_it_was() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    let node = create(&cluster, &node(1)).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    let event = event(&cluster, "n1", "DeletingNode").await;
    let about = &event.involved_object;
    assert_eq!((about.api_version.as_deref(), about.kind.as_deref()), (Some("v1"), Some("Node")));
    assert_eq!((about.name.as_deref(), &about.uid), (Some("n1"), &node.uid()));
    assert_eq!(about.resource_version, None);
    let source = event.source.as_ref().and_then(|it| it.component.as_deref());
    assert_eq!(source, Some("cloud-node-lifecycle-controller"));
}

#[tokio::test]
async fn case_094_a_node_that_was_never_initialised_goes_too() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &kubelet::node("n1")).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    gone(&cluster, "n1").await;
    // Without a provider id, only a list can show that there is no machine.
    assert_eq!(cloud.calls(), ["list", "get n1", "list", "get n1"]);
}

#[tokio::test]
async fn a_node_without_a_provider_id_is_found_by_its_name() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    cloud.has([machine(1)]);
    cloud.answers("n1", Answer::None);
    create(&cluster, &kubelet::node("n1")).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    asked(&cloud, "list", 4).await;
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
    assert_eq!(cloud.asked("get n1"), 0);
}

#[tokio::test]
async fn case_097_no_such_machine_is_an_answer_and_an_error_is_none() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    cloud.answers("n1", Answer::None);
    cloud.answers("n2", Answer::Error(unavailable()));
    for nth in [1, 2] {
        create(&cluster, &node(nth)).await;
    }
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    gone(&cluster, "n1").await;
    asked(&cloud, "get n2", 4).await;
    assert_eq!(written(&cluster, "n2").await, [""; 0]);
}

/// Waits until the controller's copy of n1 is as expected: one that is older would be deleted in vain once more.
async fn knows(controller: &Controller, what: &str, expected: impl Fn(&KubeNode) -> bool) {
    let is_expected = |it: &KubeNode| it.metadata.name.as_deref() == Some("n1") && expected(it);
    let known = async || controller.nodes.all().iter().any(|it| is_expected(it)).then_some(());
    wait::until(&format!("the controller knows {what}"), known).await;
}

/// Deletes n1, and creates another node with its name.
async fn replace(cluster: &tests::control_plane::Cluster) -> Option<String> {
    nodes(cluster).delete("n1", &DeleteParams::default()).await.expect("n1 is deleted");
    create(cluster, &node(1)).await.uid()
}

#[tokio::test]
async fn case_098_a_node_that_took_the_name_meanwhile_survives() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let faults = Faults::new();
    let (free, held) = watch::channel(false);
    faults.set(Fault::new(Method::DELETE, NODE, Reply::Held(held)).times(1));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    wait::until("a deletion", async || faults.answered().pop()).await;
    let replaced = replace(&cluster).await;
    cloud.has([machine(1)]);
    free.send_replace(true);

    let failed = event(&cluster, "n1", "DeletingNodeFailed").await;
    assert!(failed.message.as_ref().is_some_and(|it| it.contains("the UID in the precondition")), "{failed:?}");
    assert_eq!(nodes(&cluster).get("n1").await.expect("the new node is there").uid(), replaced);
    assert_eq!(written(&cluster, "n1").await, ["delete nodes 409"]);
}

#[tokio::test]
async fn case_098_a_new_node_of_the_same_name_is_not_deleted() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let controller = Controller::start(&cluster, &cloud, OPTIONS);
    asked(&cloud, "get n1", 1).await;
    cloud.hold(true);
    let asked_before = cloud.asked("get n1");
    asked(&cloud, "get n1", asked_before.max(2)).await;
    let replaced = replace(&cluster).await;
    cloud.has([machine(1)]);
    knows(&controller, "the new node", |it| it.metadata.uid == replaced).await;
    cloud.hold(false);
    passed(&cluster).await;
    asked(&cloud, "get n1", 3).await;
    assert_eq!(nodes(&cluster).get("n1").await.expect("the new node is there").uid(), replaced);
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
}

#[tokio::test]
async fn a_node_that_revives_before_it_is_deleted_lives() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    create(&cluster, &node(1)).await;
    let faults = Faults::new();
    let (free, held) = watch::channel(false);
    faults.set(Fault::new(Method::DELETE, NODE, Reply::Held(held)).times(1));
    let controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    wait::until("a deletion", async || faults.answered().pop()).await;
    post_ready(&cluster, "n1", "True").await;
    let is_ready = |node: &KubeNode| {
        let conditions = node.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
        conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True")
    };
    knows(&controller, "that n1 is ready", is_ready).await;
    free.send_replace(true);
    event(&cluster, "n1", "DeletingNodeFailed").await;
    passed(&cluster).await;
    assert_eq!(written(&cluster, "n1").await, ["delete nodes 409"]);
}

#[tokio::test]
async fn case_102_a_node_of_another_cloud_is_left_alone() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    let mut foreign = node(1);
    foreign.spec.get_or_insert_default().provider_id = Some("aws:///z/i-1".to_owned());
    create(&cluster, &foreign).await;
    create(&cluster, &node(2)).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    gone(&cluster, "n2").await;
    passed(&cluster).await;
    assert_eq!(cloud.asked("get n1"), 0);
    patch(&cluster, "n1", json!({ "metadata": { "annotations": { "aerostat.dev/delete-approved": "true" } } })).await;
    passed(&cluster).await;
    assert_eq!(cloud.asked("get n1"), 0);
    assert_eq!(written(&cluster, "n1").await, [""; 0]);
}

#[tokio::test]
async fn adv_72_a_machine_that_comes_and_goes_keeps_its_node() {
    let lists: [(&str, List); 2] = [
        ("missing from the list every second time", List::EverySecondWithout(names([1]))),
        ("always missing from the list", List::Without(names([1]))),
    ];
    for (what, list) in lists {
        let cluster = cluster().await;
        let cloud = Arc::new(Cloud::default());
        create_living(&cluster, &cloud).await;
        cloud.has([machine(1)]);
        cloud.lists(list);
        cloud.answers("n1", Answer::EverySecond);
        let created = create(&cluster, &node(1)).await;
        let options = controllers::node_lifecycle::Options { monitor_period: Duration::from_millis(10), ..OPTIONS };
        let controller = Controller::start(&cluster, &cloud, options);
        asked(&cloud, "get n1", 12).await;
        controller.stop().ended().await;
        assert_eq!(deletions(&cluster).await, 0, "{what}");
        let node = nodes(&cluster).get("n1").await.expect("the node is there");
        assert_eq!(node.uid(), created.uid(), "{what}");
    }
}

#[tokio::test]
async fn a_node_that_is_being_deleted_is_left_alone() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    create_living(&cluster, &cloud).await;
    let mut held = node(1);
    held.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    create(&cluster, &held).await;
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    node_when(&cluster, "n1", |it| it.metadata.deletion_timestamp.is_some()).await;
    passed(&cluster).await;
    let calls = cloud.calls().len();
    passed(&cluster).await;
    assert_eq!(cloud.calls().len(), calls);
    assert_eq!(written(&cluster, "n1").await, ["delete nodes 200"]);
}
