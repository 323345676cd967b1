//! Volumes of in-tree plugins from before CSI, which the driver serves now.

use std::sync::Arc;

use cloud_provider::{AccessMode, InTreeVolumes, VolumeDescription};
use controllers::{volume_attacher, volume_provisioner};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::CSINode;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tests::control_plane::Cluster;
use tests::kubelet;
use tests::rig::Rig;

use crate::attachments::{CONTROLLERS, attachments, detached, gone, is_attached, node_shows, pod, seen};
use crate::provisioner::{FINALIZER, VolumeCloud, claims, cluster, made, phase, volume_gone};
use crate::volumes::{PROVISIONED_BY, all, create, when};

/// A driver that Kubernetes itself knows as the one behind an in-tree plugin.
const EBS: &str = "ebs.csi.aws.com";
const PLUGIN: &str = "kubernetes.io/aws-ebs";
const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";

fn cloud() -> Arc<VolumeCloud> {
    let cloud = VolumeCloud::new();
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: EBS.to_owned(),
        access_modes: vec![AccessMode::OneNode],
        in_tree: Some(InTreeVolumes {
            source: "awsElasticBlockStore".to_owned(),
            plugin: PLUGIN.to_owned(),
            handle: "{name}".to_owned(),
        }),
        ..VolumeDescription::default()
    });
    cloud
}

/// A volume of the plugin.
async fn in_tree(cluster: &Cluster, name: &str, policy: &str) {
    let volume = json!({
        "metadata": { "name": name, "annotations": { PROVISIONED_BY: PLUGIN } },
        "spec": {
            "capacity": { "storage": "1Gi" },
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": policy,
            "awsElasticBlockStore": { "volumeID": format!("aws://a/{name}"), "fsType": "ext4" },
        },
    });
    create(cluster, &volume).await.unwrap();
}

/// With kube-controller-manager's binder and attach/detach controller, which give the volume to the driver.
///
/// Cases: csi 67
#[tokio::test]
async fn a_pods_volume_of_an_in_tree_plugin_is_attached() {
    let cluster = cluster().await;
    kubelet::join_as(&cluster.admin, kubelet::node("n2")).await.unwrap();
    let drivers = json!([{ "name": EBS, "nodeID": "i-2", "topologyKeys": [] }]);
    let plugins = json!({ "storage.alpha.kubernetes.io/migrated-plugins": PLUGIN });
    let csi_node = json!({ "metadata": { "name": "n2", "annotations": plugins }, "spec": { "drivers": drivers } });
    made(Api::<CSINode>::all(cluster.admin.clone()), csi_node).await;
    let managed =
        json!({ "metadata": { "annotations": { "volumes.kubernetes.io/controller-managed-attach-detach": "true" } } });
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    nodes.patch("n2", &PatchParams::default(), &Patch::Merge(&managed)).await.unwrap();
    let flags = ["--leader-elect=false", CONTROLLERS].map(str::to_owned);
    cluster.control_plane.start_controller_manager(&flags).unwrap();
    let cloud = cloud();
    let _rig = Rig::start(&cluster, &cloud, volume_attacher::Options::default());
    in_tree(&cluster, "vol-1", "Retain").await;
    let claim = json!({
        "metadata": { "name": "data" },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": "vol-1",
            "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    made(claims(&cluster), claim).await;
    let is_bound = |it: &PersistentVolume| it.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Bound");
    let is_given = |it: &PersistentVolume| it.annotations().get(MIGRATED_TO).is_some_and(|it| it == EBS);
    when(&cluster, "vol-1", |it| is_bound(it) && is_given(it)).await;
    pod(&cluster, "one", "n2").await;
    let attached = seen(&cluster, "vol-1", is_attached).await;
    assert_eq!(
        (attached.spec.attacher.as_str(), attached.finalizers()),
        (EBS, &["external-attacher/ebs-csi-aws-com".to_owned()][..])
    );
    let (asked, node_id) = cloud.script.attach_volume.calls().remove(0);
    assert_eq!((asked.handle.as_str(), asked.name.as_str(), node_id.as_str()), ("vol-1", "vol-1", "i-2"));
    node_shows(&cluster, "n2", EBS, "vol-1").await;
    let pods: Api<Pod> = Api::namespaced(cluster.admin.clone(), "default");
    pods.delete("one", &DeleteParams::default().grace_period(0)).await.unwrap();
    gone(&cluster, "vol-1").await;
    assert_eq!(detached(&cloud), [("vol-1".to_owned(), "i-2".to_owned())]);
    cluster.control_plane.kill_controller_manager().await.unwrap();
}

/// A pod names it itself, without a PersistentVolume: it comes in the attachment.
///
/// Cases: csi 67
#[tokio::test]
async fn a_volume_that_a_pod_itself_names_is_attached() {
    let cluster = cluster().await;
    let drivers = json!([{ "name": EBS, "nodeID": "i-2", "topologyKeys": [] }]);
    let csi_nodes: Api<CSINode> = Api::all(cluster.admin.clone());
    made(csi_nodes, json!({ "metadata": { "name": "n2" }, "spec": { "drivers": drivers } })).await;
    let cloud = cloud();
    let _rig = Rig::start(&cluster, &cloud, volume_attacher::Options::default());
    let inline = json!({
        "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
        "csi": { "driver": EBS, "volumeHandle": "vol-7" },
    });
    let spec = json!({ "attacher": EBS, "nodeName": "n2", "source": { "inlineVolumeSpec": inline } });
    made(attachments(&cluster), json!({ "metadata": { "name": "inline" }, "spec": spec })).await;
    tests::wait::until("it is attached", async || attachments(&cluster).get("inline").await.ok().filter(is_attached))
        .await;
    attachments(&cluster).delete("inline", &DeleteParams::default()).await.unwrap();
    tests::wait::until("it is gone", async || {
        attachments(&cluster).get_opt("inline").await.ok().filter(Option::is_none)
    })
    .await;
    assert_eq!(detached(&cloud), [("vol-7".to_owned(), "i-2".to_owned())]);
}

/// A volume of the plugin that kube-controller-manager has given to the driver, and that no claim has any more.
async fn given_and_released(cluster: &Cluster, name: &str) {
    in_tree(cluster, name, "Delete").await;
    let given = json!({ "metadata": { "annotations": { MIGRATED_TO: EBS }, "finalizers": [FINALIZER] } });
    all(cluster).patch(name, &PatchParams::default(), &Patch::Merge(&given)).await.unwrap();
    phase(cluster, name, "Released").await;
}

#[tokio::test]
async fn a_released_volume_of_an_in_tree_plugin_is_deleted() {
    let cluster = cluster().await;
    in_tree(&cluster, "vol-2", "Delete").await;
    phase(&cluster, "vol-2", "Released").await;
    given_and_released(&cluster, "vol-1").await;
    let cloud = cloud();
    let _rig = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    volume_gone(&cluster, "vol-1").await;
    // By then the one that was there from the beginning has had its turn.
    given_and_released(&cluster, "vol-3").await;
    volume_gone(&cluster, "vol-3").await;
    assert_eq!(cloud.deleted(), ["vol-1", "vol-3"], "the other one is still its plugin's");
}
