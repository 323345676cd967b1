//! Objects of claims, and what others write on them in a cluster: a user, kube-controller-manager, and kubelets with the vendor's node plugin.

use controllers::volume_provisioner;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::kubelet;

const CLASS: &str = "crash";
/// The label of the claims.
const APP: &str = "app";
/// Kubernetes' own protection of a PersistentVolume, which kube-controller-manager takes off.
const PROTECTION: &str = "kubernetes.io/pv-protection";
/// The label of what aerostat keeps of a claim under way.
const INTENT: &str = "aerostat.dev/volume-intent";

/// The objects of claims of a driver in a cluster.
pub(super) struct ClaimObjects {
    admin: Client,
    driver: &'static str,
}

/// All objects of claims, as the API server has them.
#[derive(Debug)]
pub(super) struct SeenClaims {
    pub(super) claims: Vec<PersistentVolumeClaim>,
    pub(super) volumes: Vec<PersistentVolume>,
    pub(super) attachments: Vec<VolumeAttachment>,
    /// The names of what is kept of claims under way.
    pub(super) intents: Vec<String>,
}

impl ClaimObjects {
    pub(super) fn new(admin: &Client, driver: &'static str) -> Self {
        Self { admin: admin.clone(), driver }
    }

    /// The class of the claims.
    pub(super) async fn make_class(&self) {
        let class = json!({
            "metadata": { "name": CLASS }, "provisioner": self.driver, "allowVolumeExpansion": true,
            "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
        });
        made(&Api::<StorageClass>::all(self.admin.clone()), class).await;
    }

    /// A node in a place, where the node plugin runs.
    pub(super) async fn join(&self, name: &str, machine: u64, place: (&str, &str)) {
        let mut node = kubelet::node(name);
        node.labels_mut().insert(place.0.to_owned(), place.1.to_owned());
        kubelet::join_as(&self.admin, node).await.unwrap();
        let drivers = json!([{ "name": self.driver, "nodeID": machine.to_string(), "topologyKeys": [place.0] }]);
        let csi_node = json!({ "metadata": { "name": name }, "spec": { "drivers": drivers } });
        made(&Api::<CSINode>::all(self.admin.clone()), csi_node).await;
    }

    /// A claim, once the scheduler has chosen a node for it.
    pub(super) async fn claim(&self, name: &str, node: &str, size: &str) {
        let annotations = json!({
            "volume.kubernetes.io/storage-provisioner": self.driver, "volume.kubernetes.io/selected-node": node,
        });
        let claim = json!({
            "metadata": { "name": name, "labels": { APP: CLASS }, "annotations": annotations },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
                "resources": { "requests": { "storage": size } },
            },
        });
        made(&self.claims(), claim).await;
    }

    /// A claim asks for this size.
    pub(super) async fn ask(&self, name: &str, size: &str) {
        let asks = json!({ "spec": { "resources": { "requests": { "storage": size } } } });
        self.claims().patch(name, &PatchParams::default(), &Patch::Merge(asks)).await.unwrap();
    }

    /// A claim is deleted, and goes at once: no pod uses it.
    pub(super) async fn delete(&self, name: &str) {
        let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        self.claims().patch(name, &PatchParams::default(), &bare).await.unwrap();
        self.claims().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// All there is.
    pub(super) async fn look(&self) -> SeenClaims {
        let intents: Api<ConfigMap> = Api::namespaced(self.admin.clone(), volume_provisioner::NAMESPACE);
        let all = ListParams::default();
        SeenClaims {
            claims: self.claims().list(&all.clone().labels(APP)).await.unwrap().items,
            volumes: self.volumes().list(&all).await.unwrap().items,
            attachments: self.attachments().list(&all).await.unwrap().items,
            intents: intents.list(&all.labels(INTENT)).await.unwrap().iter().map(|it| it.name_any()).collect(),
        }
    }

    /// Does what kube-controller-manager and kubelets do next. The pod of a claim with this name is at that node, if it is anywhere.
    pub(super) async fn play(&self, seen: &SeenClaims, pod_at: impl Fn(&str) -> Option<String>) {
        for volume in &seen.volumes {
            let claim = seen.claim_of(volume);
            self.bind(volume, claim).await;
            self.attach(seen, volume, claim.and_then(|it| pod_at(&it.name_any()))).await;
            if let Some(claim) = claim.filter(|it| growth(it) == "NodeResizePending") {
                self.grow(volume, claim).await;
            }
        }
    }

    /// A PersistentVolume is its claim's, or nobody's once that is gone.
    async fn bind(&self, volume: &PersistentVolume, claim: Option<&PersistentVolumeClaim>) {
        let (name, merge) = (volume.name_any(), PatchParams::default());
        let phase = |phase: &str| Patch::Merge(json!({ "status": { "phase": phase } }));
        match claim {
            Some(claim) if !is_bound(claim) => {
                let bound = Patch::Merge(json!({ "spec": { "volumeName": name } }));
                unless_gone(self.claims().patch(&claim.name_any(), &merge, &bound).await);
                unless_gone(self.volumes().patch_status(&name, &merge, &phase("Bound")).await);
                let capacity = volume.spec.as_ref().and_then(|it| it.capacity.clone());
                let status = json!({ "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": capacity });
                let status = Patch::Merge(json!({ "status": status }));
                unless_gone(self.claims().patch_status(&claim.name_any(), &merge, &status).await);
            }
            None if volume.status.as_ref().and_then(|it| it.phase.as_deref()) != Some("Released") => {
                unless_gone(self.volumes().patch_status(&name, &merge, &phase("Released")).await);
            }
            _ => {}
        }
        if volume.metadata.deletion_timestamp.is_some() && volume.finalizers() == [PROTECTION] {
            let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            unless_gone(self.volumes().patch(&name, &merge, &bare).await);
        }
    }

    /// A volume is to be at this node alone. It comes there once it has left the one before.
    async fn attach(&self, seen: &SeenClaims, volume: &PersistentVolume, node: Option<String>) {
        let all = seen.attachments_of(volume);
        for it in &all {
            if it.metadata.deletion_timestamp.is_none() && node.as_ref() != Some(&it.spec.node_name) {
                unless_gone(self.attachments().delete(&it.name_any(), &DeleteParams::default()).await);
            }
        }
        let Some(node) = node.filter(|_| all.is_empty()) else { return };
        let of = format!("{}{}{node}", handle(volume), self.driver);
        let name = format!("csi-{}", hex::encode(Sha256::digest(of)));
        let source = json!({ "persistentVolumeName": volume.name_any() });
        let spec = json!({ "attacher": self.driver, "nodeName": node, "source": source });
        made(&self.attachments(), json!({ "metadata": { "name": name }, "spec": spec })).await;
    }

    /// The kubelet has grown the filesystem.
    async fn grow(&self, volume: &PersistentVolume, claim: &PersistentVolumeClaim) {
        let capacity = volume.spec.as_ref().and_then(|it| it.capacity.clone());
        let done = json!({ "capacity": capacity, "allocatedResourceStatuses": null, "conditions": null });
        let done = Patch::Merge(json!({ "status": done }));
        unless_gone(self.claims().patch_status(&claim.name_any(), &PatchParams::default(), &done).await);
    }

    fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.admin.clone(), "default")
    }

    fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.admin.clone())
    }

    fn attachments(&self) -> Api<VolumeAttachment> {
        Api::all(self.admin.clone())
    }
}

impl SeenClaims {
    /// The claim with this name.
    pub(super) fn claim(&self, name: &str) -> Option<&PersistentVolumeClaim> {
        self.claims.iter().find(|it| it.name_any() == name)
    }

    /// The claim that a PersistentVolume was made for, if it is still there.
    fn claim_of(&self, volume: &PersistentVolume) -> Option<&PersistentVolumeClaim> {
        self.claims.iter().find(|it| volume_name(it) == volume.name_any())
    }

    /// The PersistentVolume of a claim.
    pub(super) fn volume(&self, claim: &PersistentVolumeClaim) -> Option<&PersistentVolume> {
        self.volumes.iter().find(|it| it.name_any() == volume_name(claim))
    }

    /// The attachments of a PersistentVolume.
    pub(super) fn attachments_of(&self, volume: &PersistentVolume) -> Vec<&VolumeAttachment> {
        let name = volume.name_any();
        let is_its = |it: &&VolumeAttachment| it.spec.source.persistent_volume_name.as_ref() == Some(&name);
        self.attachments.iter().filter(is_its).collect()
    }

    /// The objects that stand for something in the cloud, and hold it by a finalizer of aerostat's.
    pub(super) fn held(&self) -> Vec<String> {
        let is_ours = |it: &String| it.starts_with("external-");
        let provisioned =
            |it: &&PersistentVolume| it.finalizers().iter().any(|it| it.starts_with("external-provisioner"));
        let attached = self.attachments.iter().filter(|it| it.finalizers().iter().any(is_ours));
        let volumes = self.volumes.iter().filter(provisioned);
        volumes.map(|it| it.name_any()).chain(attached.map(|it| it.name_any())).collect()
    }
}

/// The name of a claim's disk and PersistentVolume.
pub(super) fn volume_name(claim: &PersistentVolumeClaim) -> String {
    format!("pvc-{}", claim.uid().unwrap_or_default())
}

/// The id of a PersistentVolume's disk.
pub(super) fn handle(volume: &PersistentVolume) -> &str {
    let csi = volume.spec.as_ref().and_then(|it| it.csi.as_ref());
    csi.map(|it| it.volume_handle.as_str()).unwrap_or_default()
}

pub(super) fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Bound")
}

/// Where the growth of a claim stands; empty where nothing grows.
pub(super) fn growth(claim: &PersistentVolumeClaim) -> &str {
    let statuses = claim.status.as_ref().and_then(|it| it.allocated_resource_statuses.as_ref());
    statuses.and_then(|it| it.get("storage")).map(String::as_str).unwrap_or_default()
}

async fn made<K>(api: &Api<K>, object: Value)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// An object that is gone meanwhile needs nothing any more.
fn unless_gone<T>(answer: kube::Result<T>) {
    match answer {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        answer => drop(answer.unwrap()),
    }
}
