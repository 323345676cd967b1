//! Volumes of EBS for claims, with the module for them alone between a cluster and AWS. kube-controller-manager and the scheduler are the test's.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tests::moto::REGION;
use tests::operator::{Process, Setup, allow_leases};
use tests::vendor::aws::{self, instance};
use tests::wait;

use crate::setup::{Rig, is_initialized, worker};

const DRIVER: &str = "ebs.csi.aws.com";
const ZONE: &str = "topology.kubernetes.io/zone";
const OWN_ZONE: &str = "topology.ebs.csi.aws.com/zone";
/// The Lease of the process for volumes, beside that of the other one.
const LEASE: &str = "cloud-controller-manager-aws-ebs";

/// A cluster with two nodes that have the driver's node plugin, and a class of it; each change of a volume takes a look or two. The setup is that of the
/// release for volumes, which runs beside the cluster's own.
async fn rig() -> (Rig, Setup) {
    let rig = Rig::new().await;
    rig.cluster.follow("../docs/volumes.md").await;
    allow_leases(&rig.cluster, &[LEASE]).await;
    rig.cloud.behave(&json!({ "volume_reads": 1 }));
    let setup = aws::ebs(&rig.cluster, &rig.cloud);
    for number in [1, 2] {
        rig.join(number).await;
        let drivers = json!([{
            "name": DRIVER, "nodeID": instance(number), "topologyKeys": ["kubernetes.io/os", OWN_ZONE, ZONE],
        }]);
        let node = json!({ "metadata": { "name": worker(number) }, "spec": { "drivers": drivers } });
        made::<CSINode>(&Api::all(rig.cluster.admin.clone()), node).await;
        let zone = format!("{REGION}a");
        let labels = json!({ "metadata": { "labels": { OWN_ZONE: zone, ZONE: zone, "kubernetes.io/os": "linux" } } });
        rig.nodes().patch(&worker(number), &PatchParams::default(), &Patch::Merge(labels)).await.unwrap();
    }
    let class = json!({
        "metadata": { "name": "fast" }, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true,
        "parameters": { "type": "gp3", "iops": "3500", "tagSpecification_1": "team=blue" },
    });
    made::<StorageClass>(&Api::all(rig.cluster.admin.clone()), class).await;
    (rig, setup)
}

/// Starts the process for volumes.
async fn started(setup: &Setup) -> Process {
    let mut process = setup.start();
    process.says("started volume-provisioner").await;
    process
}

async fn made<K>(api: &Api<K>, object: Value) -> K
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), &from_value(object).unwrap()).await.unwrap()
}

fn claims(rig: &Rig) -> Api<PersistentVolumeClaim> {
    Api::namespaced(rig.cluster.admin.clone(), "default")
}

fn volumes(rig: &Rig) -> Api<PersistentVolume> {
    Api::all(rig.cluster.admin.clone())
}

fn attachments(rig: &Rig) -> Api<VolumeAttachment> {
    Api::all(rig.cluster.admin.clone())
}

/// A claim that nobody has given to the driver yet. Returns the name of its volume.
async fn claim(rig: &Rig, name: &str) -> String {
    let claim = json!({
        "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1536Mi" } },
        },
    });
    format!("pvc-{}", made(&claims(rig), claim).await.uid().unwrap())
}

/// Gives a claim to the driver, for a pod on a node, and waits until it has its volume.
async fn provisioned(rig: &Rig, claim: &str, volume: &str, node: u64) -> PersistentVolume {
    let given = json!({ "metadata": { "annotations": {
        "volume.kubernetes.io/storage-provisioner": DRIVER, "volume.kubernetes.io/selected-node": worker(node),
    } } });
    claims(rig).patch(claim, &PatchParams::default(), &Patch::Merge(given)).await.unwrap();
    let found = wait::within(wait::DEADLINE, async || volumes(rig).get(volume).await.ok()).await;
    let Some(found) = found else { panic!("{claim} gets no volume; {}", rig.told().await) };
    found
}

/// The volumes in the cloud that have a name there, and do not go.
fn in_cloud(rig: &Rig) -> Vec<Value> {
    let all = rig.order("volumes", &json!({})).as_array().cloned().unwrap();
    all.into_iter().filter(|it| it["tags"]["CSIVolumeName"].is_string() && it["state"] != "deleting").collect()
}

/// Waits until the volume is at this node, by an attachment that kube-controller-manager would have made.
async fn attached(rig: &Rig, volume: &str, node: u64) {
    let name = format!("csi-{volume}-{node}");
    let spec = json!({ "attacher": DRIVER, "nodeName": worker(node), "source": { "persistentVolumeName": volume } });
    made(&attachments(rig), json!({ "metadata": { "name": name }, "spec": spec })).await;
    let status = async || attachments(rig).get(&name).await.ok()?.status.filter(|it| it.attached);
    let Some(status) = wait::within(wait::DEADLINE, status).await else {
        panic!("{volume} does not come to {node}; {}", rig.told().await)
    };
    let [live] = &in_cloud(rig)[..] else { panic!("{:?}", in_cloud(rig)) };
    assert_eq!(live["instances"], json!([instance(node)]));
    assert_eq!(json!(status.attachment_metadata), json!({ "devicePath": live["devices"][0] }));
}

/// Lets go of it, and waits until it has left.
async fn detached(rig: &Rig, volume: &str, node: u64) {
    let name = format!("csi-{volume}-{node}");
    attachments(rig).delete(&name, &DeleteParams::default()).await.unwrap();
    wait::until("it has left the node", async || attachments(rig).get_opt(&name).await.ok()?.is_none().then_some(()))
        .await;
    assert_eq!(in_cloud(rig)[0]["instances"], json!([]));
}

/// The claim goes, and its volume is released.
async fn released(rig: &Rig, claim: &str, volume: &str) {
    let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    claims(rig).patch(claim, &PatchParams::default(), &bare).await.unwrap();
    claims(rig).delete(claim, &DeleteParams::default()).await.unwrap();
    let status = Patch::Merge(json!({ "status": { "phase": "Released" } }));
    volumes(rig).patch_status(volume, &PatchParams::default(), &status).await.unwrap();
    let gone = wait::within(wait::DEADLINE, async || in_cloud(rig).is_empty().then_some(())).await;
    assert!(gone.is_some(), "{:?}; {}", in_cloud(rig), rig.told().await);
}

/// Cases: csi 4, csi 35, csi 46, csi 52
#[tokio::test]
async fn a_claims_volume_of_ebs_is_made_moves_and_goes() {
    let (rig, setup) = rig().await;
    let name = claim(&rig, "data").await;
    // Each holds its own Lease, and none waits for the other.
    let (cluster, process) = (rig.start().await, started(&setup).await);
    rig.node(&worker(1), is_initialized).await;
    let volume = provisioned(&rig, "data", &name, 1).await;
    let [live] = &in_cloud(&rig)[..] else { panic!("{:?}", in_cloud(&rig)) };
    let (spec, zone) = (volume.spec.unwrap(), format!("{REGION}a"));
    assert_eq!(spec.capacity.unwrap()["storage"].0, "2Gi");
    assert_eq!(json!(spec.csi.unwrap().volume_handle), live["id"]);
    let affinity = json!([{ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": [&zone] }] }]);
    assert_eq!(json!(spec.node_affinity)["required"]["nodeSelectorTerms"], affinity);
    let shown = (&live["zone"], &live["gibibytes"], &live["type"], &live["iops"], &live["tags"]["team"]);
    assert_eq!(shown, (&json!(zone), &json!(2), &json!("gp3"), &json!(3_500), &json!("blue")));
    assert_eq!(live["tags"]["CSIVolumeName"], json!(name));

    attached(&rig, &name, 1).await;
    detached(&rig, &name, 1).await;
    attached(&rig, &name, 2).await;
    rig.order("end", &json!({ "id": instance(2) }));
    detached(&rig, &name, 2).await;
    released(&rig, "data", &name).await;
    process.stop().await;
    cluster.stop().await;
}

/// Cases: csi 71
#[tokio::test]
async fn a_claims_volume_of_ebs_grows_where_it_is() {
    let (rig, setup) = rig().await;
    let name = claim(&rig, "data").await;
    let process = started(&setup).await;
    provisioned(&rig, "data", &name, 1).await;
    attached(&rig, &name, 1).await;
    // As kube-controller-manager binds it.
    let merge =
        async |patch: Value| claims(&rig).patch("data", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    merge(json!({ "spec": { "volumeName": name } })).await;
    let bound = Patch::Merge(json!({ "status": { "phase": "Bound", "capacity": { "storage": "2Gi" } } }));
    claims(&rig).patch_status("data", &PatchParams::default(), &bound).await.unwrap();
    merge(json!({ "spec": { "resources": { "requests": { "storage": "3Gi" } } } })).await;
    let grown = async || {
        let volume = volumes(&rig).get(&name).await.ok()?;
        (volume.spec?.capacity?["storage"].0 == "3Gi").then_some(())
    };
    assert!(wait::within(wait::DEADLINE, grown).await.is_some(), "{:?}; {}", in_cloud(&rig), rig.told().await);
    let [live] = &in_cloud(&rig)[..] else { panic!("{:?}", in_cloud(&rig)) };
    assert_eq!((&live["gibibytes"], &live["instances"]), (&json!(3), &json!([instance(1)])));
    let asked = rig.cloud.asked("ec2", "ModifyVolume");
    assert_eq!(asked.len(), 1, "{asked:?}");
    process.stop().await;
}

/// Cases: csi 25
#[tokio::test]
async fn a_claims_volume_that_fails_spends_its_token() {
    let (rig, setup) = rig().await;
    rig.cloud.behave(&json!({ "volumes_fail": 1 }));
    let name = claim(&rig, "data").await;
    let process = started(&setup).await;
    provisioned(&rig, "data", &name, 1).await;
    let tokens = rig.cloud.asked("ec2", "CreateVolume");
    let tokens: Vec<_> = tokens.iter().map(|it| it.query_value("ClientToken")).collect();
    assert!(tokens.len() == 2 && tokens[0] != tokens[1], "{tokens:?}");
    assert_eq!(in_cloud(&rig).len(), 1);
    process.stop().await;
}

/// Cases: csi 28, csi 73
#[tokio::test]
async fn a_claims_volume_that_the_vendor_began_is_taken_over() {
    let (rig, setup) = rig().await;
    let name = claim(&rig, "data").await;
    let tags = json!({ "CSIVolumeName": name, "ebs.csi.aws.com/cluster": "true" });
    let id = rig.order("volume", &json!({ "zone": format!("{REGION}a"), "tags": tags }));
    let process = started(&setup).await;
    let volume = provisioned(&rig, "data", &name, 1).await;
    assert_eq!(json!(volume.spec.unwrap().csi.unwrap().volume_handle), id);
    assert!(rig.cloud.asked("ec2", "CreateVolume").is_empty());
    attached(&rig, &name, 1).await;
    detached(&rig, &name, 1).await;
    released(&rig, "data", &name).await;
    process.stop().await;
}

/// Cases: csi 58
#[tokio::test]
async fn a_claims_volume_waits_for_a_full_instance() {
    let (rig, setup) = rig().await;
    let name = claim(&rig, "data").await;
    let process = started(&setup).await;
    provisioned(&rig, "data", &name, 1).await;
    rig.cloud.behave(&json!({ "volumes_per_instance": 0 }));
    let spec = json!({ "attacher": DRIVER, "nodeName": worker(1), "source": { "persistentVolumeName": name } });
    made(&attachments(&rig), json!({ "metadata": { "name": "full" }, "spec": spec })).await;
    let said = wait::until("it is said why it waits", async || {
        attachments(&rig).get("full").await.ok()?.status?.attach_error?.message
    })
    .await;
    assert!(said.contains("AttachmentLimitExceeded"), "{said}");
    rig.cloud.behave(&json!({ "volumes_per_instance": 27 }));
    attachments(&rig).delete("full", &DeleteParams::default()).await.unwrap();
    wait::until("it is given up", async || attachments(&rig).get_opt("full").await.ok()?.is_none().then_some(())).await;
    attached(&rig, &name, 2).await;
    process.stop().await;
}
