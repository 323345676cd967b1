//! Volumes of EBS for claims, with the binary between a cluster and AWS. kube-controller-manager and the scheduler are the test's.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tests::moto::REGION;
use tests::vendor::aws::instance;
use tests::wait;

use crate::setup::{Rig, is_initialized, worker};

const DRIVER: &str = "ebs.csi.aws.com";
const ZONE: &str = "topology.kubernetes.io/zone";
const OWN_ZONE: &str = "topology.ebs.csi.aws.com/zone";
const FLAG: &str = "--controllers=*,volume-provisioner,volume-attacher";

/// The rules for volumes of claims, as the chart has them.
fn rules() -> Vec<Value> {
    let rule = |effect: &str, operation: &str, content: Value| {
        let mut rule = json!({ "methods": ["POST"], "paths": ["/"], "operations": [operation], "effect": effect });
        rule.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        rule
    };
    let (volume, instance) = (json!(["vol-*"]), json!(["i-*"]));
    let at = json!({ "InstanceId": instance, "VolumeId": volume });
    let mut attached = at.clone();
    attached["Device"] = json!(["/dev/sd*", "/dev/xvd*"]);
    let made = json!([
        "AvailabilityZone",
        "ClientToken",
        "Encrypted",
        "Iops",
        "KmsKeyId",
        "Size",
        "TagSpecification.1.Tag.*.Key",
        "TagSpecification.1.Tag.*.Value",
        "Throughput",
    ]);
    let kinds = json!({
        "TagSpecification.1.ResourceType": ["volume"], "VolumeType": ["gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"],
    });
    vec![
        rule("read", "DescribeVolumesModifications", json!({})),
        rule("write", "CreateVolume", json!({ "only": made, "where": kinds })),
        rule("update", "AttachVolume", json!({ "where": attached })),
        rule("write", "ModifyVolume", json!({ "only": ["Size"], "where": { "VolumeId": volume } })),
        rule("detach", "DetachVolume", json!({ "where": at })),
        rule("delete", "DeleteVolume", json!({ "where": { "VolumeId": volume } })),
    ]
}

/// A cluster with two nodes that have the driver's node plugin, and a class of it; each change of a volume takes a look or two.
async fn rig() -> Rig {
    let mut rig = Rig::new().await.flags(&[FLAG]);
    rig.cluster.follow("../docs/volumes.md").await;
    rig.cloud.behave(&json!({ "volume_reads": 1 }));
    rig.setup = rig.setup.edit(|config| {
        let settings = &mut config["provider"]["settings"];
        (settings["volumes"], settings["createAgainAfter"]) = (json!("true"), json!("1s"));
        config["endpoints"][0]["allow"].as_array_mut().unwrap().extend(rules());
    });
    for number in [1, 2] {
        rig.join(number).await;
        let drivers = json!([{
            "name": DRIVER, "nodeID": instance(number), "topologyKeys": ["kubernetes.io/os", OWN_ZONE, ZONE],
        }]);
        let node = json!({ "metadata": { "name": worker(number) }, "spec": { "drivers": drivers } });
        made::<CSINode>(&Api::all(rig.cluster.admin.clone()), node).await;
        let label = json!({ "metadata": { "labels": { OWN_ZONE: format!("{REGION}a") } } });
        rig.nodes().patch(&worker(number), &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    }
    let class = json!({
        "metadata": { "name": "fast" }, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
        "parameters": { "type": "gp3", "iops": "3500", "tagSpecification_1": "team=blue" },
    });
    made::<StorageClass>(&Api::all(rig.cluster.admin.clone()), class).await;
    rig
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
    let rig = rig().await;
    let name = claim(&rig, "data").await;
    let process = rig.start().await;
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
}

/// Cases: csi 25, csi 29
#[tokio::test]
async fn a_claims_volume_that_fails_spends_its_token() {
    let rig = rig().await;
    rig.cloud.behave(&json!({ "volumes_fail": 1 }));
    let name = claim(&rig, "data").await;
    let process = rig.start().await;
    rig.node(&worker(1), is_initialized).await;
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
    let rig = rig().await;
    let name = claim(&rig, "data").await;
    let tags = json!({ "CSIVolumeName": name, "ebs.csi.aws.com/cluster": "true" });
    let id = rig.order("volume", &json!({ "zone": format!("{REGION}a"), "tags": tags }));
    let process = rig.start().await;
    rig.node(&worker(1), is_initialized).await;
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
    let rig = rig().await;
    let name = claim(&rig, "data").await;
    let process = rig.start().await;
    rig.node(&worker(1), is_initialized).await;
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
