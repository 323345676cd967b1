//! The work of a kubelet with `--cloud-provider=external` for its Node.

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

/// The taint that keeps Pods away until the cloud has been asked about the node.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// A Node as the kubelet registers it: tainted, without provider id and addresses, not Ready.
#[must_use]
pub fn node(name: &str) -> Node {
    let labels = [
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux"),
    ];
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec {
            taints: Some(vec![Taint {
                key: UNINITIALIZED.to_owned(),
                value: Some("true".to_owned()),
                effect: "NoSchedule".to_owned(),
                time_added: None,
            }]),
            ..NodeSpec::default()
        }),
        status: Some(NodeStatus { conditions: Some(vec![ready_condition(false)]), ..NodeStatus::default() }),
    }
}

/// Registers a node under its name, and posts Ready: what happens when a machine joins.
///
/// # Errors
///
/// Fails if the API server refuses something.
pub async fn join(client: &Client, name: &str) -> Result<Node> {
    join_as(client, node(name)).await
}

/// As [`join`], with a Node of the test's making: with a label, an annotation, a provider id.
///
/// # Errors
///
/// Fails if the API server refuses something.
pub async fn join_as(client: &Client, node: Node) -> Result<Node> {
    let nodes: Api<Node> = Api::all(client.clone());
    let name = node.name_any();
    nodes.create(&PostParams::default(), &node).await?;
    renew_lease(client, &name).await?;
    post_ready(client, &name, true).await
}

/// Posts the node's condition, as the kubelet does when it changes and every five minutes.
///
/// # Errors
///
/// Fails if the node is not there.
pub async fn post_ready(client: &Client, name: &str, ready: bool) -> Result<Node> {
    let nodes: Api<Node> = Api::all(client.clone());
    let status = json!({ "status": { "conditions": [ready_condition(ready)] } });
    Ok(nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await?)
}

/// Says that the kubelet lives, as it does every ten seconds.
///
/// # Errors
///
/// Fails if the API server refuses it.
pub async fn renew_lease(client: &Client, name: &str) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let lease = Lease {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: Some(LeaseSpec {
            holder_identity: Some(name.to_owned()),
            lease_duration_seconds: Some(40),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }),
    };
    let params = PatchParams::apply("kubelet").force();
    leases.patch(name, &params, &Patch::Apply(lease)).await?;
    Ok(())
}

/// The addresses of a Node's status, as pairs of type and address.
#[must_use]
pub fn addresses(node: &Node) -> Vec<(&str, &str)> {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_deref());
    addresses
        .unwrap_or_default()
        .iter()
        .map(|NodeAddress { type_, address }| (type_.as_str(), address.as_str()))
        .collect()
}

/// Whether a Node still waits for the cloud.
#[must_use]
pub fn is_uninitialized(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref());
    taints.unwrap_or_default().iter().any(|taint| taint.key == UNINITIALIZED)
}

fn ready_condition(ready: bool) -> NodeCondition {
    let now = Time(Timestamp::now());
    let (status, reason, message) = if ready {
        ("True", "KubeletReady", "kubelet is posting ready status")
    } else {
        ("False", "KubeletNotReady", "container runtime network not ready")
    };
    NodeCondition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(now.clone()),
        last_transition_time: Some(now),
    }
}
