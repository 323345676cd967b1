//! Volumes of pods: with kube-controller-manager, which says where they are needed, and on the claims that pods name.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, KnownVolume, VolumeAttachment as Attachment};
use controllers::volume_attacher;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::rig::Rig;
use tests::wait;

use crate::attachments::{
    CONTROLLERS, FINALIZER, NODE_ID, attach, detached, is_attached, node_shows, persistent, pod, seen, told,
};
use crate::provisioner::{DRIVER, VolumeCloud, claims, cluster, event, made, node};
use crate::volumes::{all, when};

/// So long nothing happens that is not to happen: kube-controller-manager looks ten times a second.
const QUIET: Duration = Duration::from_secs(3);

/// The claim `data`, which is to have the volume `pv-1`.
async fn claim(cluster: &Cluster) {
    let claim = json!({
        "metadata": { "name": "data" },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": "pv-1",
            "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    made(claims(cluster), claim).await;
}

fn nodes(cluster: &Cluster) -> Api<Node> {
    Api::all(cluster.admin.clone())
}

fn pods(cluster: &Cluster) -> Api<Pod> {
    Api::namespaced(cluster.admin.clone(), "default")
}

/// Says as the kubelet of `n1` which volumes it has in use.
async fn in_use(cluster: &Cluster, volumes: &[&str]) {
    let names: Vec<_> = volumes.iter().map(|it| format!("kubernetes.io/csi/{DRIVER}^{it}")).collect();
    let status = Patch::Merge(json!({ "status": { "volumesInUse": names } }));
    nodes(cluster).patch_status("n1", &PatchParams::default(), &status).await.unwrap();
}

/// A cloud whose attachments have a device.
fn cloud() -> Arc<VolumeCloud> {
    let cloud = VolumeCloud::new();
    let device = |(it, _): (KnownVolume, String)| vec![("device".to_owned(), format!("/dev/{}", it.handle))];
    cloud.script.attach_volume.answers(move |it| Ok(Attachment::Ready(device(it))).into());
    cloud
}

/// The volume of the claim `data` at the node `n1`, for the pod `one`, with kube-controller-manager's binder and attach/detach controller. The kubelets are
/// the test's: that of `n1` has the volume in use, while the pod `two` waits for it at `n2`.
async fn wanted_by_two(cluster: &Cluster, cloud: &Arc<VolumeCloud>) -> Rig {
    node(cluster, "n2", "a").await;
    let managed =
        json!({ "metadata": { "annotations": { "volumes.kubernetes.io/controller-managed-attach-detach": "true" } } });
    for name in ["n1", "n2"] {
        nodes(cluster).patch(name, &PatchParams::default(), &Patch::Merge(&managed)).await.unwrap();
    }
    let flags = ["--leader-elect=false", CONTROLLERS].map(str::to_owned);
    cluster.control_plane.start_controller_manager(&flags).unwrap();
    let rig = Rig::start(cluster, cloud, volume_attacher::Options::default());
    persistent(cluster, "pv-1").await;
    claim(cluster).await;
    when(cluster, "pv-1", |it| it.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Bound")).await;

    pod(cluster, "one", "n1").await;
    let at_one = seen(cluster, "pv-1", is_attached).await;
    assert_eq!(at_one.finalizers(), [FINALIZER]);
    assert_eq!((at_one.annotations()[NODE_ID].as_str(), at_one.spec.node_name.as_str()), ("n1", "n1"));
    assert_eq!(json!(at_one.status.unwrap().attachment_metadata), json!({ "device": "/dev/pv-1" }));
    assert!(all(cluster).get("pv-1").await.unwrap().finalizers().iter().any(|it| it == FINALIZER));
    event(cluster, "one", "SuccessfulAttachVolume").await;
    node_shows(cluster, "n1", DRIVER, "pv-1").await;
    in_use(cluster, &["pv-1"]).await;

    pod(cluster, "two", "n2").await;
    let told = event(cluster, "two", "FailedAttachVolume").await;
    assert!(told.message.unwrap().contains("Multi-Attach"));
    assert_eq!(cloud.script.attach_volume.asked(), 1, "it is held at one node");
    pods(cluster).delete("one", &DeleteParams::default().grace_period(0)).await.unwrap();
    let early = wait::within(QUIET, async || (!detached(cloud).is_empty()).then_some(())).await;
    assert_eq!(early, None, "the node has it in use");
    rig
}

/// The volume has come to the node of the second pod, and was detached from the first one before.
async fn moved(cluster: &Cluster, cloud: &VolumeCloud) {
    seen(cluster, "pv-1", |it| it.spec.node_name == "n2" && is_attached(it)).await;
    assert_eq!(detached(cloud), [("pv-1".to_owned(), "n1".to_owned())]);
    let order: Vec<_> = cloud.script.calls().into_iter().filter(|it| it.contains("tach")).collect();
    assert_eq!(order, ["attach pv-1 n1", "detach pv-1 n1", "attach pv-1 n2"]);
}

/// Cases: csi 46, csi 47, csi 56
#[tokio::test]
async fn a_pods_volume_comes_to_its_node_and_moves_to_another() {
    let (cluster, cloud) = (cluster().await, cloud());
    let _rig = wanted_by_two(&cluster, &cloud).await;
    in_use(&cluster, &[]).await;
    moved(&cluster, &cloud).await;
    cluster.control_plane.kill_controller_manager().await.unwrap();
}

/// A machine that is switched off never says that it has let go of a volume. Without the taint it would be waited for for six minutes.
///
/// Cases: csi 56
#[tokio::test]
async fn a_volume_leaves_a_node_that_is_out_of_service_at_once() {
    let (cluster, cloud) = (cluster().await, cloud());
    let _rig = wanted_by_two(&cluster, &cloud).await;
    let taint = json!({ "key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute" });
    let tainted = Patch::Merge(json!({ "spec": { "taints": [taint] } }));
    nodes(&cluster).patch("n1", &PatchParams::default(), &tainted).await.unwrap();
    moved(&cluster, &cloud).await;
    let status = nodes(&cluster).get("n1").await.unwrap().status.unwrap();
    assert_eq!(status.volumes_in_use.unwrap().len(), 1, "the kubelet has said nothing");
    cluster.control_plane.kill_controller_manager().await.unwrap();
}

/// Cases: csi 54
#[tokio::test]
async fn an_attachment_that_fails_is_told_on_the_pods_claim() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let denied = "POST /v2/volumes/pv-1/actions: 403 not yours (request r-2)";
    cloud.script.attach_volume.answers(move |_| Err(Error::Denied(denied.to_owned())).into());
    let _rig = Rig::start(&cluster, &cloud, volume_attacher::Options::default());
    claim(&cluster).await;
    let uid = claims(&cluster).get("data").await.unwrap().uid();
    let mut volume = crate::volumes::volume("pv-1", DRIVER);
    volume["spec"]["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": uid,
    });
    crate::volumes::create(&cluster, &volume).await.unwrap();
    attach(&cluster, "pv-1", "n1").await;
    let message = told(&cluster, "data", &format!("the cloud did not do it: {denied}. Next step: check ")).await;
    assert!(message.contains("the endpoint's credential"), "{message}");
    let about = event(&cluster, "data", "VolumeFailedAttach").await.involved_object;
    assert_eq!((about.kind.as_deref(), about.uid), (Some("PersistentVolumeClaim"), uid));
    let attachment = seen(&cluster, "pv-1", |it| !json!(it.status)["attachError"].is_null()).await;
    assert_eq!(
        json!(attachment.status)["attachError"]["message"],
        Value::from(format!("the cloud did not do it: {denied}"))
    );
}
