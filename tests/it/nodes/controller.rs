//! A running controller, nodes for it, and what becomes of them.

use std::time::Duration;

use controllers::node::Options;
use k8s_openapi::api::core::v1::{Event, Node, NodeAddress, NodeCondition};
use tests::control_plane::Cluster;
use tests::{kubelet, wait};

pub(crate) use tests::rig::nodes::{create, events, node_when, nodes, patch};
pub(crate) use tests::rig::{Rig as Controller, taken, writes, written};

use crate::cloud::{Cloud, machine};

/// The annotation with the node IP that a kubelet was given.
pub(crate) const NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";
/// One worker, and an address loop that makes one pass in a test.
pub(crate) const OPTIONS: Options =
    Options { syncs: 1, status_updates: 0, status_update_frequency: Duration::from_secs(3600) };
/// One worker, and an address loop that never rests for long.
pub(crate) const BUSY_LOOP: Options = Options { status_update_frequency: Duration::from_millis(100), ..OPTIONS };

/// A node as its kubelet registers it, with changes.
pub(crate) fn waiting(name: &str, change: impl FnOnce(&mut Node)) -> Node {
    let mut node = kubelet::node(name);
    change(&mut node);
    node
}

/// A node that was initialised before, with the addresses that its status has.
pub(crate) fn standing(name: &str, addresses: &[(&str, &str)]) -> Node {
    waiting(name, |node| {
        node.spec = None;
        set_addresses(node, addresses);
    })
}

/// The node, whose kubelet says that it is ready: the node-lifecycle controller has nothing to do with it.
pub(crate) fn ready(mut node: Node) -> Node {
    let ready = NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    node.status.get_or_insert_default().conditions = Some(vec![ready]);
    node
}

/// Gives a node addresses.
pub(crate) fn set_addresses(node: &mut Node, addresses: &[(&str, &str)]) {
    let address =
        |(kind, value): &(&str, &str)| NodeAddress { type_: (*kind).to_owned(), address: (*value).to_owned() };
    node.status.get_or_insert_default().addresses = Some(addresses.iter().map(address).collect());
}

/// Gives a node an annotation.
pub(crate) fn annotate(node: &mut Node, key: &str, value: &str) {
    node.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// Gives a node a label.
pub(crate) fn label(node: &mut Node, key: &str, value: &str) {
    node.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// The node, as soon as it has lost its taint.
pub(crate) async fn initialised(cluster: &Cluster, name: &str) -> Node {
    node_when(cluster, name, |it| !kubelet::is_uninitialized(it)).await
}

/// The node, as soon as its status has these addresses.
pub(crate) async fn addressed(cluster: &Cluster, name: &str, addresses: &[(&str, &str)]) -> Node {
    node_when(cluster, name, |it| kubelet::addresses(it) == addresses).await
}

/// Waits until a single worker has dealt with everything that happened before: a last node comes, and is initialised.
pub(crate) async fn settled(cluster: &Cluster, cloud: &Cloud) {
    cloud.has([machine(999)]);
    create(cluster, &kubelet::node("n999")).await;
    synced(cluster, "n999").await;
}

/// Waits until the event that ends a node's initialisation is there.
pub(crate) async fn synced(cluster: &Cluster, name: &str) -> Event {
    let name = name.to_owned();
    wait::until("the event Synced", async || {
        let events = events(cluster, &name).await;
        events.into_iter().find(|it| it.reason.as_deref() == Some("Synced"))
    })
    .await
}
