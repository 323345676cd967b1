//! Objects as a vendor's controller leaves them, and as it finds them when it comes back.

use controllers::{volume_attacher, volume_provisioner};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::rig::Rig;
use tests::wait;

use crate::attachments::{FINALIZER as ATTACHER, NODE_ID, attachments, detached, gone, is_attached, seen};
use crate::claims::{begun, pending_cloud};
use crate::provisioner::{
    DRIVER, FINALIZER, VolumeCloud, claim, class, cluster, delete_claim, given, made, no_intent, phase, volume_gone,
};
use crate::volumes::{PROVISIONED_BY, all, create, volume};

const IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";
const HANDLE: &str = "aerostat.dev/volume-handle";
/// Annotations of a volume that the vendor's provisioner has made.
const SECRETS: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-name",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
];

/// A volume of a claim with this UID, as the vendor's provisioner and attacher leave it.
async fn vendors_volume(cluster: &Cluster, uid: &str) -> String {
    let name = format!("pvc-{uid}");
    let mut it = volume(&name, DRIVER);
    it["metadata"]["finalizers"] = json!([FINALIZER, ATTACHER]);
    it["metadata"]["annotations"] = json!({ PROVISIONED_BY: DRIVER, SECRETS[0]: "", SECRETS[1]: "" });
    it["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
    it["spec"]["csi"]["volumeAttributes"] = json!({ IDENTITY: format!("1764460800000-8081-{DRIVER}") });
    it["spec"]["claimRef"] =
        json!({ "kind": "PersistentVolumeClaim", "name": uid, "namespace": "default", "uid": uid });
    create(cluster, &it).await.unwrap();
    phase(cluster, &name, "Bound").await;
    name
}

/// Its attachment, as the vendor's attacher leaves it.
async fn vendors_attachment(cluster: &Cluster, volume: &str, is_attached: bool) {
    let name = format!("csi-{volume}");
    let metadata = json!({ "name": name, "finalizers": [ATTACHER], "annotations": { NODE_ID: "n1" } });
    let spec = json!({ "attacher": DRIVER, "nodeName": "n1", "source": { "persistentVolumeName": volume } });
    made(attachments(cluster), json!({ "metadata": metadata, "spec": spec })).await;
    if is_attached {
        let status =
            Patch::Merge(json!({ "status": { "attached": true, "attachmentMetadata": { "device": "/dev/a" } } }));
        attachments(cluster).patch_status(&name, &PatchParams::default(), &status).await.unwrap();
    }
}

/// The finalizers and annotations of an object, as JSON.
fn left(object: &impl kube::ResourceExt) -> Value {
    json!([object.finalizers(), object.annotations()])
}

/// Cases: csi 73
#[tokio::test]
async fn a_vendors_volumes_are_taken_over_and_can_go_back() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let attached = vendors_volume(&cluster, "attached").await;
    vendors_attachment(&cluster, &attached, true).await;
    let half_attached = vendors_volume(&cluster, "half-attached").await;
    vendors_attachment(&cluster, &half_attached, false).await;
    let half_detached = vendors_volume(&cluster, "half-detached").await;
    vendors_attachment(&cluster, &half_detached, true).await;
    attachments(&cluster).delete(&format!("csi-{half_detached}"), &DeleteParams::default()).await.unwrap();
    let released = vendors_volume(&cluster, "released").await;
    phase(&cluster, &released, "Released").await;
    let half_made = claim(&cluster, "half-made", "fast", given()).await;
    let before = attachments(&cluster).get(&format!("csi-{attached}")).await.unwrap();
    let volume_before = all(&cluster).get(&attached).await.unwrap();

    let cloud = VolumeCloud::new();
    let provisioner = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    let attacher = Rig::start(&cluster, &cloud, volume_attacher::Options::default());
    seen(&cluster, &half_attached, is_attached).await;
    gone(&cluster, &half_detached).await;
    wait::until("the claim has its volume", async || all(&cluster).get_opt(&half_made).await.ok().flatten()).await;
    no_intent(&cluster).await;
    wait::until("the released volume is deleted", async || (!cloud.deleted().is_empty()).then_some(())).await;
    let attaches =
        || cloud.script.attach_volume.calls().into_iter().map(|(it, node)| (it.handle, node)).collect::<Vec<_>>();
    let pair = |volume: &String| (volume.clone(), "n1".to_owned());
    assert_eq!((attaches(), detached(&cloud)), (vec![pair(&half_attached)], vec![pair(&half_detached)]));
    assert_eq!((cloud.made(), cloud.deleted()), (vec![half_made.clone()], vec![released]));
    let after = attachments(&cluster).get(&format!("csi-{attached}")).await.unwrap();
    assert_eq!(after.resource_version(), before.resource_version(), "what is attached costs no write");
    assert_eq!(all(&cluster).get(&attached).await.unwrap().resource_version(), volume_before.resource_version());

    // As the vendor's controller would have left them, but for one annotation, which it does not read.
    provisioner.stop().ended().await;
    attacher.stop().ended().await;
    let mut annotations = json!({ NODE_ID: "n1" });
    assert_eq!(left(&after), json!([[ATTACHER], annotations]));
    annotations[HANDLE] = json!(half_attached);
    let carried_on = attachments(&cluster).get(&format!("csi-{half_attached}")).await.unwrap();
    assert_eq!(left(&carried_on), json!([[ATTACHER], annotations]));
    let new = all(&cluster).get(&half_made).await.unwrap();
    assert!(new.finalizers().iter().any(|it| it == FINALIZER));
    assert_eq!(json!(new.annotations()), json!({ PROVISIONED_BY: DRIVER, SECRETS[0]: "", SECRETS[1]: "" }));
    let identity = new.spec.unwrap().csi.unwrap().volume_attributes.unwrap().remove(IDENTITY).unwrap();
    assert!(identity.ends_with(&format!("-{DRIVER}")), "{identity}");

    // The vendor's controller detaches one of ours and frees a volume, and ours comes again.
    let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    attachments(&cluster).patch(&format!("csi-{half_attached}"), &PatchParams::default(), &bare).await.unwrap();
    attachments(&cluster).delete(&format!("csi-{half_attached}"), &DeleteParams::default()).await.unwrap();
    let asked = (attaches(), detached(&cloud), cloud.made(), cloud.deleted());
    let _provisioner = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    let _attacher = Rig::start(&cluster, &cloud, volume_attacher::Options::default());
    let last = claim(&cluster, "last", "fast", given()).await;
    wait::until("the next claim has its volume", async || all(&cluster).get_opt(&last).await.ok().flatten()).await;
    no_intent(&cluster).await;
    let (attaches_before, detaches_before, mut made_before, deleted_before) = asked;
    made_before.push(last);
    assert_eq!((attaches(), detached(&cloud)), (attaches_before, detaches_before));
    assert_eq!((cloud.made(), cloud.deleted()), (made_before, deleted_before));
}

/// Other controllers have finalizers on a volume, and one of them comes while it is deleted.
///
/// Cases: csi 41
#[tokio::test]
async fn finalizers_of_others_stay_on_a_volume_that_goes() {
    const OTHERS: &str = "example.com/backup";
    let cluster = cluster().await;
    let name = vendors_volume(&cluster, "released").await;
    let finalizers = Patch::Merge(json!({ "metadata": { "finalizers": [FINALIZER, OTHERS] } }));
    all(&cluster).patch(&name, &PatchParams::default(), &finalizers).await.unwrap();
    phase(&cluster, &name, "Released").await;
    let cloud = VolumeCloud::new();
    let _rig = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    wait::until("our finalizer is off", async || {
        let volume = all(&cluster).get_opt(&name).await.ok()??;
        (volume.metadata.deletion_timestamp.is_some() && !volume.finalizers().iter().any(|it| it == FINALIZER))
            .then_some(())
    })
    .await;
    let volume = all(&cluster).get(&name).await.unwrap();
    assert!(volume.finalizers().iter().any(|it| it == OTHERS), "{:?}", volume.finalizers());
    let own = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    all(&cluster).patch(&name, &PatchParams::default(), &own).await.unwrap();
    volume_gone(&cluster, &name).await;
    assert_eq!(cloud.deleted().len(), 1);
}

/// Cases: csi 22
#[tokio::test]
async fn a_claim_that_is_made_again_gets_a_volume_of_its_own() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let _rig = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    let first = begun(&cluster, &cloud).await;
    delete_claim(&cluster, "data").await;
    let second = claim(&cluster, "data", "fast", given()).await;
    wait::until("the first one is abandoned, and the second begun", async || {
        (cloud.abandoned() == [first.as_str()] && cloud.made().contains(&second)).then_some(())
    })
    .await;
    assert_ne!(first, second);
    assert_eq!(cloud.made(), [first, second]);
}

/// Its namespace goes while nobody looks, and waits for nothing of ours.
///
/// Cases: csi 23
#[tokio::test]
async fn a_namespace_that_goes_meanwhile_leaves_no_volume() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let namespaces: Api<Namespace> = Api::all(cluster.admin.clone());
    made(namespaces.clone(), json!({ "metadata": { "name": "shop" } })).await;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(cluster.admin.clone(), "shop");
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1Gi" } },
    });
    let cloud = pending_cloud();
    let rig = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    let uid = made(claims, json!({ "metadata": { "name": "data", "annotations": given() }, "spec": spec }))
        .await
        .uid()
        .unwrap();
    wait::until("the volume is begun", async || (!cloud.made().is_empty()).then_some(())).await;
    rig.stop().ended().await;
    let flags = ["--leader-elect=false", "--controllers=namespace-controller"].map(str::to_owned);
    cluster.control_plane.start_controller_manager(&flags).unwrap();
    let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(cluster.admin.clone(), "shop");
    claims.patch("data", &PatchParams::default(), &bare).await.unwrap();
    namespaces.delete("shop", &DeleteParams::default()).await.unwrap();
    wait::until("the namespace is gone", async || namespaces.get_opt("shop").await.ok().filter(Option::is_none)).await;
    let _rig = Rig::start(&cluster, &cloud, volume_provisioner::Options::default());
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned(), [format!("pvc-{uid}")]);
    cluster.control_plane.kill_controller_manager().await.unwrap();
}
