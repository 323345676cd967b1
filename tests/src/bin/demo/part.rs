//! The part of an existing cluster that the demo keeps to: a namespace, and nodes with a label.

use k8s_openapi::api::core::v1::{Node, Taint};

/// The namespace, which goes with the demo. All else has its name, where it has no other.
pub(crate) const NAMESPACE: &str = "aerostat-demo";
/// The label of all that lies outside the namespace, and the taint of nodes.
pub(crate) const LABEL: &str = "aerostat.dev/demo";
/// The class of load balancers that are the demo's.
pub(crate) const CLASS: &str = "aerostat.dev/demo";

/// The node as one of the demo's: with the label, and with a taint that keeps Pods of others away also once it is initialised.
pub(crate) fn marked(mut node: Node) -> Node {
    node.metadata.labels.get_or_insert_default().insert(LABEL.to_owned(), String::new());
    let taint = Taint { key: LABEL.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    node.spec.get_or_insert_default().taints.get_or_insert_default().push(taint);
    node
}

/// Whether a node has that taint.
pub(crate) fn is_marked(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref());
    taints.unwrap_or_default().iter().any(|it| it.key == LABEL)
}
