//! Reading objects without what nobody reads: it is skipped in the JSON, where it would be most of the work.
//!
//! The API server has no way to leave managed fields out of an answer. Decoded, they are trees of maps, larger than the
//! rest of a Node; so are the images of a machine. What is left out is left out of patches, too: both sides lack it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::node_object::{KubeNode, NodeSpec, NodeStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    LoadBalancerStatus, NodeAddress, NodeCondition, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimCondition, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus, PersistentVolumeSpec,
    PersistentVolumeStatus, Service, ServiceSpec, ServiceStatus, Taint,
};
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeSpec, VolumeAttachment, VolumeAttachmentSpec, VolumeAttachmentStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use kube::Resource;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use crate::node_fields::{DELETE_APPROVED, NETWORK_UNAVAILABLE, POD_CIDR_MARK, PROVIDED_NODE_IP};

/// Where client-side apply keeps a copy of what was applied.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The annotations of a node that are read: a kubelet's word on its address, a person's that the node may go, and the mark
/// of who gives out pod networks.
const NODE_ANNOTATIONS: [&str; 3] = [PROVIDED_NODE_IP, DELETE_APPROVED, POD_CIDR_MARK];
/// The conditions of a node that are read.
const CONDITIONS: [&str; 2] = ["Ready", NETWORK_UNAVAILABLE];

/// An object as an answer of the API server holds it, without what no controller reads.
#[derive(Clone, Debug)]
pub(crate) struct Trimmed<K>(pub(crate) K);

/// A kind of object that controllers read.
pub(crate) trait Read: Resource + Clone + Debug + Send + 'static {
    /// What is read of it.
    type Wire: DeserializeOwned + Into<Self>;

    fn spec(&self) -> Option<&impl Serialize>;
    fn status(&self) -> Option<&impl Serialize>;
}

impl Read for KubeNode {
    type Wire = WireObject<TrimmedMachine, NodeHealth>;

    fn spec(&self) -> Option<&impl Serialize> {
        self.spec.as_ref()
    }

    fn status(&self) -> Option<&impl Serialize> {
        self.status.as_ref()
    }
}

impl Read for Service {
    type Wire = WireObject<ServiceSpec, ServiceHealth>;

    fn spec(&self) -> Option<&impl Serialize> {
        self.spec.as_ref()
    }

    fn status(&self) -> Option<&impl Serialize> {
        self.status.as_ref()
    }
}

impl Read for PersistentVolume {
    type Wire = WireObject<PersistentVolumeSpec, VolumePhase>;

    fn spec(&self) -> Option<&impl Serialize> {
        self.spec.as_ref()
    }

    fn status(&self) -> Option<&impl Serialize> {
        self.status.as_ref()
    }
}

impl Read for PersistentVolumeClaim {
    type Wire = WireObject<PersistentVolumeClaimSpec, ClaimSize>;

    fn spec(&self) -> Option<&impl Serialize> {
        self.spec.as_ref()
    }

    fn status(&self) -> Option<&impl Serialize> {
        self.status.as_ref()
    }
}

impl Read for CSINode {
    type Wire = WireObject<CSINodeSpec, IgnoredAny>;

    fn spec(&self) -> Option<&impl Serialize> {
        Some(&self.spec)
    }

    fn status(&self) -> Option<&impl Serialize> {
        None::<&()>
    }
}

impl Read for CSIDriver {
    type Wire = WireObject<CSIDriverSpec, IgnoredAny>;

    fn spec(&self) -> Option<&impl Serialize> {
        Some(&self.spec)
    }

    fn status(&self) -> Option<&impl Serialize> {
        None::<&()>
    }
}

impl Read for VolumeAttachment {
    type Wire = WireObject<VolumeAttachmentSpec, VolumeAttachmentStatus>;

    fn spec(&self) -> Option<&impl Serialize> {
        Some(&self.spec)
    }

    fn status(&self) -> Option<&impl Serialize> {
        self.status.as_ref()
    }
}

#[derive(Deserialize)]
pub(crate) struct WireObject<Spec, Status> {
    metadata: Metadata,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generate_name: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
    uid: Option<String>,
}

/// What is read of a node's spec.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrimmedMachine {
    #[serde(rename = "podCIDR")]
    pod_cidr: Option<String>,
    #[serde(rename = "podCIDRs")]
    pod_cidrs: Option<Vec<String>>,
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    taints: Option<Vec<NodeTaint>>,
    unschedulable: Option<bool>,
}

/// A taint of a node.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeTaint {
    #[serde(default)]
    effect: String,
    #[serde(default)]
    key: String,
    #[serde(default, deserialize_with = "readable_time")]
    time_added: Option<Time>,
    value: Option<String>,
}

/// What is read of a node's status.
#[derive(Deserialize)]
pub(crate) struct NodeHealth {
    addresses: Option<Vec<NodeAddress>>,
    conditions: Option<Vec<MachineCondition>>,
}

/// What is read of a condition, and only of those that say whether the node is ready and its pods are reached.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MachineCondition {
    #[serde(default, rename = "type")]
    kind: String,
    status: Option<String>,
    reason: Option<String>,
    #[serde(default, deserialize_with = "readable_time")]
    last_transition_time: Option<Time>,
}

/// The phase of a PersistentVolume.
#[derive(Deserialize)]
pub(crate) struct VolumePhase {
    phase: Option<String>,
}

/// How large a claim's volume is, and what its growth has come to.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimSize {
    phase: Option<String>,
    capacity: Option<BTreeMap<String, Quantity>>,
    allocated_resources: Option<BTreeMap<String, Quantity>>,
    allocated_resource_statuses: Option<BTreeMap<String, String>>,
    conditions: Option<Vec<ClaimCondition>>,
}

/// What is read of a claim's condition. Its times are others' to write, and hide no claim.
#[derive(Deserialize)]
struct ClaimCondition {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    status: String,
    message: Option<String>,
}

/// A Service's status.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServiceHealth {
    conditions: Option<Vec<AppliedCondition>>,
    load_balancer: Option<LoadBalancerStatus>,
}

/// A condition of a Service. Older managers of Google apply theirs without a time, and the API server stores null: it hides neither its Service
/// nor, in a list, all others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AppliedCondition {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    observed_generation: Option<i64>,
    #[serde(default, deserialize_with = "readable_time")]
    last_transition_time: Option<Time>,
}

/// A time that a kubelet wrote. Go reads, and writes, years that no [`Timestamp`] has: such a time is none, and hides neither
/// its node nor, in a list, all others.
fn readable_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
    Ok(text.and_then(|it| it.parse::<Timestamp>().ok()).map(Time))
}

impl<'de, K: Read> Deserialize<'de> for Trimmed<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::Wire::deserialize(deserializer).map(|it| Self(it.into()))
    }
}

impl<K: Read> Resource for Trimmed<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &K::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &K::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &K::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &K::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

impl From<WireObject<TrimmedMachine, NodeHealth>> for KubeNode {
    fn from(wire: WireObject<TrimmedMachine, NodeHealth>) -> Self {
        let mut metadata = ObjectMeta::from(wire.metadata);
        metadata.finalizers = None;
        metadata.annotations = metadata.annotations.map(|mut annotations| {
            annotations.retain(|key, _| NODE_ANNOTATIONS.contains(&key.as_str()));
            annotations
        });
        Self { metadata, spec: wire.spec.map(NodeSpec::from), status: wire.status.map(NodeStatus::from) }
    }
}

impl From<WireObject<ServiceSpec, ServiceHealth>> for Service {
    fn from(wire: WireObject<ServiceSpec, ServiceHealth>) -> Self {
        let metadata = ObjectMeta { labels: None, ..wire.metadata.into() };
        Self { metadata, spec: wire.spec, status: wire.status.map(ServiceStatus::from) }
    }
}

impl From<ServiceHealth> for ServiceStatus {
    fn from(ServiceHealth { conditions, load_balancer }: ServiceHealth) -> Self {
        let condition = |applied: AppliedCondition| Condition {
            type_: applied.kind,
            status: applied.status,
            reason: applied.reason,
            message: applied.message,
            observed_generation: applied.observed_generation,
            last_transition_time: applied.last_transition_time.unwrap_or(Time(Timestamp::UNIX_EPOCH)),
        };
        Self { conditions: conditions.map(|it| it.into_iter().map(condition).collect()), load_balancer }
    }
}

impl From<WireObject<PersistentVolumeSpec, VolumePhase>> for PersistentVolume {
    fn from(wire: WireObject<PersistentVolumeSpec, VolumePhase>) -> Self {
        let status = |it: VolumePhase| PersistentVolumeStatus { phase: it.phase, ..PersistentVolumeStatus::default() };
        Self { metadata: wire.metadata.into(), spec: wire.spec, status: wire.status.map(status) }
    }
}

impl From<WireObject<PersistentVolumeClaimSpec, ClaimSize>> for PersistentVolumeClaim {
    fn from(wire: WireObject<PersistentVolumeClaimSpec, ClaimSize>) -> Self {
        Self { metadata: wire.metadata.into(), spec: wire.spec, status: wire.status.map(ClaimSize::into) }
    }
}

impl From<ClaimSize> for PersistentVolumeClaimStatus {
    fn from(it: ClaimSize) -> Self {
        let condition = |sent: ClaimCondition| PersistentVolumeClaimCondition {
            type_: sent.kind,
            status: sent.status,
            message: sent.message,
            ..PersistentVolumeClaimCondition::default()
        };
        Self {
            phase: it.phase,
            capacity: it.capacity,
            allocated_resources: it.allocated_resources,
            allocated_resource_statuses: it.allocated_resource_statuses,
            conditions: it.conditions.map(|it| it.into_iter().map(condition).collect()),
            ..Self::default()
        }
    }
}

impl From<WireObject<CSINodeSpec, IgnoredAny>> for CSINode {
    fn from(wire: WireObject<CSINodeSpec, IgnoredAny>) -> Self {
        Self { metadata: wire.metadata.into(), spec: wire.spec.unwrap_or_default() }
    }
}

impl From<WireObject<CSIDriverSpec, IgnoredAny>> for CSIDriver {
    fn from(wire: WireObject<CSIDriverSpec, IgnoredAny>) -> Self {
        Self { metadata: wire.metadata.into(), spec: wire.spec.unwrap_or_default() }
    }
}

impl From<WireObject<VolumeAttachmentSpec, VolumeAttachmentStatus>> for VolumeAttachment {
    fn from(wire: WireObject<VolumeAttachmentSpec, VolumeAttachmentStatus>) -> Self {
        Self { metadata: wire.metadata.into(), spec: wire.spec.unwrap_or_default(), status: wire.status }
    }
}

impl From<TrimmedMachine> for NodeSpec {
    fn from(it: TrimmedMachine) -> Self {
        let TrimmedMachine { pod_cidr, pod_cidrs, provider_id, taints, unschedulable } = it;
        let taint = |NodeTaint { effect, key, time_added, value }| Taint { effect, key, time_added, value };
        let taints = taints.map(|it| it.into_iter().map(taint).collect());
        Self { pod_cidr, pod_cidrs, provider_id, taints, unschedulable }
    }
}

impl From<NodeHealth> for NodeStatus {
    fn from(NodeHealth { addresses, conditions }: NodeHealth) -> Self {
        let condition = |sent: MachineCondition| NodeCondition {
            // Only the route controller's own is compared by its reason.
            reason: sent.reason.filter(|_| sent.kind == NETWORK_UNAVAILABLE),
            type_: sent.kind,
            status: sent.status.unwrap_or_default(),
            last_transition_time: sent.last_transition_time,
            ..NodeCondition::default()
        };
        let is_read = |it: &MachineCondition| CONDITIONS.contains(&it.kind.as_str());
        let conditions = conditions.map(|it| it.into_iter().filter(is_read).map(condition).collect());
        Self { addresses, conditions }
    }
}

impl From<Metadata> for ObjectMeta {
    fn from(mut it: Metadata) -> Self {
        if let Some(annotations) = &mut it.annotations {
            annotations.remove(APPLIED);
        }
        Self {
            annotations: it.annotations,
            creation_timestamp: it.creation_timestamp,
            deletion_timestamp: it.deletion_timestamp,
            finalizers: it.finalizers,
            generate_name: it.generate_name,
            labels: it.labels,
            name: it.name,
            namespace: it.namespace,
            resource_version: it.resource_version,
            uid: it.uid,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
