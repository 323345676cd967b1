//! A Node as controllers keep it: the fields that they read, and those that they write.
//!
//! The whole of Kubernetes' own type takes almost three times as much memory, most of it for fields that are never there. A
//! cluster has thousands of nodes.

use std::borrow::Cow;

use k8s_openapi::ClusterResourceScope;
use k8s_openapi::api::core::v1::{Node as WholeNode, NodeAddress, NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Serialize};

/// A Node (v1) without the fields that no controller reads. JSON names its fields as Kubernetes does.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct KubeNode {
    /// Its name, UID, labels and so on.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Its provider id, taints and pod networks.
    pub spec: Option<NodeSpec>,
    /// Its addresses and conditions.
    pub status: Option<NodeStatus>,
}

/// The part of a Node's spec that is read or written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSpec {
    /// The first of its pod networks.
    #[serde(rename = "podCIDR", skip_serializing_if = "Option::is_none")]
    pub pod_cidr: Option<String>,
    /// Its pod networks, one of each family.
    #[serde(rename = "podCIDRs", skip_serializing_if = "Option::is_none")]
    pub pod_cidrs: Option<Vec<String>>,
    /// The cloud's word for its machine.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Its taints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// Whether it is cordoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unschedulable: Option<bool>,
}

/// The part of a Node's status that is read or written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct NodeStatus {
    /// Its addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<NodeAddress>>,
    /// Its conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<NodeCondition>>,
}

impl Resource for KubeNode {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        WholeNode::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        WholeNode::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        WholeNode::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        WholeNode::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn a_kept_node_reads_and_writes_what_kubernetes_does() {
        let (spec, status) = (
            json!({
                "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "providerID": "fake://1", "unschedulable": true,
                "taints": [{ "key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z" }],
            }),
            json!({
                "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
                "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z" }],
            }),
        );
        let object = json!({ "metadata": { "name": "n1", "labels": { "a": "b" } }, "spec": spec, "status": status });
        let (kept, whole) = (from_value::<KubeNode>(object.clone()).unwrap(), from_value::<WholeNode>(object).unwrap());
        assert_eq!(kept.metadata, whole.metadata);
        assert_eq!(to_value(&kept.spec).unwrap(), to_value(&whole.spec).unwrap());
        assert_eq!(to_value(&kept.status).unwrap(), to_value(&whole.status).unwrap());
        assert_eq!(kept.object_ref(&()), whole.object_ref(&()));
        assert_eq!(to_value((NodeSpec::default(), NodeStatus::default())).unwrap(), json!([{}, {}]));
    }

    #[test]
    fn a_kept_node_is_less_than_half_of_a_whole_one() {
        let (kept, whole) = (size_of::<KubeNode>(), size_of::<WholeNode>());
        assert!(kept * 2 < whole, "{kept} of {whole} bytes");
    }
}
