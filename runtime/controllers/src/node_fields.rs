//! Fields of a Node that controllers read: its provider id, taints, labels and addresses. No client, no clock, no log.

use std::net::IpAddr;

use crate::node_object::KubeNode;
use cloud_provider::{Address, AddressKind};
use k8s_openapi::api::core::v1::{NodeAddress, Taint};

use crate::cluster_facts::{CONTROL_PLANE, NodeWords};

/// The key of the taint that a node has until it is initialised, with any value and any effect.
pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// The condition that says whether a node's pods are reached.
pub(crate) const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";
/// The annotation with the node IP that a kubelet was given.
pub(crate) const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";
/// The annotation of a node that has no pod networks yet, by which a write of an earlier process is refused.
pub(crate) const POD_CIDR_MARK: &str = "aerostat.dev/pod-cidrs-by";

/// The annotation with an operator's word for a node whose deletion is withheld.
pub(crate) const DELETE_APPROVED: &str = "aerostat.dev/delete-approved";

/// The two labels for one fact: the old name, which leads once it is there, and the present one.
pub(crate) struct LabelPair {
    pub(crate) beta: &'static str,
    pub(crate) stable: &'static str,
}

pub(crate) const ZONE: LabelPair =
    LabelPair { beta: "failure-domain.beta.kubernetes.io/zone", stable: "topology.kubernetes.io/zone" };
pub(crate) const REGION: LabelPair =
    LabelPair { beta: "failure-domain.beta.kubernetes.io/region", stable: "topology.kubernetes.io/region" };
pub(crate) const TYPE: LabelPair =
    LabelPair { beta: "beta.kubernetes.io/instance-type", stable: "node.kubernetes.io/instance-type" };

/// A node's provider id, unless it is empty.
pub(crate) fn provider_id(node: &KubeNode) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref().filter(|it| !it.is_empty())
}

/// Whether the node waits to be initialised.
pub(crate) fn is_waiting(node: &KubeNode) -> bool {
    taints(node).iter().any(|it| it.key == UNINITIALIZED)
}

/// The node's taints.
pub(crate) fn taints(node: &KubeNode) -> &[Taint] {
    node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default()
}

/// The node IP that the kubelet was given.
pub(crate) fn provided_node_ip(node: &KubeNode) -> Option<&str> {
    node.metadata.annotations.as_ref()?.get(PROVIDED_NODE_IP).map(String::as_str)
}

/// The mark of who gives out pod networks.
pub(crate) fn pod_cidr_mark(node: &KubeNode) -> Option<&str> {
    node.metadata.annotations.as_ref()?.get(POD_CIDR_MARK).map(String::as_str)
}

/// The addresses in the node's status. Kinds that Kubernetes does not know are left out.
pub(crate) fn current_addresses(node: &KubeNode) -> Vec<Address> {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_deref()).unwrap_or_default();
    let address = |it: &NodeAddress| Some(Address { kind: AddressKind::parse(&it.type_)?, value: it.address.clone() });
    addresses.iter().filter_map(address).collect()
}

/// A node's own words about its addresses and its kind.
pub(crate) fn words(node: &KubeNode) -> NodeWords {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_deref()).unwrap_or_default();
    let provided = provided_node_ip(node).into_iter().flat_map(|it| it.split(','));
    let texts = addresses.iter().map(|it| it.address.as_str()).chain(provided);
    NodeWords {
        addresses: texts.filter_map(|it| it.parse::<IpAddr>().ok()).map(|it| it.to_canonical()).collect(),
        is_control_plane: is_control_plane(node),
    }
}

/// Whether a node has the label of the control plane.
pub(crate) fn is_control_plane(node: &KubeNode) -> bool {
    label(node, CONTROL_PLANE).is_some()
}

/// A label of the node.
pub(crate) fn label<'a>(node: &'a KubeNode, key: &str) -> Option<&'a str> {
    node.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// The node's zone and region.
pub(crate) fn place(node: &KubeNode) -> (Option<&str>, Option<&str>) {
    (label(node, ZONE.stable), label(node, REGION.stable))
}
