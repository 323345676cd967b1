//! Volumes of Cinder for claims, with the module for them alone. kube-controller-manager and the scheduler are the test's.

use http::Method;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tests::operator::{self, Process, allow_leases};
use tests::real_openstack::operator::operator_of_volumes;
use tests::real_openstack::{RealOpenstack, VOLUMES};

use crate::setup::{Site, play};

const DRIVER: &str = "cinder.csi.openstack.org";
const ZONE: &str = "topology.cinder.csi.openstack.org/zone";
/// The Lease of the process for volumes.
const LEASE: &str = "cloud-controller-manager-cinder";

/// A cluster with two nodes that have the driver's node plugin, and a class of it.
struct VolumeSite {
    site: Site,
    /// The ids of the servers of the nodes.
    servers: Vec<String>,
}

impl VolumeSite {
    async fn new(cloud: &'static RealOpenstack, name: &'static str) -> Self {
        let mut site = Site::new(cloud, name).await;
        site.cluster.follow("../docs/volumes.md").await;
        allow_leases(&site.cluster, &[LEASE]).await;
        site.setup = operator_of_volumes(&site.cluster, cloud, LEASE)
            .flags(&[&format!("--cluster-name={name}"), "--leader-elect-retry-period=200ms"]);
        let mut servers = Vec::new();
        for number in [1, 2] {
            let node = node(number);
            let id = site.join(&node, 20 + number).await;
            let drivers = json!([{ "name": DRIVER, "nodeID": id, "topologyKeys": [ZONE] }]);
            let plugins = json!({ "metadata": { "name": node }, "spec": { "drivers": drivers } });
            made::<CSINode>(&Api::all(site.cluster.admin.clone()), plugins).await;
            let labels = Patch::Merge(json!({ "metadata": { "labels": { ZONE: "nova" } } }));
            let nodes: Api<Node> = Api::all(site.cluster.admin.clone());
            nodes.patch(&node, &PatchParams::default(), &labels).await.unwrap();
            servers.push(id);
        }
        let class = json!({
            "metadata": { "name": "fast" }, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": true, "parameters": { "type": "fast" },
        });
        made::<StorageClass>(&Api::all(site.cluster.admin.clone()), class).await;
        let _ = site.asked();
        Self { site, servers }
    }

    async fn process(&self) -> Process {
        let mut process = self.site.setup.start();
        process.says("started volume-provisioner").await;
        process
    }

    fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::default_namespaced(self.site.cluster.admin.clone())
    }

    fn volumes(&self) -> Api<PersistentVolume> {
        Api::all(self.site.cluster.admin.clone())
    }

    fn attachments(&self) -> Api<VolumeAttachment> {
        Api::all(self.site.cluster.admin.clone())
    }

    /// A claim for a pod on the first node. Returns the name of its volume.
    async fn claim(&self, name: &str, size: &str) -> String {
        let claim = json!({
            "metadata": { "name": name, "annotations": {
                "volume.kubernetes.io/storage-provisioner": DRIVER, "volume.kubernetes.io/selected-node": node(1),
            } },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": size } },
            },
        });
        format!("pvc-{}", made(&self.claims(), claim).await.uid().unwrap())
    }

    /// Waits until a claim has its volume.
    async fn provisioned(&self, volume: &str) -> PersistentVolume {
        self.site.eventually(&format!("{volume} is made"), async || self.volumes().get(volume).await.ok()).await
    }

    /// The volumes of the project, as Cinder shows them.
    async fn disks(&self) -> Vec<Value> {
        let path = format!("/v3/volumes/detail?all_tenants=1&project_id={}", self.site.cloud.ground.project);
        self.site.cloud.cloud.list(VOLUMES, &path, "volumes").await
    }

    /// The only one.
    async fn disk(&self) -> Value {
        let [disk] = &self.disks().await[..] else { panic!("one volume, and not {:#?}", self.disks().await) };
        disk.clone()
    }

    /// Makes the attachment that kube-controller-manager would make: its name.
    async fn attach(&self, volume: &str, number: u8) -> String {
        let name = format!("csi-{volume}-{number}");
        let source = json!({ "persistentVolumeName": volume });
        let spec = json!({ "attacher": DRIVER, "nodeName": node(number), "source": source });
        made(&self.attachments(), json!({ "metadata": { "name": name }, "spec": spec })).await;
        name
    }

    /// Waits until the volume is at the node of an attachment, and Cinder says so.
    async fn attached(&self, attachment: &str, number: u8) {
        let is_there = async || self.attachments().get(attachment).await.ok()?.status.filter(|it| it.attached);
        let status = self.site.eventually(&format!("it is at node {number}"), is_there).await;
        let disk = self.disk().await;
        assert_eq!((&disk["status"], disk["attachments"].as_array().unwrap().len()), (&json!("in-use"), 1), "{disk:#}");
        let live = &disk["attachments"][0];
        assert_eq!(live["server_id"], json!(self.servers[usize::from(number) - 1]));
        assert_eq!(json!(status.attachment_metadata), json!({ "DevicePath": live["device"] }));
    }

    /// Lets go of it, and waits until it has left.
    async fn detached(&self, attachment: &str) {
        self.attachments().delete(attachment, &DeleteParams::default()).await.unwrap();
        let left = async || self.attachments().get_opt(attachment).await.ok()?.is_none().then_some(());
        self.site.eventually("it has left its node", left).await;
    }

    /// A claim is bound, as kube-controller-manager would say it, and asks for more.
    async fn asks(&self, claim: &str, volume: &str, from: &str, to: &str) {
        let (claims, params, merge) = (self.claims(), PatchParams::default(), |it: Value| Patch::Merge(it));
        claims.patch(claim, &params, &merge(json!({ "spec": { "volumeName": volume } }))).await.unwrap();
        let bound = json!({ "status": { "phase": "Bound", "capacity": { "storage": from } } });
        claims.patch_status(claim, &params, &merge(bound)).await.unwrap();
        let bound = json!({ "status": { "phase": "Bound" } });
        self.volumes().patch_status(volume, &params, &merge(bound)).await.unwrap();
        let asked = json!({ "spec": { "resources": { "requests": { "storage": to } } } });
        claims.patch(claim, &params, &merge(asked)).await.unwrap();
    }

    /// Waits until a volume has this size.
    async fn grown(&self, volume: &str, to: &str) {
        let is_larger = async || {
            let spec = self.volumes().get(volume).await.ok()?.spec?;
            (spec.capacity?.get("storage")?.0 == to).then_some(())
        };
        self.site.eventually(&format!("{volume} has {to}"), is_larger).await;
    }

    /// Waits until a claim says that its volume has this size in the cloud, and that the rest is its node's.
    async fn waits_for_node(&self, claim: &str, size: &str) {
        let waits = async || {
            let status = json!(self.claims().get(claim).await.ok()?.status);
            (status["allocatedResourceStatuses"]["storage"] == "NodeResizePending").then_some(status)
        };
        let status = self.site.eventually(&format!("{claim} waits for its node"), waits).await;
        assert_eq!(status["allocatedResources"]["storage"], size, "{status:#}");
        assert_eq!(status["conditions"][0]["type"], "FileSystemResizePending", "{status:#}");
    }

    /// A claim goes, and its volume is released.
    async fn released(&self, claim: &str, volume: &str) {
        let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        self.claims().patch(claim, &PatchParams::default(), &bare).await.unwrap();
        self.claims().delete(claim, &DeleteParams::default()).await.unwrap();
        let status = Patch::Merge(json!({ "status": { "phase": "Released" } }));
        self.volumes().patch_status(volume, &PatchParams::default(), &status).await.unwrap();
        let gone = async || self.disks().await.is_empty().then_some(());
        self.site.eventually(&format!("{volume} leaves Cinder"), gone).await;
    }
}

fn node(number: u8) -> String {
    format!("web-{number}")
}

async fn made<K>(api: &Api<K>, object: Value) -> K
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &from_value(object).unwrap()).await.unwrap()
}

/// The answer to its creation is lost once Cinder has it.
///
/// Cases: csi 4, csi 19, csi 35, csi 46, csi 57, csi 69, csi 71
#[test]
fn a_claims_volume_of_cinder_is_made_moves_grows_and_goes() {
    play(async |cloud| {
        let ground = VolumeSite::new(cloud, "volumes").await;
        let (site, process) = (&ground.site, ground.process().await);
        cloud.volume.lose_answer(Method::POST, "volumes");
        let name = ground.claim("data", "1536Mi").await;
        site.told("data", &["may have been created or not"]).await;
        let (volume, disk) = (ground.provisioned(&name).await, ground.disk().await);
        let spec = volume.spec.unwrap();
        assert_eq!(spec.capacity.unwrap()["storage"].0, "2Gi");
        assert_eq!(json!(spec.csi.unwrap().volume_handle), disk["id"]);
        let affinity = json!([{ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": ["nova"] }] }]);
        assert_eq!(json!(spec.node_affinity)["required"]["nodeSelectorTerms"], affinity);
        let shown = ["name", "size", "volume_type", "availability_zone", "status"].map(|it| disk[it].clone());
        assert_eq!(json!(shown), json!([name, 2, "fast", "nova", "available"]));
        let marks = ["cinder.csi.openstack.org/cluster", "csi.storage.k8s.io/pvc/name", "aerostat.dev/claim-uid"];
        assert_eq!(json!(marks.map(|it| disk["metadata"][it].clone())), json!(["volumes", "data", &name[4..]]));
        let asked = site.asked();
        asked.show("creation");
        assert_eq!(asked.writes(), ["POST /v3/*/volumes"], "it was found, and not sent again");

        let first = ground.attach(&name, 1).await;
        ground.attached(&first, 1).await;
        site.asked().show("attachment");
        let second = ground.attach(&name, 2).await;
        let told = site.eventually("it is said why it waits", async || {
            ground.attachments().get(&second).await.ok()?.status?.attach_error?.message
        });
        operator::says(&told.await, &[&ground.servers[0]]);
        ground.asks("data", &name, "2Gi", "3Gi").await;
        ground.grown(&name, "3Gi").await;
        let disk = ground.disk().await;
        assert_eq!((&disk["size"], &disk["status"]), (&json!(3), &json!("in-use")), "it grows where it is");
        ground.waits_for_node("data", "3Gi").await;
        site.asked().show("growth");
        ground.detached(&first).await;
        ground.attached(&second, 2).await;
        site.asked().show("move");
        ground.detached(&second).await;
        let disk = ground.disk().await;
        assert_eq!((&disk["attachments"], &disk["status"]), (&json!([]), &json!("available")));
        ground.released("data", &name).await;
        site.asked().show("deletion");
        process.stop().await;
    });
}

/// Cases: csi 29, csi 30
#[test]
fn a_claim_without_quota_or_room_in_cinder_is_told() {
    play(async |cloud| {
        let ground = VolumeSite::new(cloud, "full").await;
        let process = ground.process().await;
        let quota = async |volumes: i32| {
            let path = format!("/v3/os-quota-sets/{}", cloud.ground.project);
            let body = json!({ "quota_set": { "volumes": volumes } });
            cloud.cloud.done(Method::PUT, VOLUMES, &path, body).await;
        };
        quota(0).await;
        let name = ground.claim("data", "1Gi").await;
        ground.site.told("data", &["quota"]).await;
        assert_eq!(ground.disks().await, [Value::Null; 0]);
        quota(10).await;
        ground.provisioned(&name).await;
        ground.released("data", &name).await;
        let large = ground.claim("large", "200Gi").await;
        ground.site.told("large", &["any available weighted backend"]).await;
        ground
            .site
            .eventually("the claim goes back to the scheduler", async || {
                let claim = ground.claims().get("large").await.ok()?;
                (!claim.annotations().contains_key("volume.kubernetes.io/selected-node")).then_some(())
            })
            .await;
        let is_made = ground.volumes().get_opt(&large).await.unwrap().is_some();
        assert!(!is_made && ground.disks().await.is_empty(), "{:#?}", ground.disks().await);
        process.stop().await;
    });
}
