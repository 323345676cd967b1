//! Services and Nodes of recordings that have them as the API server does: made in a cluster, and told in one form.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use super::story::seen_service;
use crate::control_plane::Cluster;
use crate::kubelet;

/// The labels that a kubelet gives its node.
const KUBELETS: [&str; 5] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
];

/// The recorded objects of a kind (`svc`, `node`) that were left, by name; `null` for one that is gone.
#[must_use]
pub fn left_of_kind(recording: &Map<String, Value>, kind: &str) -> Map<String, Value> {
    let all = recording["left"].as_object().into_iter().flatten();
    let of = all
        .filter_map(|(name, it)| Some((name.split_once('/').filter(|(of, _)| *of == kind)?.1.to_owned(), it.clone())));
    of.collect()
}

/// The fields of a Service that a manager writes, with its labels.
#[must_use]
pub fn seen_labelled(service: &Value) -> Value {
    if service.is_null() {
        return Value::Null;
    }
    let mut seen = seen_service(service, &[]);
    seen["labels"] = service["metadata"].get("labels").cloned().unwrap_or_else(|| json!({}));
    seen
}

/// The fields of a Node that a manager writes: labels but for those of its kubelet, its provider id, networks, taints and addresses.
#[must_use]
pub fn seen_node(node: &Value) -> Value {
    if node.is_null() {
        return Value::Null;
    }
    let own = |(name, _): &(&String, &Value)| !KUBELETS.contains(&name.as_str());
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten().filter(own);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |object: &Value, name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let address = |it: &Value| format!("{} {}", text(it, "type"), text(it, "address"));
    let conditions = list(&node["status"]["conditions"]);
    let network = conditions.iter().find(|it| it["type"] == "NetworkUnavailable");
    json!({
        "labels": labels.map(|(name, it)| (name.clone(), it.clone())).collect::<Map<_, _>>(),
        "providerID": node["spec"]["providerID"], "podCIDRs": node["spec"]["podCIDRs"],
        "taints": list(&node["spec"]["taints"]).iter().map(|it| text(it, "key")).collect::<Vec<_>>(),
        "addresses": list(&node["status"]["addresses"]).iter().map(address).collect::<Vec<_>>(),
        "network": network.map(|it| ["status", "reason", "message"].map(|key| text(it, key)).join(" ")),
    })
}

/// A Service to be made, as a recording has it, with its node ports.
#[must_use]
pub fn whole_manifest(name: &str, recorded: &Value) -> Value {
    let annotations = &recorded["metadata"]["annotations"];
    let annotations = if annotations.is_null() { json!({}) } else { annotations.clone() };
    json!({ "metadata": { "name": name, "annotations": annotations }, "spec": recorded["spec"] })
}

/// Changes an object by a merge patch, as RFC 7396 has it.
pub fn merge_patch(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            object.as_object_mut().map(|it| it.remove(name));
        } else {
            merge_patch(&mut object[name], value);
        }
    }
}

/// Makes a Service as it was recorded, or lets it be so. Answers the one that was made.
///
/// # Panics
///
/// Panics if the API server does not take it.
pub async fn let_be(services: &Api<Service>, name: &str, recorded: &Value) -> Option<Service> {
    let wanted = whole_manifest(name, recorded);
    let Some(there) = services.get_opt(name).await.expect("the API server answers") else {
        let service = serde_json::from_value(wanted).expect("it is a Service");
        let made = services.create(&PostParams::default(), &service).await;
        return Some(made.expect("the API server takes it"));
    };
    let mut patch = wanted;
    for key in there.annotations().keys() {
        if patch["metadata"]["annotations"][key].is_null() {
            patch["metadata"]["annotations"][key] = Value::Null;
        }
    }
    if patch["spec"]["loadBalancerSourceRanges"].is_null() {
        patch["spec"]["loadBalancerSourceRanges"] = Value::Null;
    }
    let patched = services.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.expect("the API server takes it");
    None
}

/// Makes a node, as its kubelet does, with these addresses as a recording has them.
///
/// # Panics
///
/// Panics if the API server does not take it.
pub async fn register(cluster: &Cluster, node: Node, addresses: &Value) {
    let name = node.name_any();
    kubelet::join_as(&cluster.admin, node).await.expect("the API server takes a node");
    let addresses = Patch::Strategic(json!({ "status": { "addresses": addresses } }));
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    nodes.patch_status(&name, &PatchParams::default(), &addresses).await.expect("the API server takes its addresses");
}

/// The objects of these names as the API server has them now; `null` for one that is not there.
///
/// # Panics
///
/// Panics if the API server does not answer.
pub async fn now_there<K>(api: &Api<K>, names: &Map<String, Value>) -> Map<String, Value>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let all = api.list(&ListParams::default()).await.expect("the API server answers").items;
    let json = |it: &K| serde_json::to_value(it).expect("an object of the cluster is JSON");
    let all: BTreeMap<String, Value> = all.iter().map(|it| (it.name_any(), json(it))).collect();
    names.keys().map(|it| (it.clone(), all.get(it).cloned().unwrap_or_default())).collect()
}
