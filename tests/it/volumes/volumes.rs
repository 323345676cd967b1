//! PersistentVolumes, as a person writes and sees them.

use k8s_openapi::api::core::v1::{Event, PersistentVolume};
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::wait;

pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
pub(crate) const REGION: &str = "topology.kubernetes.io/region";
/// The annotation that a provisioner writes on its volumes.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// A PersistentVolume of a driver, whose handle is its name.
pub(crate) fn volume(name: &str, driver: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": { "name": name },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": { "driver": driver, "volumeHandle": name },
        },
    })
}

/// The same, with labels.
pub(crate) fn labelled(name: &str, driver: &str, labels: Value) -> Value {
    let mut volume = volume(name, driver);
    volume["metadata"]["labels"] = labels;
    volume
}

/// A node affinity of these terms: for each its requirements, as key and values.
pub(crate) fn affinity(terms: &[&[(&str, &[&str])]]) -> Value {
    let requirement = |(key, values): &(&str, &[&str])| json!({ "key": key, "operator": "In", "values": values });
    let term = |it: &&[(&str, &[&str])]| json!({ "matchExpressions": it.iter().map(requirement).collect::<Vec<_>>() });
    json!({ "required": { "nodeSelectorTerms": terms.iter().map(term).collect::<Vec<_>>() } })
}

/// All of them, with every right.
pub(crate) fn all(cluster: &Cluster) -> Api<PersistentVolume> {
    Api::all(cluster.admin.clone())
}

/// Asks the API server to create one.
pub(crate) async fn create(cluster: &Cluster, volume: &Value) -> kube::Result<PersistentVolume> {
    let volume = serde_json::from_value(volume.clone()).unwrap();
    all(cluster).create(&PostParams::default(), &volume).await
}

/// The labels of a volume, as JSON.
pub(crate) fn labels(volume: &PersistentVolume) -> Value {
    json!(volume.metadata.labels)
}

/// The node affinity of a volume, as JSON.
pub(crate) fn node_affinity(volume: &PersistentVolume) -> Value {
    json!(volume.spec.as_ref().unwrap().node_affinity)
}

/// The volume, as soon as it fulfils a condition.
pub(crate) async fn when(cluster: &Cluster, name: &str, is: impl Fn(&PersistentVolume) -> bool) -> PersistentVolume {
    let (volumes, is) = (all(cluster), &is);
    let what = format!("volume {name} as expected");
    wait::until(&what, async || volumes.get_opt(name).await.ok().flatten().filter(|it| is(it))).await
}

/// The volume, as soon as it says where it is.
pub(crate) async fn placed(cluster: &Cluster, name: &str) -> PersistentVolume {
    when(cluster, name, |it| it.metadata.labels.is_some() && !node_affinity(it).is_null()).await
}

/// All events about a volume.
pub(crate) async fn events(cluster: &Cluster, name: &str) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(cluster.admin.clone(), "default");
    let about = ListParams::default().fields(&format!("involvedObject.name={name}"));
    events.list(&about).await.unwrap().items
}

/// The event about a volume with this reason, as soon as it is there.
pub(crate) async fn event(cluster: &Cluster, name: &str, reason: &str) -> Event {
    wait::until(&format!("the event {reason} about {name}"), async || {
        events(cluster, name).await.into_iter().find(|it| it.reason.as_deref() == Some(reason))
    })
    .await
}
