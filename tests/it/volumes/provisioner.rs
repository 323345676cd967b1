//! The cluster, the cloud and the claims of the volume-provisioner's stories.

use std::sync::Arc;

use cloud_provider::{Cloud, KnownVolume, VolumeDescription, VolumeGrowth};
use controllers::{Account, volume_provisioner};
use k8s_openapi::api::core::v1::{ConfigMap, Event, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use scripted_cloud::ScriptedCloud;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::kubelet;
use tests::rig::{FakeCloud, Rig, description};
use tests::wait;

use crate::volumes::{affinity, all, create};

pub(crate) const DRIVER: &str = "csi.fakecloud.example";
/// The topology key of the driver.
pub(crate) const PLACE: &str = "csi.fakecloud.example/place";
pub(crate) const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const GIB: u64 = 1 << 30;

/// A cloud whose volumes are a script's: without one, each is made and deleted at once.
pub(crate) struct VolumeCloud {
    pub(crate) script: Arc<ScriptedCloud>,
}

impl VolumeCloud {
    pub(crate) fn new() -> Arc<Self> {
        let script = Arc::new(ScriptedCloud::default());
        script.describes_claimed_volumes(VolumeDescription {
            driver: DRIVER.to_owned(),
            topology_keys: vec![PLACE.to_owned()],
            access_modes: vec![cloud_provider::AccessMode::OneNode],
            filesystem: "ext4".to_owned(),
            smallest_bytes: GIB,
            step_bytes: GIB,
            largest_bytes: 100 * GIB,
            growth: VolumeGrowth::Online,
            get_batch_size: 1,
            ..VolumeDescription::default()
        });
        Arc::new(Self { script })
    }

    /// The handles of the volumes that it was asked to delete.
    pub(crate) fn deleted(&self) -> Vec<String> {
        self.script.delete_volume.calls().into_iter().map(|KnownVolume { handle, .. }| handle).collect()
    }

    /// The names of the volumes that it was asked to make.
    pub(crate) fn made(&self) -> Vec<String> {
        self.script.create_volume.calls().into_iter().map(|(it, _)| it.name).collect()
    }

    /// The names of those that it was asked to abandon.
    pub(crate) fn abandoned(&self) -> Vec<String> {
        self.script.abandon_volume.calls().into_iter().map(|it| it.name).collect()
    }
}

impl FakeCloud for VolumeCloud {
    fn offered(self: &Arc<Self>) -> Cloud {
        Cloud { volumes: Some(self.script.clone()), ..self.script.offering(Arc::new(description())) }
    }

    fn account(self: &Arc<Self>) -> Account {
        Account::new(self.script.clone(), None)
    }
}

/// The cluster, where aerostat may make volumes, with a node of the driver in the place `a`.
pub(crate) async fn cluster() -> Cluster {
    let cluster = tests::control_plane::cluster().await;
    cluster.follow("../docs/volumes.md").await;
    node(&cluster, "n1", "a").await;
    cluster
}

pub(crate) fn start(cluster: &Cluster, cloud: &Arc<VolumeCloud>) -> Rig {
    Rig::start(cluster, cloud, volume_provisioner::Options::default())
}

/// Creates an object with every right.
pub(crate) async fn made<K>(api: Api<K>, object: Value) -> K
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

/// A node in a place, with the driver's node plugin.
pub(crate) async fn node(cluster: &Cluster, name: &str, place: &str) {
    let mut node = kubelet::node(name);
    node.labels_mut().insert(PLACE.to_owned(), place.to_owned());
    kubelet::join_as(&cluster.admin, node).await.unwrap();
    let drivers = json!([{ "name": DRIVER, "nodeID": name, "topologyKeys": [PLACE] }]);
    let csi_node = json!({ "metadata": { "name": name }, "spec": { "drivers": drivers } });
    made(Api::<CSINode>::all(cluster.admin.clone()), csi_node).await;
}

/// A class of the driver.
pub(crate) async fn class(cluster: &Cluster, name: &str, change: Value) {
    let mut class = json!({ "metadata": { "name": name }, "provisioner": DRIVER });
    class.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    made(Api::<StorageClass>::all(cluster.admin.clone()), class).await;
}

pub(crate) fn claims(cluster: &Cluster) -> Api<PersistentVolumeClaim> {
    Api::namespaced(cluster.admin.clone(), "default")
}

/// A claim of a class, with these annotations. Returns the name of its volume.
pub(crate) async fn claim(cluster: &Cluster, name: &str, class: &str, annotations: Value) -> String {
    let claim = json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": { "requests": { "storage": "1536Mi" } },
        },
    });
    format!("pvc-{}", made(claims(cluster), claim).await.uid().unwrap())
}

/// The annotations by which kube-controller-manager gives a claim to the driver.
pub(crate) fn given() -> Value {
    json!({ "volume.kubernetes.io/storage-provisioner": DRIVER })
}

/// The same, once the scheduler has chosen a node.
pub(crate) fn given_at(node: &str) -> Value {
    json!({ "volume.kubernetes.io/storage-provisioner": DRIVER, "volume.kubernetes.io/selected-node": node })
}

/// Deletes a claim at once, whatever protects it.
pub(crate) async fn delete_claim(cluster: &Cluster, name: &str) {
    let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    claims(cluster).patch(name, &PatchParams::default(), &bare).await.unwrap();
    claims(cluster).delete(name, &DeleteParams::default()).await.unwrap();
}

pub(crate) fn intents(cluster: &Cluster) -> Api<ConfigMap> {
    Api::namespaced(cluster.admin.clone(), volume_provisioner::NAMESPACE)
}

/// Waits until no intent is left.
pub(crate) async fn no_intent(cluster: &Cluster) {
    wait::until("no intent is left", async || {
        let intents = intents(cluster).list(&ListParams::default()).await.ok()?.items;
        intents.iter().all(|it| !it.name_any().starts_with("aerostat-volume-")).then_some(())
    })
    .await;
}

/// A PersistentVolume of the driver that no claim has any more.
pub(crate) async fn released(cluster: &Cluster, name: &str, handle: &str, policy: &str) -> PersistentVolume {
    let mut volume = crate::volumes::volume(name, DRIVER);
    volume["spec"]["csi"]["volumeHandle"] = json!(handle);
    volume["spec"]["nodeAffinity"] = affinity(&[&[(PLACE, &["a"])]]);
    volume["spec"]["persistentVolumeReclaimPolicy"] = json!(policy);
    volume["spec"]["claimRef"] =
        json!({ "kind": "PersistentVolumeClaim", "name": "gone", "namespace": "default", "uid": "gone" });
    create(cluster, &volume).await.unwrap();
    phase(cluster, name, "Released").await
}

/// Writes a volume's phase, as kube-controller-manager.
pub(crate) async fn phase(cluster: &Cluster, name: &str, phase: &str) -> PersistentVolume {
    let status = Patch::Merge(json!({ "status": { "phase": phase } }));
    all(cluster).patch_status(name, &PatchParams::default(), &status).await.unwrap()
}

/// Takes Kubernetes' own protection off a volume, as kube-controller-manager, and waits until the volume is gone.
pub(crate) async fn volume_gone(cluster: &Cluster, name: &str) {
    wait::until(&format!("PersistentVolume {name} is gone"), async || {
        let Some(volume) = all(cluster).get_opt(name).await.ok()? else { return Some(()) };
        if volume.metadata.deletion_timestamp.is_some() && volume.finalizers() == ["kubernetes.io/pv-protection"] {
            let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            all(cluster).patch(name, &PatchParams::default(), &bare).await.ok();
        }
        None
    })
    .await;
}

/// A VolumeAttachment of a volume.
pub(crate) async fn attachment(cluster: &Cluster, volume: &str, node: &str) {
    let spec = json!({ "attacher": DRIVER, "nodeName": node, "source": { "persistentVolumeName": volume } });
    let attachment = json!({ "metadata": { "name": "attached" }, "spec": spec });
    made(Api::<VolumeAttachment>::all(cluster.admin.clone()), attachment).await;
}

/// The event with this reason about an object, as soon as it is there.
pub(crate) async fn event(cluster: &Cluster, name: &str, reason: &str) -> Event {
    crate::volumes::event(cluster, name, reason).await
}
