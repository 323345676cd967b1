//! Persistent Disks for claims, with the module for them alone between a cluster and Compute Engine. kube-controller-manager and the scheduler
//! are the test's.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tests::clouds::gcp::{Collection, OperationFailure, OperationTime, Options, Simulator, World, link};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{Process, Setup, allow_leases};
use tests::vendor::gcp::{allow_disks, volumes_setup};
use tests::{kubelet, wait};

use crate::ground::zone;

const DRIVER: &str = "pd.csi.storage.gke.io";
const ZONE: &str = "topology.gke.io/zone";
/// The Lease of the process for volumes.
const LEASE: &str = "cloud-controller-manager-gcp-pd";

/// A cluster with two nodes in zone b that have the driver's node plugin, and a class of it.
struct ClaimGround {
    cluster: Cluster,
    cloud: Simulator,
    setup: Setup,
}

impl ClaimGround {
    async fn start() -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
        let cloud = cloud.unwrap();
        cloud.with(World::build_plain);
        cloud.behave(|it| it.operations = OperationTime::Time(Duration::from_millis(500)));
        cluster.follow("../docs/volumes.md").await;
        allow_disks(&cluster, ":volume").await;
        allow_leases(&cluster, &[LEASE]).await;
        let setup = volumes_setup(&cluster, &cloud);
        let ground = Self { cluster, cloud, setup };
        for number in [1, 2] {
            ground.join(number).await;
        }
        let class = json!({
            "metadata": { "name": "fast" }, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": true, "parameters": { "type": "pd-ssd", "labels": "team=blue" },
        });
        made::<StorageClass>(&ground.api(), class).await;
        ground
    }

    /// A machine as a node with the driver.
    async fn join(&self, number: u32) {
        let name = worker(number);
        self.cloud.with(|world| _ = world.add_machine(&zone("b"), number, &name));
        kubelet::join(&self.cluster.admin, &name).await.unwrap();
        let drivers = json!([{ "name": DRIVER, "nodeID": instance(number), "topologyKeys": [ZONE] }]);
        made::<CSINode>(&self.api(), json!({ "metadata": { "name": name }, "spec": { "drivers": drivers } })).await;
        let labels = json!({ "metadata": { "labels": { ZONE: "europe-west1-b" } } });
        let nodes: Api<Node> = self.api();
        nodes.patch(&name, &PatchParams::default(), &Patch::Merge(labels)).await.unwrap();
    }

    async fn process(&self) -> Process {
        let mut process = self.setup.start();
        process.says("started volume-provisioner").await;
        process
    }

    /// Objects of no namespace.
    fn api<K: Resource<Scope = k8s_openapi::ClusterResourceScope, DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.cluster.admin.clone())
    }

    fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    fn volumes(&self) -> Api<PersistentVolume> {
        self.api()
    }

    fn attachments(&self) -> Api<VolumeAttachment> {
        self.api()
    }

    /// A claim for a pod on the first node. Returns the name of its volume.
    async fn claim(&self, name: &str) -> String {
        let claim = json!({
            "metadata": { "name": name, "annotations": {
                "volume.kubernetes.io/storage-provisioner": DRIVER, "volume.kubernetes.io/selected-node": worker(1),
            } },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "resources": { "requests": { "storage": "1536Mi" } },
            },
        });
        format!("pvc-{}", made(&self.claims(), claim).await.uid().unwrap())
    }

    /// Waits until the claim has its volume.
    async fn provisioned(&self, volume: &str) -> PersistentVolume {
        let found = wait::within(wait::DEADLINE, async || self.volumes().get(volume).await.ok()).await;
        found.unwrap_or_else(|| panic!("{volume} is not made: {:?}", self.disks()))
    }

    /// The disks of claims in the cloud, as they are stored.
    fn disks(&self) -> Vec<Value> {
        let all = self.cloud.account().all(Collection::Disks);
        all.into_iter().filter(|it| it["labels"]["aerostat-claim-uid"].is_string()).collect()
    }

    /// The disks that a machine has, by the names of their devices and their links.
    fn disks_of(&self, number: u32) -> Vec<(Value, Value)> {
        let path = zone("b").path(Collection::Instances, &worker(number));
        let machine = self.cloud.with(|world| world.get(&path).cloned()).unwrap_or_default();
        let disks = machine["disks"].as_array().cloned().unwrap_or_default();
        disks.into_iter().map(|it| (it["deviceName"].clone(), it["source"].clone())).collect()
    }

    /// Makes the attachment that kube-controller-manager would make.
    async fn attach(&self, volume: &str, number: u32) -> String {
        let name = format!("csi-{volume}-{number}");
        let source = json!({ "persistentVolumeName": volume });
        let spec = json!({ "attacher": DRIVER, "nodeName": worker(number), "source": source });
        made(&self.attachments(), json!({ "metadata": { "name": name }, "spec": spec })).await;
        name
    }

    /// Waits until the volume is at this node.
    async fn attached(&self, volume: &str, number: u32) {
        let name = self.attach(volume, number).await;
        let status = async || self.attachments().get(&name).await.ok()?.status.filter(|it| it.attached);
        let Some(status) = wait::within(wait::DEADLINE, status).await else {
            panic!("{volume} does not come to {number}: {:?}", self.attachments().get(&name).await)
        };
        assert!(status.attachment_metadata.is_none_or(|it| it.is_empty()), "the node plugin goes by the disk's name");
        assert_eq!(self.disks_of(number), [(json!(volume), json!(link(&zone("b").path(Collection::Disks, volume))))]);
    }

    /// Lets go of it, and waits until it has left.
    async fn detached(&self, volume: &str, number: u32) {
        let name = format!("csi-{volume}-{number}");
        self.attachments().delete(&name, &DeleteParams::default()).await.unwrap();
        let is_gone = async || self.attachments().get_opt(&name).await.ok()?.is_none().then_some(());
        wait::until("it has left the node", is_gone).await;
        assert!(self.disks_of(number).is_empty());
    }

    /// The claim is bound, as kube-controller-manager would say it, and asks for more.
    async fn grows(&self, claim: &str, volume: &str, from: &str, to: &str) {
        let merge = |it: Value| Patch::Merge(it);
        let (claims, params) = (self.claims(), PatchParams::default());
        claims.patch(claim, &params, &merge(json!({ "spec": { "volumeName": volume } }))).await.unwrap();
        let bound = json!({ "status": { "phase": "Bound", "capacity": { "storage": from } } });
        claims.patch_status(claim, &params, &merge(bound)).await.unwrap();
        let bound = json!({ "status": { "phase": "Bound" } });
        self.volumes().patch_status(volume, &params, &merge(bound)).await.unwrap();
        let asked = json!({ "spec": { "resources": { "requests": { "storage": to } } } });
        claims.patch(claim, &params, &merge(asked)).await.unwrap();
        let is_larger = async || {
            let spec = self.volumes().get(volume).await.ok()?.spec?;
            (spec.capacity?.get("storage")?.0 == to).then_some(())
        };
        let larger = wait::within(wait::DEADLINE, is_larger).await;
        assert!(larger.is_some(), "{:?} {:?}", self.disks(), self.claims().get(claim).await);
    }

    /// The claim goes, and its volume is released.
    async fn released(&self, claim: &str, volume: &str) {
        let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        self.claims().patch(claim, &PatchParams::default(), &bare).await.unwrap();
        self.claims().delete(claim, &DeleteParams::default()).await.unwrap();
        let status = Patch::Merge(json!({ "status": { "phase": "Released" } }));
        self.volumes().patch_status(volume, &PatchParams::default(), &status).await.unwrap();
        let gone = wait::within(wait::DEADLINE, async || self.disks().is_empty().then_some(())).await;
        assert!(gone.is_some(), "{:?}", self.disks());
    }
}

fn worker(number: u32) -> String {
    format!("node-{number}")
}

/// The node's id, as the driver's node plugin writes it.
fn instance(number: u32) -> String {
    zone("b").path(Collection::Instances, &worker(number))
}

async fn made<K>(api: &Api<K>, object: Value) -> K
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &from_value(object).unwrap()).await.unwrap()
}

/// Cases: csi 4, csi 35, csi 46, csi 52, csi 69
#[tokio::test]
async fn a_claims_disk_is_made_moves_grows_and_goes() {
    let ground = ClaimGround::start().await;
    let name = ground.claim("data").await;
    let process = ground.process().await;
    let volume = ground.provisioned(&name).await;
    let [disk] = &ground.disks()[..] else { panic!("{:?}", ground.disks()) };
    let (spec, place) = (volume.spec.unwrap(), zone("b"));
    assert_eq!(spec.capacity.unwrap()["storage"].0, "2Gi");
    assert_eq!(spec.csi.unwrap().volume_handle, place.path(Collection::Disks, &name));
    let affinity = json!([{ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": ["europe-west1-b"] }] }]);
    assert_eq!(json!(spec.node_affinity)["required"]["nodeSelectorTerms"], affinity);
    let kind = link(&format!("{place}/diskTypes/pd-ssd"));
    assert_eq!((&disk["sizeGb"], &disk["type"], &disk["labels"]["team"]), (&json!("2"), &json!(kind), &json!("blue")));
    assert!(disk["description"].as_str().unwrap().contains(DRIVER), "{disk}");

    ground.attached(&name, 1).await;
    ground.detached(&name, 1).await;
    ground.attached(&name, 2).await;
    ground.grows("data", &name, "2Gi", "3Gi").await;
    assert_eq!(ground.disks()[0]["sizeGb"], "3");
    ground.cloud.with(|world| drop(world.remove(&place.path(Collection::Instances, &worker(2)))));
    ground.detached(&name, 2).await;
    ground.released("data", &name).await;
    process.stop().await;
    ground.cloud.assert_valid();
}

/// Cases: csi 28, csi 73
#[tokio::test]
async fn a_claims_disk_that_the_vendor_began_is_taken_over() {
    let ground = ClaimGround::start().await;
    let name = ground.claim("data").await;
    let description = json!({ "kubernetes.io/created-for/pv/name": name, "storage.gke.io/created-by": DRIVER });
    let disk = json!({
        "name": name, "sizeGb": "2", "status": "READY", "description": description.to_string(),
        "type": link(&format!("{}/diskTypes/pd-ssd", zone("b"))),
    });
    ground.cloud.with(|world| _ = world.insert(&zone("b"), Collection::Disks, disk));
    let process = ground.process().await;
    let volume = ground.provisioned(&name).await;
    assert_eq!(volume.spec.unwrap().csi.unwrap().volume_handle, zone("b").path(Collection::Disks, &name));
    let all = ground.cloud.account().all(Collection::Disks);
    assert!(all.len() == 1 && ground.disks().is_empty(), "no other one is made: {all:?}");
    process.stop().await;
}

/// Cases: csi 29
#[tokio::test]
async fn a_claims_disk_without_room_gives_the_claim_back() {
    let ground = ClaimGround::start().await;
    let failure = OperationFailure {
        verb: "insert",
        collection: Collection::Disks,
        code: "ZONE_RESOURCE_POOL_EXHAUSTED",
        message: "The zone does not have enough resources available.".to_owned(),
        status: 503,
    };
    ground.cloud.behave(|it| it.failures = vec![failure]);
    let name = ground.claim("data").await;
    let process = ground.process().await;
    wait::until("the claim goes back to the scheduler", async || {
        let claim = ground.claims().get("data").await.ok()?;
        (!claim.annotations().contains_key("volume.kubernetes.io/selected-node")).then_some(())
    })
    .await;
    assert!(ground.disks().is_empty() && ground.volumes().get_opt(&name).await.unwrap().is_none());
    process.stop().await;
}

/// Cases: csi 58
#[tokio::test]
async fn a_claims_disk_waits_for_a_full_machine() {
    let ground = ClaimGround::start().await;
    ground.cloud.behave(|it| it.disks_per_machine = 0);
    let name = ground.claim("data").await;
    let process = ground.process().await;
    ground.provisioned(&name).await;
    let attachment = ground.attach(&name, 1).await;
    let said = wait::until("it is said why it waits", async || {
        ground.attachments().get(&attachment).await.ok()?.status?.attach_error?.message
    })
    .await;
    assert!(said.contains("maximum_persistent_disks"), "{said}");
    process.stop().await;
}
