//! Volumes that claims ask for.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{CloudVolume, Error, PendingVolume, VolumeCreation, VolumeDeletion};
use controllers::volume_provisioner;
use http::Method;
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tests::audit_log::Request;
use tests::control_plane::Cluster;
use tests::faults::{Fault, Faults};
use tests::guests;
use tests::lagging::Recorded;
use tests::operator::Setup;
use tests::rig::Rig;
use tests::wait;

use crate::provisioner::{
    DRIVER, FINALIZER, PLACE, VolumeCloud, claim, claims, class, cluster, delete_claim, event, given, given_at,
    intents, no_intent, node, start, volume_gone,
};
use crate::volumes::{affinity, all, create, node_affinity, volume, when};

const CONTROLLERS: &str = "--controllers=persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,\
                           persistentvolume-protection-controller";

/// How often kube-controller-manager comes back to a claim after a write of its own that has failed.
const RESYNC: Duration = Duration::from_secs(15);

/// The claim, as soon as it is bound.
async fn bound(cluster: &Cluster, name: &str) {
    wait::until_after(RESYNC, &format!("claim {name} is bound"), async || {
        let claim = claims(cluster).get(name).await.ok()?;
        (claim.status?.phase? == "Bound").then_some(())
    })
    .await;
}

/// A cloud in which no volume is ever finished.
pub(crate) fn pending_cloud() -> Arc<VolumeCloud> {
    let cloud = VolumeCloud::new();
    let waits = || PendingVolume { memo: None, after: Duration::from_secs(300), reason: "busy".to_owned() };
    cloud.script.create_volume.answers(move |_| Ok(VolumeCreation::Pending(waits())).into());
    cloud
}

/// Creates the claim `data`, and waits until its volume is begun. Returns the name of that.
pub(crate) async fn begun(cluster: &Cluster, cloud: &VolumeCloud) -> String {
    let name = claim(cluster, "data", "fast", given()).await;
    wait::until("the volume is begun", async || (!cloud.made().is_empty()).then_some(())).await;
    name
}

fn is_bound(volume: &PersistentVolume) -> bool {
    volume.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Bound")
}

/// With the binder of kube-controller-manager.
///
/// Cases: csi 1, csi 4, csi 16, csi 35
#[tokio::test]
async fn claims_are_bound_and_their_volumes_go_with_them() {
    let cluster = cluster().await;
    node(&cluster, "n2", "b").await;
    class(&cluster, "now", json!({ "mountOptions": ["noatime"] })).await;
    class(&cluster, "later", json!({ "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain" })).await;
    let flags = ["--leader-elect=false", CONTROLLERS].map(str::to_owned);
    cluster.control_plane.start_controller_manager(&flags).unwrap();
    let cloud = VolumeCloud::new();
    let rig = start(&cluster, &cloud);

    let now = claim(&cluster, "now", "now", json!({})).await;
    bound(&cluster, "now").await;
    let volume = when(&cluster, &now, is_bound).await;
    let spec = volume.spec.as_ref().unwrap();
    let capacity = claims(&cluster).get("now").await.unwrap().status.unwrap().capacity.unwrap();
    assert_eq!(capacity["storage"].0, "2Gi", "the cloud has whole GiB");
    assert_eq!(spec.mount_options.as_deref(), Some(&["noatime".to_owned()][..]));
    let csi = spec.csi.as_ref().unwrap();
    assert_eq!((csi.driver.as_str(), csi.fs_type.as_deref()), (DRIVER, Some("ext4")));
    assert_eq!(csi.volume_handle, format!("handle-of-{now}"));
    assert!(volume.finalizers().iter().any(|it| it == FINALIZER));
    event(&cluster, "now", "Provisioning").await;
    event(&cluster, "now", "ProvisioningSucceeded").await;

    let later = claim(&cluster, "later", "later", json!({})).await;
    event(&cluster, "later", "WaitForFirstConsumer").await;
    assert_eq!(cloud.made(), std::slice::from_ref(&now), "no node is selected");
    let selected = json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": "n2" } } });
    claims(&cluster).patch("later", &PatchParams::default(), &Patch::Merge(selected)).await.unwrap();
    bound(&cluster, "later").await;
    let volume = when(&cluster, &later, is_bound).await;
    assert_eq!(node_affinity(&volume), affinity(&[&[(PLACE, &["b"])]]));
    no_intent(&cluster).await;
    assert_eq!(rig.counter("controller_persistentvolumeclaim_provision_total"), 1.0, "one of each class");

    for name in ["now", "later"] {
        claims(&cluster).delete(name, &DeleteParams::default()).await.unwrap();
    }
    wait::until("the volume of policy Delete is gone", async || {
        all(&cluster).get_opt(&now).await.ok().filter(Option::is_none)
    })
    .await;
    when(&cluster, &later, |it| it.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Released")).await;
    when(&cluster, &later, |it| !it.finalizers().iter().any(|it| it == FINALIZER)).await;
    assert_eq!(cloud.deleted(), [format!("handle-of-{now}")]);
    assert_eq!(rig.counter("controller_persistentvolume_delete_total"), 1.0);
    assert_eq!(cloud.abandoned(), [""; 0]);
    cluster.control_plane.kill_controller_manager().await.unwrap();
}

/// Cases: csi 29
#[tokio::test]
async fn no_room_gives_a_claim_back_to_the_scheduler() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({ "volumeBindingMode": "WaitForFirstConsumer" })).await;
    let cloud = VolumeCloud::new();
    let pending = PendingVolume { memo: Some("op-1".to_owned()), after: Duration::ZERO, reason: "busy".to_owned() };
    cloud.script.create_volume.answers_next([
        Ok(VolumeCreation::Pending(pending)).into(),
        Ok(VolumeCreation::NoRoom("the place is full".to_owned())).into(),
    ]);
    let _rig = start(&cluster, &cloud);
    let volume = claim(&cluster, "data", "fast", given_at("n1")).await;
    let told = event(&cluster, "data", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("the place is full"));
    wait::until("no node is selected", async || {
        let claim = claims(&cluster).get("data").await.ok()?;
        (!claim.annotations().contains_key("volume.kubernetes.io/selected-node")).then_some(())
    })
    .await;
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned(), [volume], "what was begun is taken back");
    let calls = cloud.script.create_volume.calls().into_iter();
    let memos: Vec<_> = calls.map(|(it, _)| (it.memo, it.memo_is_new)).take(2).collect();
    assert_eq!(memos, [(None, false), (Some("op-1".to_owned()), true)]);
}

/// Cases: csi 30, bad-volume
#[tokio::test]
async fn a_used_up_quota_keeps_the_node_and_is_told_once() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    cloud.script.create_volume.answers_next([Err(Error::Denied("the quota of 10 is used up".to_owned())).into()]);
    let _rig = start(&cluster, &cloud);
    claim(&cluster, "data", "fast", given_at("n1")).await;
    let told = event(&cluster, "data", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("the quota of 10 is used up"));
    let claim = claims(&cluster).get("data").await.unwrap();
    assert_eq!(claim.annotations()["volume.kubernetes.io/selected-node"], "n1");
    assert_eq!(cloud.abandoned(), [""; 0], "the next attempt goes on with it");
}

/// Cases: csi 21
#[tokio::test]
async fn a_claim_that_goes_while_nobody_looks_leaves_no_volume() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let rig = start(&cluster, &cloud);
    let volume = begun(&cluster, &cloud).await;
    rig.stop().ended().await;
    delete_claim(&cluster, "data").await;
    let _rig = start(&cluster, &cloud);
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned(), std::slice::from_ref(&volume));
    assert_eq!(cloud.made(), std::slice::from_ref(&volume), "once");
    assert!(all(&cluster).get_opt(&volume).await.unwrap().is_none());
}

/// A crash between PersistentVolume and the end of the intent, and then the claim goes.
///
/// Cases: csi 20
#[tokio::test]
async fn a_volume_that_kubernetes_has_is_never_abandoned() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let rig = start(&cluster, &cloud);
    let name = begun(&cluster, &cloud).await;
    rig.stop().ended().await;
    let mut volume = volume(&name, DRIVER);
    volume["spec"]["claimRef"] = json!({ "kind": "PersistentVolumeClaim", "name": "data", "namespace": "default" });
    create(&cluster, &volume).await.unwrap();
    delete_claim(&cluster, "data").await;
    let _rig = start(&cluster, &cloud);
    no_intent(&cluster).await;
    assert_eq!((cloud.abandoned(), cloud.deleted()), (Vec::new(), Vec::new()));
}

/// After a restart the API server may be asked that lags behind: what it shows first is no reason to give a volume up.
#[tokio::test]
async fn a_watch_that_lags_abandons_nothing() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let rig = start(&cluster, &cloud);
    let name = begun(&cluster, &cloud).await;
    rig.stop().ended().await;
    let faults = Faults::new();
    Recorded::now(&cluster.admin, "persistentvolumeclaims").await.without("data").stay(&faults);
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, volume_provisioner::Options::default());
    wait::until("the API server is asked twice for the claim alone", async || {
        let requests = cluster.audit().requests().ok()?;
        let alone = |it: &&Request| it.is_aerostats() && it.uri.ends_with("/persistentvolumeclaims/data");
        (requests.iter().filter(alone).count() > 1).then_some(())
    })
    .await;
    assert_eq!(
        (cloud.abandoned(), cloud.made()),
        (Vec::new(), vec![name]),
        "it is no longer asked about, and it is kept"
    );
}

/// A volume that is made is not taken for one that is being made: a provider deletes one that has failed, and makes another.
///
/// Cases: csi 20
#[tokio::test]
async fn a_watch_that_lags_makes_no_volume_again() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let rig = start(&cluster, &cloud);
    let name = begun(&cluster, &cloud).await;
    rig.stop().ended().await;
    create(&cluster, &volume(&name, DRIVER)).await.unwrap();
    let faults = Faults::new();
    Recorded::now(&cluster.admin, "persistentvolumes").await.without(&name).stay(&faults);
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, volume_provisioner::Options::default());
    no_intent(&cluster).await;
    assert_eq!((cloud.made(), cloud.abandoned()), (vec![name], Vec::new()));
}

/// The end of the intent fails once, while the PersistentVolume waits for nothing but Aerostat's finalizer.
///
/// Cases: csi 35
#[tokio::test]
async fn a_retained_volume_outlives_the_end_of_its_intent() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({ "reclaimPolicy": "Retain" })).await;
    let cloud = pending_cloud();
    let rig = start(&cluster, &cloud);
    let name = begun(&cluster, &cloud).await;
    rig.stop().ended().await;
    let mut volume = volume(&name, DRIVER);
    volume["metadata"]["finalizers"] = json!([FINALIZER]);
    create(&cluster, &volume).await.unwrap();
    all(&cluster).delete(&name, &DeleteParams::default()).await.unwrap();
    delete_claim(&cluster, "data").await;
    let faults = Faults::new();
    let path = "/configmaps/aerostat-volume-";
    faults.set(Fault::status(Method::DELETE, path, 500, "InternalError", "the API server fails once").times(1));
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, volume_provisioner::Options::default());
    volume_gone(&cluster, &name).await;
    no_intent(&cluster).await;
    assert_eq!(faults.answered().len(), 1);
    assert_eq!((cloud.abandoned(), cloud.deleted()), (Vec::new(), Vec::new()));
}

/// A process before has left its intent behind, and somebody has taken PersistentVolume and claim away, whose data are to stay.
#[tokio::test]
async fn a_retained_volume_outlives_an_intent_that_was_left_behind() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({ "reclaimPolicy": "Retain" })).await;
    let (cloud, faults) = (VolumeCloud::new(), Faults::new());
    let path = "/configmaps/aerostat-volume-";
    faults.set(Fault::status(Method::DELETE, path, 500, "InternalError", "the API server fails"));
    let rig = Rig::start_as(cluster.faulty(&faults), &cloud, volume_provisioner::Options::default());
    let name = claim(&cluster, "data", "fast", given()).await;
    when(&cluster, &name, |_| true).await;
    wait::until("the intent is left", async || (!faults.answered().is_empty()).then_some(())).await;
    rig.stop().ended().await;
    let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    all(&cluster).patch(&name, &PatchParams::default(), &bare).await.unwrap();
    all(&cluster).delete(&name, &DeleteParams::default()).await.unwrap();
    delete_claim(&cluster, "data").await;
    let found = |handle: String| Ok(Some(CloudVolume { handle, ..CloudVolume::default() }));
    cloud.script.get_volumes.answers(move |handles| handles.into_iter().map(found).collect::<Vec<_>>().into());
    let _rig = start(&cluster, &cloud);
    let told = event(&cluster, "data", "VolumeKept").await;
    assert!(told.message.unwrap().contains(&format!("volume handle-of-{name}")));
    no_intent(&cluster).await;
    assert_eq!((cloud.abandoned(), cloud.deleted()), (Vec::new(), Vec::new()));
}

/// Cases: csi 29
#[tokio::test]
async fn a_claim_without_a_node_gets_its_volume_where_there_is_room() {
    let cluster = cluster().await;
    node(&cluster, "n2", "b").await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    cloud.script.create_volume.answers_next([Ok(VolumeCreation::NoRoom("the place is full".to_owned())).into()]);
    let _rig = start(&cluster, &cloud);
    let name = claim(&cluster, "data", "fast", given()).await;
    when(&cluster, &name, |_| true).await;
    let tried = cloud.script.create_volume.calls();
    let places: Vec<_> = tried.iter().map(|(it, is_first)| (it.places[0][0].1.as_str(), *is_first)).collect();
    assert!(matches!(places[..], [("a", true), ("b", true)] | [("b", true), ("a", true)]), "{places:?}");
    assert_eq!(cloud.abandoned(), [""; 0], "nothing was sent that could have been lost");
}

/// Cases: csi 29
#[tokio::test]
async fn a_volume_that_was_begun_moves_once_nothing_is_left_of_it() {
    let cluster = cluster().await;
    node(&cluster, "n2", "b").await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    let begun = PendingVolume { memo: None, after: Duration::from_millis(50), reason: "busy".to_owned() };
    let full = VolumeCreation::NoRoom("the place is full".to_owned());
    cloud.script.create_volume.answers_next([Ok(VolumeCreation::Pending(begun)).into(), Ok(full).into()]);
    let _rig = start(&cluster, &cloud);
    let name = claim(&cluster, "data", "fast", given()).await;
    when(&cluster, &name, |_| true).await;
    assert_eq!(cloud.abandoned(), [name]);
    let tried: Vec<_> = cloud.script.create_volume.calls().into_iter().map(|(it, _)| it.places[0].clone()).collect();
    assert!(tried.len() == 3 && tried[0] == tried[1] && tried[1] != tried[2], "{tried:?}");
}

/// The intent is deleted while its volume is made.
#[tokio::test]
async fn an_intent_that_was_deleted_is_written_again() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    let pending = |step: u32| PendingVolume {
        memo: Some(format!("step {step}")),
        after: Duration::from_millis(100),
        reason: "busy".to_owned(),
    };
    cloud.script.create_volume.answers_next((0..50).map(|step| Ok(VolumeCreation::Pending(pending(step))).into()));
    let _rig = start(&cluster, &cloud);
    let name = claim(&cluster, "data", "fast", given()).await;
    let kept = format!("aerostat-volume-{}", name.trim_start_matches("pvc-"));
    let uid = async || intents(&cluster).get_opt(&kept).await.ok()??.uid();
    let first = wait::until("the intent is kept", &uid).await;
    intents(&cluster).delete(&kept, &DeleteParams::default()).await.unwrap();
    wait::until("it is written again", async || uid().await.filter(|it| *it != first)).await;
    when(&cluster, &name, |_| true).await;
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned(), [""; 0]);
}

/// Cases: csi 2, csi 13, bad-volume
#[tokio::test]
async fn claims_of_others_and_of_odd_classes_cost_no_call() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    class(&cluster, "others", json!({ "provisioner": "csi.other.example" })).await;
    class(&cluster, "odd", json!({ "parameters": { "colour": "red" } })).await;
    let cloud = VolumeCloud::new();
    let _rig = start(&cluster, &cloud);
    claim(&cluster, "ungiven", "fast", json!({})).await;
    claim(&cluster, "foreign", "fast", json!({ "volume.kubernetes.io/storage-provisioner": "csi.other.example" }))
        .await;
    claim(&cluster, "changed", "others", given()).await;
    claim(&cluster, "odd", "odd", given()).await;
    let told = event(&cluster, "odd", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("knows no parameter colour; it knows fstype"));
    let last = claim(&cluster, "last", "fast", given()).await;
    when(&cluster, &last, |_| true).await;
    no_intent(&cluster).await;
    assert_eq!(cloud.made(), [last]);
}

/// A claim that its author changes meanwhile is worth no call, and nothing is detached in order to delete.
#[tokio::test]
async fn an_abandoned_volume_that_is_attached_is_told() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    cloud.script.abandon_volume.answers_next([Ok(VolumeDeletion::InUse(vec!["m-7".to_owned()])).into()]);
    let _rig = start(&cluster, &cloud);
    let volume = begun(&cluster, &cloud).await;
    let changed = Patch::Merge(json!({ "metadata": { "annotations": { "colour": "red" } } }));
    claims(&cluster).patch("data", &PatchParams::default(), &changed).await.unwrap();
    let last = claim(&cluster, "last", "fast", given()).await;
    wait::until("the next volume is begun", async || cloud.made().contains(&last).then_some(())).await;
    assert_eq!(cloud.made(), [volume.clone(), last]);
    delete_claim(&cluster, "data").await;
    let told = event(&cluster, "data", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("is attached to m-7"));
    delete_claim(&cluster, "last").await;
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned().iter().filter(|it| **it == volume).count(), 2);
    assert_eq!(cloud.made().len(), 2);
}

/// The binary, with a provider that crashes over one claim.
///
/// Cases: csi 80
#[tokio::test]
async fn a_crash_over_one_claim_holds_up_no_other() {
    const LYING: &str = "csi.lying.example";
    let cluster = cluster().await;
    class(&cluster, "fast", json!({ "provisioner": LYING })).await;
    let setup = Setup::guest(&cluster, guests::LYING_VOLUMES)
        .edit(|config| config["provider"]["settings"] = json!({ "lie": "crash" }))
        .flags(&["--controllers=*,volume-provisioner"]);
    let mut process = setup.start();
    process.says("started volume-provisioner").await;
    let given = json!({ "volume.kubernetes.io/storage-provisioner": LYING });
    claim(&cluster, "crash", "fast", given.clone()).await;
    event(&cluster, "crash", "ProvisioningFailed").await;
    let name = claim(&cluster, "data", "fast", given).await;
    let volume = when(&cluster, &name, |_| true).await;
    assert_eq!(volume.spec.unwrap().csi.unwrap().volume_handle, "vol-1");
    delete_claim(&cluster, "crash").await;
    no_intent(&cluster).await;
    process.stop().await;
}
