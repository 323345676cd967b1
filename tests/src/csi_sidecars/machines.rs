//! Kubelets and the scheduler, as far as volumes need them.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::control_plane::Cluster;
use crate::wait;

/// How long a pod may wait for its disks: one after the other is detached and attached, and what was refused is tried again late.
const PATIENCE: Duration = Duration::from_mins(4);

/// A pod with claims comes to a node. Its kubelet waits until kube-controller-manager shows the disks at the node, and says that it uses them.
pub(super) async fn run(cluster: &Cluster, name: &str, node: &str, claims: &[&str]) {
    let pods: Api<Pod> = Api::namespaced(cluster.admin.clone(), "default");
    let volumes: Vec<_> =
        claims.iter().map(|it| json!({ "name": it, "persistentVolumeClaim": { "claimName": it } })).collect();
    let pod = json!({
        "metadata": { "name": name },
        "spec": { "nodeName": node, "containers": [{ "name": "main", "image": "none" }], "volumes": volumes },
    });
    let pod: Pod = serde_json::from_value(pod).expect("it is a pod");
    // Until its namespace has its ServiceAccount.
    wait::until(&format!("pod {name} is made"), async || pods.create(&PostParams::default(), &pod).await.ok()).await;
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    let shown = wait::within(PATIENCE, async || {
        let shown = nodes.get(node).await.ok()?.status?.volumes_attached?;
        (shown.len() == claims.len()).then(|| shown.into_iter().map(|it| it.name).collect())
    });
    let shown: Vec<String> = shown.await.unwrap_or_else(|| panic!("pod {name} does not get its disks"));
    uses(&nodes, node, &shown).await;
    let running = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    pods.patch_status(name, &PatchParams::default(), &running).await.expect("the pod is there");
}

/// A pod ends on a node: its kubelet lets go of all disks there.
pub(super) async fn end(cluster: &Cluster, name: &str, node: &str) {
    uses(&Api::all(cluster.admin.clone()), node, &[]).await;
    let pods: Api<Pod> = Api::namespaced(cluster.admin.clone(), "default");
    pods.delete(name, &DeleteParams::default().grace_period(0)).await.expect("the pod is there");
}

async fn uses(nodes: &Api<Node>, node: &str, disks: &[String]) {
    let status = Patch::Merge(json!({ "status": { "volumesInUse": disks } }));
    nodes.patch_status(node, &PatchParams::default(), &status).await.expect("the node is there");
}

/// The scheduler selects a node for a claim.
pub(super) async fn select(claims: &Api<PersistentVolumeClaim>, claim: &str, node: &str) {
    let selected = json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": node } } });
    claims.patch(claim, &PatchParams::default(), &Patch::Merge(selected)).await.expect("the claim is there");
}

/// The kubelet has grown the file system on a claim's disk.
pub(super) async fn grown(claims: &Api<PersistentVolumeClaim>, claim: &str, size: &str) {
    let done: Value = json!({ "status": {
        "capacity": { "storage": size }, "allocatedResourceStatuses": null, "conditions": null,
    } });
    claims.patch_status(claim, &PatchParams::default(), &Patch::Merge(done)).await.expect("the claim is there");
}
