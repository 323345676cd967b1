//! The desired state of a node, given its machine. No client, no clock, no log.

use std::collections::HashSet;

use crate::node_object::KubeNode;
use cloud_provider::Instance;
use k8s_openapi::api::core::v1::NodeAddress;

use crate::cluster_facts::is_reserved_label;
use crate::node::addresses::{self, preferred, with_hostnames};
use crate::node_fields::{
    LabelPair, REGION, TYPE, UNINITIALIZED, ZONE, current_addresses, is_control_plane, is_waiting, label,
    provided_node_ip, provider_id, taints,
};

/// Why a node cannot be made as it should be.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Error {
    /// Neither the node nor the cloud has a provider id.
    #[error("failed to get instance metadata for node {0}: cloud provider does not set node provider ID for node {0}")]
    NoProviderId(String),
    /// The node IP that the kubelet was given cannot be followed.
    #[error("failed to get node modifiers from cloud provider: provided node ip for node {node:?} is not valid")]
    ProvidedNodeIp {
        /// The node's name.
        node: String,
        /// The fault of the node IP.
        source: addresses::Error,
    },
}

/// An initialised node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Initialized {
    /// The node with provider id and labels, and without the taint. Its status is as it was.
    pub(super) node: KubeNode,
    /// Labels of the cloud that the node does not get.
    pub(super) discarded: Vec<Discarded>,
}

/// A label of the cloud that a node does not get.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Discarded {
    /// It belongs to Kubernetes.
    Reserved(String),
    /// The node has it already, with this or another value.
    Present(String),
}

/// The meaning of a node's change for a work queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NodeChange {
    /// There is nothing to do for this node.
    Nothing,
    /// There is something to do, and what it depends on is as it was: a pause after a failure stands.
    Same,
    /// There is something to do, and it may turn out differently than before.
    Different,
}

/// Compares a node with itself before a change.
pub(super) fn change(before: Option<&KubeNode>, node: &KubeNode) -> NodeChange {
    if is_waiting(node) {
        let same = before.is_some_and(|before| {
            before.metadata.uid == node.metadata.uid
                && taints(before) == taints(node)
                && provider_id(before) == provider_id(node)
                && provided_node_ip(before) == provided_node_ip(node)
                && is_control_plane(before) == is_control_plane(node)
        });
        return if same { NodeChange::Same } else { NodeChange::Different };
    }
    if stale_labels(node).is_empty() {
        return NodeChange::Nothing;
    }
    match before {
        Some(before) if labels_equal(before, node) => NodeChange::Same,
        _ => NodeChange::Different,
    }
}

/// The node as it is once it is initialised.
pub(super) fn initialized(node: &KubeNode, instance: &Instance) -> Result<Initialized, Error> {
    let mut desired = node.clone();
    let name = || node.metadata.name.clone().unwrap_or_default();
    let spec = desired.spec.get_or_insert_default();
    if spec.provider_id.as_deref().is_none_or(str::is_empty) {
        spec.provider_id = Some(instance.provider_id.clone().ok_or_else(|| Error::NoProviderId(name()))?);
    }
    // Checked here although the addresses are written later: with a wrong node IP nothing is written at all.
    // An instance about which the cloud tells no addresses exists all the same: its node keeps its own.
    if let Some(provided) = provided_node_ip(node).filter(|_| !instance.addresses.is_empty()) {
        let source = preferred(provided, &instance.addresses);
        source.map_err(|source| Error::ProvidedNodeIp { node: name(), source })?;
    }
    spec.taints = spec.taints.take().map(|mut taints| {
        taints.retain(|it| it.key != UNINITIALIZED);
        taints
    });
    if spec.taints.as_ref().is_some_and(Vec::is_empty) {
        spec.taints = None;
    }
    let facts = [(TYPE, &instance.machine_type), (ZONE, &instance.zone), (REGION, &instance.region)];
    for (label, value) in facts {
        if let Some(value) = value {
            let labels = desired.metadata.labels.get_or_insert_default();
            labels.insert(label.beta.to_owned(), value.clone());
            labels.insert(label.stable.to_owned(), value.clone());
        }
    }
    let mut discarded = Vec::new();
    for (key, value) in &instance.labels {
        if is_reserved_label(key) {
            discarded.push(Discarded::Reserved(key.clone()));
        } else if desired.metadata.labels.as_ref().is_some_and(|it| it.contains_key(key)) {
            discarded.push(Discarded::Present(key.clone()));
        } else {
            desired.metadata.labels.get_or_insert_default().insert(key.clone(), value.clone());
        }
    }
    Ok(Initialized { node: desired, discarded })
}

/// The node with its machine's addresses. A machine without addresses changes nothing.
pub(super) fn addressed(node: &KubeNode, instance: &Instance) -> Result<KubeNode, Error> {
    let mut desired = node.clone();
    if instance.addresses.is_empty() {
        return Ok(desired);
    }
    let existing = current_addresses(node);
    let mut wanted = with_hostnames(instance.addresses.clone(), &existing);
    if let Some(provided) = provided_node_ip(node) {
        wanted = preferred(provided, &wanted)
            .map_err(|source| Error::ProvidedNodeIp { node: node.metadata.name.clone().unwrap_or_default(), source })?;
    }
    // The API server refuses a list that names an address twice.
    let mut seen = HashSet::new();
    wanted.retain(|it| seen.insert(it.clone()));
    let wanted = wanted.into_iter().map(|it| NodeAddress { type_: it.kind.as_str().to_owned(), address: it.value });
    desired.status.get_or_insert_default().addresses = Some(wanted.collect());
    Ok(desired)
}

/// The node with its present labels as its old ones say. Where an old one is missing, nothing changes.
pub(super) fn reconciled(node: &KubeNode) -> KubeNode {
    let mut desired = node.clone();
    for (key, value) in stale_labels(node) {
        desired.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    }
    desired
}

/// Present labels that are not as the old ones say, and what they should be.
fn stale_labels(node: &KubeNode) -> Vec<(&'static str, &str)> {
    let stale = |pair: LabelPair| {
        let beta = label(node, pair.beta)?;
        (label(node, pair.stable) != Some(beta)).then_some((pair.stable, beta))
    };
    [ZONE, REGION, TYPE].into_iter().filter_map(stale).collect()
}

fn labels_equal(one: &KubeNode, other: &KubeNode) -> bool {
    [ZONE, REGION, TYPE].iter().flat_map(|it| [it.beta, it.stable]).all(|it| label(one, it) == label(other, it))
}

#[cfg(test)]
mod tests;
