//! Objects of volumes and disks, in words that are the same each time: names stand for ids that are made up.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Event, Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ground::{DRIVER, NODES};
use super::stage::VolumeStage;
use crate::beside::StoryWords;

/// In `volumeAttributes`: the process that has made a volume.
const IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";
/// The reporters of events that both have: kube-controller-manager's controllers.
const OTHERS: [&str; 3] = ["persistentvolume-controller", "volume_expand", "attachdetach-controller"];

impl VolumeStage {
    /// All claims, PersistentVolumes, VolumeAttachments, disks and events about claims and volumes, the disks that nodes show, and what
    /// aerostat keeps of claims under way.
    pub(super) async fn seen(&self) -> Value {
        let admin = &self.cluster.admin;
        let claims = all::<PersistentVolumeClaim>(Api::namespaced(admin.clone(), "default")).await;
        let volumes = all::<PersistentVolume>(Api::all(admin.clone())).await;
        let attachments = all::<VolumeAttachment>(Api::all(admin.clone())).await;
        let (disks, identities) = (self.disks(), volumes.iter().filter_map(identity));
        let mut words = StoryWords::default();
        for (id, name) in &disks {
            words = words.then(id, &format!("<disk of {name}>"));
        }
        for (uid, name) in self.known() {
            words = words.then(&uid, &name);
        }
        for identity in identities {
            words = words.then(&identity, "<provisioner>");
        }
        words = words.then(&self.cluster_id().await, "<cluster>");
        let of =
            |it: &Value| format!("{} at {}", text(it, "/spec/source/persistentVolumeName"), text(it, "/spec/nodeName"));
        let seen = json!({
            "claims": named(&claims, |it| text(it, "/metadata/name"), claim),
            "volumes": named(&volumes, |it| text(it, "/metadata/name"), volume),
            "attachments": named(&attachments, of, attachment),
            "disks": disks.iter().map(|(id, name)| (name.clone(), self.disk(id))).collect::<Map<_, _>>(),
            "nodes": shown(admin).await,
            "events": events(admin).await,
            "intents": intents(admin).await,
        });
        words.value(&seen)
    }

    /// The ids and names of all disks.
    fn disks(&self) -> Vec<(String, String)> {
        self.cloud.volumes().all().into_iter().map(|it| (it.id, it.name)).collect()
    }

    fn disk(&self, id: &str) -> Value {
        let all = self.cloud.volumes().all();
        let Some(disk) = all.iter().find(|it| it.id == id) else { return Value::Null };
        let droplet = |id: u64| NODES.iter().find(|it| it.1 == id).map(|it| it.0);
        json!({
            "description": disk.description, "gigabytes": disk.size_gigabytes, "region": disk.region, "tags": disk.tags,
            "at": disk.droplet.and_then(droplet),
        })
    }

    async fn cluster_id(&self) -> String {
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.cluster.admin.clone());
        namespaces.get("kube-system").await.ok().and_then(|it| it.uid()).unwrap_or_default()
    }
}

async fn all<K>(api: Api<K>) -> Vec<Value>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Serialize,
{
    let items = api.list(&ListParams::default()).await.expect("the API server answers").items;
    items.iter().map(|it| serde_json::to_value(it).expect("an object of the cluster is JSON")).collect()
}

/// Objects by name.
fn named(all: &[Value], name: impl Fn(&Value) -> String, form: impl Fn(&Value) -> Value) -> Map<String, Value> {
    all.iter().map(|it| (name(it), form(it))).collect()
}

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A part of an object; an empty object where there is none.
fn part(object: &Value, path: &str) -> Value {
    object.pointer(path).cloned().unwrap_or_else(|| json!({}))
}

fn finalizers(object: &Value) -> Value {
    object.pointer("/metadata/finalizers").cloned().unwrap_or_else(|| json!([]))
}

fn claim(it: &Value) -> Value {
    let conditions = it["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition = |it: &Value| format!("{} {}", text(it, "/type"), text(it, "/status"));
    json!({
        "annotations": part(it, "/metadata/annotations"), "finalizers": finalizers(it),
        "volume": it["spec"]["volumeName"], "requested": it["spec"]["resources"]["requests"]["storage"],
        "phase": it["status"]["phase"], "capacity": it["status"]["capacity"]["storage"],
        "allocated": it["status"]["allocatedResources"]["storage"],
        "growing": it["status"]["allocatedResourceStatuses"]["storage"],
        "conditions": conditions.iter().map(condition).collect::<Vec<_>>(),
    })
}

fn volume(it: &Value) -> Value {
    let mut spec = it["spec"].clone();
    if let Some(claim) = spec.pointer_mut("/claimRef").and_then(Value::as_object_mut) {
        claim.remove("resourceVersion");
    }
    json!({
        "annotations": part(it, "/metadata/annotations"), "labels": part(it, "/metadata/labels"),
        "finalizers": finalizers(it), "spec": spec, "phase": it["status"]["phase"],
    })
}

fn attachment(it: &Value) -> Value {
    let mut status = it["status"].clone();
    if let Some(error) = status.pointer_mut("/attachError").and_then(Value::as_object_mut) {
        error.remove("time");
    }
    json!({
        "annotations": part(it, "/metadata/annotations"), "finalizers": finalizers(it),
        "attacher": it["spec"]["attacher"], "status": status,
    })
}

/// The identity of the process that has made a volume, if it has the form of the provisioner's: time, a number and the driver.
fn identity(volume: &Value) -> Option<String> {
    let identity = volume["spec"]["csi"]["volumeAttributes"][IDENTITY].as_str()?;
    let (time, number) = identity.strip_suffix(&format!("-{DRIVER}"))?.split_once('-')?;
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    (is_number(time) && is_number(number)).then(|| identity.to_owned())
}

/// The names of disks in the status of each node.
async fn shown(admin: &Client) -> Map<String, Value> {
    let nodes = all::<Node>(Api::all(admin.clone())).await;
    let disks = |node: &Value| {
        let all = node["status"]["volumesAttached"].as_array().cloned().unwrap_or_default();
        all.iter().map(|it| text(it, "/name")).collect()
    };
    named(&nodes, |it| text(it, "/metadata/name"), disks)
}

/// The types and reasons of the events about each claim and volume.
async fn events(admin: &Client) -> Map<String, Value> {
    let all = all::<Event>(Api::namespaced(admin.clone(), "default")).await;
    let mut by_name = Map::new();
    let kinds = ["PersistentVolumeClaim", "PersistentVolume"];
    let is_ours = |event: &&Value| {
        let reporter = text(event, "/source/component") + &text(event, "/reportingComponent");
        kinds.contains(&text(event, "/involvedObject/kind").as_str())
            && !OTHERS.iter().any(|other| reporter.contains(other))
    };
    let mut reasons: BTreeSet<(String, String)> = BTreeSet::new();
    for event in all.iter().filter(is_ours) {
        let reason = format!("{} {}", text(event, "/type"), text(event, "/reason"));
        reasons.insert((text(event, "/involvedObject/name"), reason));
    }
    for (name, reason) in reasons {
        let list = by_name.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut().expect("it was made as a list").push(json!(reason));
    }
    by_name
}

/// The names of what aerostat keeps of claims under way.
async fn intents(admin: &Client) -> Vec<String> {
    let api: Api<ConfigMap> = Api::namespaced(admin.clone(), controllers::volume_provisioner::NAMESPACE);
    let all = api.list(&ListParams::default().labels("aerostat.dev/volume-intent")).await;
    all.expect("the API server answers").iter().map(|it| it.name_any()).collect()
}
