//! A running controller, nodes for it, and what becomes of them.

use std::time::Duration;

use controllers::node_lifecycle::{Budget, Options};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Event, Node, NodeCondition, NodeSpec, NodeStatus, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tests::control_plane::Cluster;
use tests::wait;

pub(crate) use tests::rig::nodes::{create, events, node_when, nodes, patch};
pub(crate) use tests::rig::{Rig as Controller, taken, writes, written};

use crate::cloud::{Cloud, machine};

/// The taint of a stopped machine.
pub(crate) const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// Passes that come fast, and nothing that asks for patience.
pub(crate) const OPTIONS: Options = Options {
    monitor_period: Duration::from_millis(100),
    apart: Duration::ZERO,
    warm_up: Duration::ZERO,
    grace: Duration::ZERO,
    budget: Budget { percent: 100, least: 1, window: Duration::from_secs(600) },
};
/// The node that lives beside those that a test is about.
pub(crate) const LIVING: usize = 9999;
/// The node that shows that a pass was made.
const MARKER: usize = 9998;

/// Node `n<nth>`, which is not ready and belongs to machine `nth`.
pub(crate) fn node(nth: usize) -> Node {
    let provider_id = Some(format!("fake://{nth}"));
    let mut node = Node {
        metadata: ObjectMeta { name: Some(format!("n{nth}")), ..ObjectMeta::default() },
        spec: Some(NodeSpec { provider_id, ..NodeSpec::default() }),
        status: None,
    };
    set_ready(&mut node, Some("False"));
    node
}

/// Gives a node the condition Ready with this status, or none.
pub(crate) fn set_ready(node: &mut Node, status: Option<&str>) {
    let conditions = status.map(|status| {
        vec![NodeCondition { type_: "Ready".to_owned(), status: status.to_owned(), ..NodeCondition::default() }]
    });
    node.status = Some(NodeStatus { conditions, ..NodeStatus::default() });
}

/// Gives a node taints, as pairs of key and effect.
pub(crate) fn set_taints(node: &mut Node, taints: &[(&str, &str)]) {
    let taint = |(key, effect): &(&str, &str)| Taint {
        key: (*key).to_owned(),
        effect: (*effect).to_owned(),
        ..Taint::default()
    };
    node.spec.get_or_insert_default().taints = Some(taints.iter().map(taint).collect());
}

/// A node's taints, as pairs of key and effect, without those that the API server keeps for conditions.
pub(crate) fn taints(node: &Node) -> Vec<(&str, &str)> {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default();
    let pairs = taints.iter().map(|it| (it.key.as_str(), it.effect.as_str()));
    pairs.filter(|(key, _)| !key.starts_with("node.kubernetes.io/")).collect()
}

/// Creates the nodes from 1 to `count`, 32 at a time.
pub(crate) async fn create_all(cluster: &Cluster, count: usize) {
    let create = |nth| async move { drop(create(cluster, &node(nth)).await) };
    stream::iter(1..=count).for_each_concurrent(32, create).await;
}

/// Creates a node that is ready, and its machine.
pub(crate) async fn create_living(cluster: &Cluster, cloud: &Cloud) {
    cloud.has([machine(LIVING)]);
    let mut living = node(LIVING);
    set_ready(&mut living, Some("True"));
    create(cluster, &living).await;
}

/// Changes what a node says of itself, as its kubelet would.
pub(crate) async fn post_ready(cluster: &Cluster, name: &str, status: &str) {
    let patch = json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
    let params = PatchParams::default();
    nodes(cluster).patch_status(name, &params, &Patch::Strategic(patch)).await.expect("the status is patched");
}

/// Waits until a node is gone.
pub(crate) async fn gone(cluster: &Cluster, name: &str) {
    let nodes = nodes(cluster);
    wait::until(&format!("node {name} is gone"), async || {
        nodes.get_opt(name).await.is_ok_and(|it| it.is_none()).then_some(())
    })
    .await;
}

/// The names of the nodes that there are.
pub(crate) async fn left(cluster: &Cluster) -> Vec<String> {
    let nodes = nodes(cluster).list(&ListParams::default()).await.expect("nodes are listed");
    nodes.iter().map(ResourceExt::name_any).collect()
}

/// Waits until only so many nodes are left.
pub(crate) async fn left_are(cluster: &Cluster, count: usize) {
    let what = format!("{count} nodes are left");
    wait::until(&what, async || (left(cluster).await.len() <= count).then_some(())).await;
}

/// Waits until a pass has begun after now and has done its writes: a ready node loses the taint of a stopped machine.
pub(crate) async fn passed(cluster: &Cluster) {
    let mut marker = node(MARKER);
    set_ready(&mut marker, Some("True"));
    set_taints(&mut marker, &[(SHUTDOWN, "NoSchedule")]);
    let name = create(cluster, &marker).await.name_any();
    node_when(cluster, &name, |it| taints(it).is_empty()).await;
    nodes(cluster).delete(&name, &DeleteParams::default()).await.expect("the marker is deleted");
}

/// Waits until the cloud was asked something so many times.
pub(crate) async fn asked(cloud: &Cloud, call: &str, times: usize) {
    wait::until(&format!("{call} was asked {times} times"), async || (cloud.asked(call) >= times).then_some(())).await;
}

/// The event about a node with this reason, as soon as it is there.
pub(crate) async fn event(cluster: &Cluster, name: &str, reason: &str) -> Event {
    wait::until(&format!("the event {reason} about {name}"), async || {
        events(cluster, name).await.into_iter().find(|it| it.reason.as_deref() == Some(reason))
    })
    .await
}

/// How many nodes aerostat has asked the API server to delete.
pub(crate) async fn deletions(cluster: &Cluster) -> usize {
    cluster.audit().settle(&cluster.admin).await.expect("the audit log grows");
    let writes = cluster.audit().writes().expect("the audit log can be read");
    writes.iter().filter(|it| it.verb == "delete").count()
}
