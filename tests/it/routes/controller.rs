//! A running controller, nodes for it, and what becomes of them.

use std::time::Duration;

use controllers::route::{Budget, Options};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Node, NodeCondition, ObjectReference};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tests::control_plane::Cluster;
use tests::wait;

pub(crate) use tests::rig::nodes::{create, events, node_when, nodes, patch};
pub(crate) use tests::rig::{Rig as Controller, writes};

use crate::cloud::Cloud;

/// Nothing asks for patience.
pub(crate) fn options() -> Options {
    Options {
        cluster_cidrs: vec![
            "10.244.0.0/16".parse().expect("it is a network"),
            "fd00:244::/56".parse().expect("it is a network"),
        ],
        warm_up: Duration::ZERO,
        budget: Budget { percent: 100, least: 1, window: Duration::from_secs(600) },
        lease: Some(lease()),
        ..Options::default()
    }
}

/// As an operator gets it.
pub(crate) fn careful() -> Options {
    let Options { warm_up, budget, .. } = Options::default();
    Options { warm_up, budget, ..options() }
}

fn lease() -> ObjectReference {
    ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: Some("kube-system".to_owned()),
        name: Some("cloud-controller-manager".to_owned()),
        ..ObjectReference::default()
    }
}

/// The pod network of node `n<nth>`.
pub(crate) fn network(nth: usize) -> String {
    format!("10.244.{nth}.0/24")
}

/// A node that is initialised and has these pod networks.
pub(crate) fn node_with(name: &str, networks: &[&str]) -> Node {
    serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": { "providerID": format!("fake://{name}"), "podCIDRs": networks, "podCIDR": networks.first() },
        "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }] },
    }))
    .expect("it is a node")
}

/// Node `n<nth>` with its pod network.
pub(crate) fn node(nth: usize) -> Node {
    node_with(&format!("n{nth}"), &[&network(nth)])
}

/// Creates these nodes, 32 at a time.
pub(crate) async fn create_all(cluster: &Cluster, nodes: impl IntoIterator<Item = Node>) {
    let create = |node: Node| async move { drop(create(cluster, &node).await) };
    stream::iter(nodes).for_each_concurrent(32, create).await;
}

/// Deletes a node.
pub(crate) async fn delete(cluster: &Cluster, name: &str) {
    nodes(cluster).delete(name, &DeleteParams::default()).await.expect("the node is deleted");
}

/// The condition NetworkUnavailable of a node.
pub(crate) fn condition(node: &Node) -> Option<&NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    conditions.iter().find(|it| it.type_ == "NetworkUnavailable")
}

/// Whether a node's condition has this status and reason, as in `False RouteCreated`.
pub(crate) fn is(node: &Node, words: &str) -> bool {
    condition(node).is_some_and(|it| format!("{} {}", it.status, it.reason.as_deref().unwrap_or_default()) == words)
}

/// Waits until a node's condition has this status and reason.
pub(crate) async fn becomes(cluster: &Cluster, name: &str, words: &str) {
    node_when(cluster, name, |it| is(it, words)).await;
}

/// Gives a node a condition, as another controller would.
pub(crate) async fn set_condition(cluster: &Cluster, name: &str, status: &str, reason: &str) {
    let condition = json!({ "type": "NetworkUnavailable", "status": status, "reason": reason });
    let patch = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
    nodes(cluster).patch_status(name, &PatchParams::default(), &patch).await.expect("the node is patched");
}

/// How many writes to a node's status the controller has made.
pub(crate) async fn patches(cluster: &Cluster, name: &str) -> usize {
    writes(cluster, name).await.iter().filter(|it| it.resource() == "nodes/status").count()
}

/// Waits until the cloud has exactly these routes.
pub(crate) async fn has(cloud: &Cloud, routes: &[String]) {
    let mut expected = routes.to_vec();
    expected.sort();
    let found = wait::within(wait::DEADLINE, async || (cloud.routes() == expected).then_some(())).await;
    assert!(found.is_some(), "there should be {expected:?}, and there are {:?}", cloud.routes());
}

/// Waits until so many further lists of all routes have begun: the pass of the last but one has ended.
pub(crate) async fn lists(cloud: &Cloud, further: usize) {
    let before = cloud.lists_at().len();
    wait::until(&format!("{further} further lists"), async || {
        (cloud.lists_at().len() >= before + further).then_some(())
    })
    .await;
}

/// The message of the first event with this reason about an object of this name, in any namespace.
pub(crate) async fn event(cluster: &Cluster, name: &str, reason: &str) -> String {
    let all: kube::api::Api<k8s_openapi::api::core::v1::Event> = kube::api::Api::all(cluster.admin.clone());
    let about = ListParams::default().fields(&format!("involvedObject.name={name},reason={reason}"));
    wait::until(&format!("an event {reason} about {name}"), async || {
        all.list(&about).await.ok()?.items.into_iter().next()?.message
    })
    .await
}
