//! A running controller, nodes for it, and what they have got.

use std::collections::BTreeMap;
use std::sync::Arc;

use controllers::node_ipam::Options;
use futures::{StreamExt, stream};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Event, Node, NodeSpec};
use kube::api::{DeleteParams, ListParams};
use kube::{Client, ResourceExt};
use tests::control_plane::Cluster;
use tests::rig::instances::Cloud;
use tests::rig::nodes::{create, events, node_when, nodes};
use tests::rig::{Controller, Rig};
use tests::{kubelet, wait};

/// Cluster CIDRs, each with the prefix length of a node's part.
pub(crate) fn options(clusters: &[(&str, u8)]) -> Options {
    let clusters = clusters.iter().map(|(cluster, mask)| (cluster.parse().unwrap(), *mask)).collect();
    Options { clusters, services: Vec::new(), follows_clean_end: false, may_write: Arc::new(|| true) }
}

/// 64 networks of four addresses each.
pub(crate) fn small() -> Options {
    options(&[("127.123.234.0/24", 30)])
}

/// Starts the controller, and waits until it works.
pub(crate) async fn start(cluster: &Cluster, options: Options) -> Rig {
    start_as(cluster.aerostat.clone(), options).await
}

/// Starts the controller with a client of the test's making, and waits until it works.
pub(crate) async fn start_as(client: Client, options: Options) -> Rig {
    let rig = begin(client, options);
    wait::until("the controller works", async || {
        let families = rig.registry.gather();
        families.iter().any(|it| it.name() == "workqueue_depth").then_some(())
    })
    .await;
    rig
}

/// Starts the controller.
pub(crate) fn begin(client: Client, options: Options) -> Rig {
    Rig::start_as(client, &Arc::new(Cloud::default()), Controller::NodeIpam(options))
}

/// A node that somebody has given networks.
pub(crate) fn with(name: &str, cidrs: &[&str]) -> Node {
    let mut node = kubelet::node(name);
    let spec = node.spec.get_or_insert_default();
    *spec = NodeSpec {
        pod_cidr: cidrs.first().map(|it| (*it).to_owned()),
        pod_cidrs: Some(cidrs.iter().map(|it| (*it).to_owned()).collect()),
        ..std::mem::take(spec)
    };
    node
}

/// Creates a node that has nothing.
pub(crate) async fn join(cluster: &Cluster, name: &str) -> Node {
    create(cluster, &kubelet::node(name)).await
}

/// Creates many nodes that have nothing.
pub(crate) async fn join_all(cluster: &Cluster, names: impl IntoIterator<Item = String>) {
    stream::iter(names).for_each_concurrent(16, |name| async move { drop(join(cluster, &name).await) }).await;
}

/// Deletes a node.
pub(crate) async fn delete(cluster: &Cluster, name: &str) {
    nodes(cluster).delete(name, &DeleteParams::default()).await.unwrap();
}

/// The networks of a node.
pub(crate) fn networks(node: &Node) -> Vec<String> {
    node.spec.as_ref().and_then(|it| it.pod_cidrs.clone()).unwrap_or_default()
}

/// The networks of a node, once it has some.
pub(crate) async fn given(cluster: &Cluster, name: &str) -> Vec<String> {
    networks(&node_when(cluster, name, |it| !networks(it).is_empty()).await)
}

/// The networks of all nodes, once all of them have some.
pub(crate) async fn all_given(cluster: &Cluster, count: usize) -> BTreeMap<String, Vec<String>> {
    let all = nodes(cluster);
    wait::until(&format!("{count} nodes with networks"), async || {
        let listed = all.list(&ListParams::default()).await.ok()?;
        let given: BTreeMap<_, _> = listed.iter().map(|it| (it.name_any(), networks(it))).collect();
        (given.len() == count && given.values().all(|it| !it.is_empty())).then_some(given)
    })
    .await
}

/// Fails if two of these networks have an address in common.
pub(crate) fn assert_distinct(given: &BTreeMap<String, Vec<String>>) {
    let mut all: Vec<(IpNet, &str)> = Vec::new();
    for (node, cidrs) in given {
        all.extend(cidrs.iter().map(|it| (it.parse().unwrap(), node.as_str())));
    }
    all.sort();
    for pair in all.windows(2) {
        assert!(!pair[0].0.contains(&pair[1].0) && !pair[1].0.contains(&pair[0].0), "both have one: {pair:?}");
    }
}

/// How many blocks of the only cluster CIDR are taken, by the metrics.
pub(crate) fn taken(rig: &Rig) -> f64 {
    let value = |name: &str| {
        let families = rig.registry.gather();
        let family = families.iter().find(|it| it.name() == name).unwrap();
        family.get_metric()[0].get_gauge().get_value()
    };
    (value("node_ipam_controller_cidrset_usage_cidrs") * value("node_ipam_controller_cirdset_max_cidrs")).round()
}

/// Waits until so many blocks of the only cluster CIDR are taken.
pub(crate) async fn takes(rig: &Rig, count: usize) {
    wait::until(&format!("{count} blocks that are taken"), async || (taken(rig) == count as f64).then_some(())).await;
}

/// Waits for an event with this reason about a node.
pub(crate) async fn event(cluster: &Cluster, name: &str, reason: &str) -> Event {
    wait::until(&format!("the event {reason}"), async || {
        events(cluster, name).await.into_iter().find(|it| it.reason.as_deref() == Some(reason))
    })
    .await
}
