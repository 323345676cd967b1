//! Nodes of a cluster, as a person sees and changes them.

use k8s_openapi::api::core::v1::{Event, Node};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::Value;

use crate::control_plane::Cluster;
use crate::wait;

/// All nodes, with every right.
#[must_use]
pub fn nodes(cluster: &Cluster) -> Api<Node> {
    Api::all(cluster.admin.clone())
}

/// Creates a node in one request, status included: only the controller writes it afterwards.
///
/// # Panics
///
/// Panics if the API server refuses it.
pub async fn create(cluster: &Cluster, node: &Node) -> Node {
    nodes(cluster).create(&PostParams::default(), node).await.expect("the node is created")
}

/// Changes a node as a person would.
///
/// # Panics
///
/// Panics if the API server refuses it.
pub async fn patch(cluster: &Cluster, name: &str, patch: Value) {
    let params = PatchParams::default();
    nodes(cluster).patch(name, &params, &Patch::Merge(patch)).await.expect("the node is patched");
}

/// The node, as soon as it fulfils a condition.
pub async fn node_when(cluster: &Cluster, name: &str, condition: impl Fn(&Node) -> bool) -> Node {
    let (nodes, condition) = (nodes(cluster), &condition);
    let what = format!("node {name} as expected");
    wait::until(&what, async || nodes.get_opt(name).await.ok().flatten().filter(|it| condition(it))).await
}

/// All events about a node.
///
/// # Panics
///
/// Panics if the API server does not list them.
pub async fn events(cluster: &Cluster, name: &str) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(cluster.admin.clone(), "default");
    let about = ListParams::default().fields(&format!("involvedObject.name={name}"));
    events.list(&about).await.expect("events are listed").items
}
