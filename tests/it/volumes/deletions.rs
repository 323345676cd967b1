//! Volumes that nobody needs any more.

use std::time::Duration;

use cloud_provider::{CloudVolume, Error, MarkedClaim, PendingVolume, VolumeDeletion, VolumeDescription, VolumePage};
use controllers::volume_provisioner::{Budget, Options};
use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::faults::{Fault, Faults};
use tests::rig::Rig;
use tests::wait;

use crate::claims::{begun, pending_cloud};
use crate::provisioner::{
    DRIVER, FINALIZER, PLACE, VolumeCloud, attachment, claim, class, cluster, delete_claim, event, given, no_intent,
    phase, released, start, volume_gone,
};
use crate::volumes::{affinity, all, create, events, volume, when};

/// Nothing says that Aerostat made it.
///
/// Cases: csi 36, csi 38
#[tokio::test]
async fn a_released_volume_waits_until_no_node_has_it() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    attachment(&cluster, "pv-1", "n1").await;
    let _rig = start(&cluster, &cloud);
    released(&cluster, "pv-1", "vol-1", "Delete").await;
    released(&cluster, "pv-2", "vol-2", "Delete").await;
    volume_gone(&cluster, "pv-2").await;
    assert_eq!(cloud.deleted(), ["vol-2"], "the other is attached");
    assert_eq!(events(&cluster, "pv-1").await, [], "a wait is no failure");
    let attachments: Api<VolumeAttachment> = Api::all(cluster.admin.clone());
    attachments.delete("attached", &DeleteParams::default()).await.unwrap();
    volume_gone(&cluster, "pv-1").await;
    assert_eq!(cloud.deleted(), ["vol-2", "vol-1"]);
}

/// Cases: csi 39
#[tokio::test]
async fn a_volume_that_a_machine_has_is_told_and_not_detached() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.delete_volume.answers_next([Ok(VolumeDeletion::InUse(vec!["m-7".to_owned()])).into()]);
    let _rig = start(&cluster, &cloud);
    released(&cluster, "pv-1", "vol-1", "Delete").await;
    let told = event(&cluster, "pv-1", "VolumeFailedDelete").await;
    assert!(told.message.unwrap().contains("volume vol-1 is attached to m-7 in the cloud"));
    volume_gone(&cluster, "pv-1").await;
    assert_eq!(cloud.script.calls(), ["delete vol-1", "delete vol-1"], "nothing but a second try");
}

/// Cases: adv 182
#[tokio::test]
async fn a_volume_that_two_persistent_volumes_have_is_kept() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    released(&cluster, "kept", "vol-1", "Retain").await;
    let _rig = start(&cluster, &cloud);
    released(&cluster, "copy", "vol-1", "Delete").await;
    let told = event(&cluster, "copy", "VolumeFailedDelete").await;
    assert!(told.message.unwrap().starts_with("PersistentVolume kept has the same volume vol-1"));
    assert_eq!(cloud.deleted(), [""; 0]);
}

/// As where somebody has made it before its claim. Its volume is not deleted for that, and it goes once it may stay.
#[tokio::test]
async fn a_volume_that_goes_without_a_claim_says_why_it_stays() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let mut unclaimed = volume("pv-1", DRIVER);
    unclaimed["metadata"]["finalizers"] = json!([FINALIZER]);
    unclaimed["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
    create(&cluster, &unclaimed).await.unwrap();
    phase(&cluster, "pv-1", "Available").await;
    let _rig = start(&cluster, &cloud);
    all(&cluster).delete("pv-1", &DeleteParams::default()).await.unwrap();
    let told = event(&cluster, "pv-1", "VolumeFailedDelete").await;
    assert!(told.message.unwrap().contains("set spec.persistentVolumeReclaimPolicy to Retain"));
    let retained = Patch::Merge(json!({ "spec": { "persistentVolumeReclaimPolicy": "Retain" } }));
    all(&cluster).patch("pv-1", &PatchParams::default(), &retained).await.unwrap();
    volume_gone(&cluster, "pv-1").await;
    assert_eq!(cloud.deleted(), [""; 0]);
}

/// Cases: csi 43, csi 80
#[tokio::test]
async fn a_failed_deletion_keeps_the_persistent_volume() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.delete_volume.answers(|volume| {
        Err(match volume.handle.as_str() {
            "denied" => Error::Denied("it is protected".to_owned()),
            "unavailable" => Error::Unavailable("502 without a text".to_owned()),
            "invalid" => Error::Invalid("it is no handle".to_owned()),
            _ => {
                let reason = "the provider crashed over it, and it is set aside".to_owned();
                Error::Crashed { after: Duration::from_millis(100), reason }
            }
        })
        .into()
    });
    let _rig = start(&cluster, &cloud);
    let rows = [
        ("denied", "it is protected"),
        ("unavailable", "502 without a text"),
        ("invalid", "it is no handle"),
        ("crashed", "the provider crashed over it"),
    ];
    let mut before = Vec::new();
    for (name, cause) in rows {
        before.push(released(&cluster, name, name, "Delete").await);
        let told = event(&cluster, name, "VolumeFailedDelete").await;
        assert!(told.message.unwrap().contains(cause), "{name}");
    }
    for name in ["unavailable", "crashed"] {
        let tries = || cloud.deleted().iter().filter(|it| *it == name).count();
        wait::until(&format!("{name} is tried again"), async || (tries() >= 3).then_some(())).await;
    }
    for (volume, (name, _)) in before.into_iter().zip(rows) {
        assert_eq!(all(&cluster).get(name).await.unwrap(), volume);
    }
}

/// The credential is exchanged while the volume is being deleted: in the other account there is none of this cluster, and the answer says that it is gone.
///
/// Cases: csi 43
#[tokio::test]
async fn a_deletion_that_another_account_confirms_counts_for_nothing() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.belongs_to("ours");
    let _rig = start(&cluster, &cloud);
    cloud.script.delete_volume.hold(true);
    let before = released(&cluster, "pv-1", "vol-1", "Delete").await;
    wait::until("it is being deleted", async || (cloud.deleted() == ["vol-1"]).then_some(())).await;
    cloud.script.belongs_to("theirs");
    cloud.script.gets_another_credential();
    cloud.script.delete_volume.hold(false);
    let told = event(&cluster, "pv-1", "VolumeFailedDelete").await;
    assert!(told.message.unwrap().contains("the credential belongs to the cloud account \"theirs\""));
    assert_eq!(all(&cluster).get("pv-1").await.unwrap(), before);
    assert_eq!(cloud.deleted(), ["vol-1"], "nothing is deleted in the other account");
    cloud.script.belongs_to("ours");
    cloud.script.gets_another_credential();
    volume_gone(&cluster, "pv-1").await;
}

/// The host's own write of the memo is no reason to come back before the cloud's time.
#[tokio::test]
async fn a_deletion_that_lasts_rests_and_keeps_its_memo() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let memo = Some("op-1".to_owned());
    let pending = PendingVolume { memo: memo.clone(), after: Duration::from_secs(300), reason: "busy".to_owned() };
    cloud.script.delete_volume.answers_next([Ok(VolumeDeletion::Pending(pending)).into()]);
    let rig = start(&cluster, &cloud);
    released(&cluster, "pv-1", "vol-1", "Delete").await;
    when(&cluster, "pv-1", |it| it.annotations().contains_key("aerostat.dev/volume-deletion-memo")).await;
    released(&cluster, "pv-2", "vol-2", "Delete").await;
    volume_gone(&cluster, "pv-2").await;
    assert_eq!(cloud.deleted(), ["vol-1", "vol-2"]);
    rig.requested.approve(tokio::time::Instant::now());
    volume_gone(&cluster, "pv-1").await;
    let memos: Vec<_> = cloud.script.delete_volume.calls().into_iter().map(|it| it.memo).collect();
    assert_eq!(memos, [None, None, memo]);
}

/// As where kube-controller-manager takes its own finalizer off at the same time.
#[tokio::test]
async fn the_end_of_a_persistent_volume_asks_the_cloud_once() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let mut guarded = released(&cluster, "pv-1", "vol-1", "Delete").await;
    guarded.finalizers_mut().push(FINALIZER.to_owned());
    all(&cluster).replace("pv-1", &PostParams::default(), &guarded).await.unwrap();
    let faults = Faults::new();
    faults.set(
        Fault::status(Method::PATCH, r"/persistentvolumes/pv-1(\?|$)", 409, "Conflict", "injected conflict").times(2),
    );
    let _rig = Rig::start_as(cluster.faulty(&faults), &cloud, Options::default());
    volume_gone(&cluster, "pv-1").await;
    assert_eq!((faults.answered().len(), cloud.deleted()), (2, vec!["vol-1".to_owned()]));
}

/// Cases: csi 42
#[tokio::test]
async fn a_mass_deletion_stops_until_a_person_approves() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    for nth in 1..=3 {
        released(&cluster, &format!("pv-{nth}"), &format!("vol-{nth}"), "Delete").await;
    }
    let budget = Budget { percent: 10, least: 2, window: Duration::from_secs(600) };
    let rig = Rig::start(&cluster, &cloud, Options { budget, ..Options::default() });
    let withheld = wait::until("a deletion is withheld", async || {
        for nth in 1..=3 {
            let name = format!("pv-{nth}");
            if events(&cluster, &name).await.iter().any(|it| it.reason.as_deref() == Some("VolumeDeletionWithheld")) {
                return Some(name);
            }
        }
        None
    })
    .await;
    wait::until("two volumes are deleted", async || (cloud.deleted().len() == 2).then_some(())).await;
    assert_eq!(rig.counter("aerostat_volume_deletions_withheld_total"), 1.0);
    assert!(all(&cluster).get(&withheld).await.unwrap().metadata.deletion_timestamp.is_none());
    rig.requested.approve(tokio::time::Instant::now());
    volume_gone(&cluster, &withheld).await;
    assert_eq!(cloud.deleted().len(), 3);
}

/// Cases: csi 42
#[tokio::test]
async fn one_namespace_keeps_no_other_from_its_deletions() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    for nth in 1..=3 {
        released(&cluster, &format!("pv-{nth}"), &format!("vol-{nth}"), "Delete").await;
    }
    let namespace_budget = Budget { percent: 10, least: 2, window: Duration::from_secs(600) };
    let rig = Rig::start(&cluster, &cloud, Options { namespace_budget, ..Options::default() });
    let withheld = wait::until("a deletion is withheld", async || {
        for nth in 1..=3 {
            for told in events(&cluster, &format!("pv-{nth}")).await {
                if told.reason.as_deref() == Some("VolumeDeletionWithheld") {
                    return told.message;
                }
            }
        }
        None
    })
    .await;
    assert!(withheld.starts_with("2 volumes of namespace default were deleted within 10 min"), "{withheld}");
    let mut other = volume("pv-4", DRIVER);
    other["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
    other["spec"]["claimRef"] =
        json!({ "kind": "PersistentVolumeClaim", "name": "gone", "namespace": "other", "uid": "gone" });
    create(&cluster, &other).await.unwrap();
    phase(&cluster, "pv-4", "Released").await;
    volume_gone(&cluster, "pv-4").await;
    assert_eq!((cloud.deleted().len(), rig.counter("aerostat_volume_deletions_withheld_total")), (3, 1.0));
}

#[tokio::test]
async fn volumes_that_were_begun_are_given_up_within_the_budget() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = pending_cloud();
    let budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
    let rig = Rig::start(&cluster, &cloud, Options { budget, ..Options::default() });
    for name in ["one", "two"] {
        claim(&cluster, name, "fast", given()).await;
    }
    wait::until("both are begun", async || (cloud.made().len() == 2).then_some(())).await;
    for name in ["one", "two"] {
        delete_claim(&cluster, name).await;
    }
    wait::until("one of them is withheld", async || {
        for name in ["one", "two"] {
            if events(&cluster, name).await.iter().any(|it| it.reason.as_deref() == Some("VolumeDeletionWithheld")) {
                return Some(());
            }
        }
        None
    })
    .await;
    wait::until("the other one is given up", async || (cloud.abandoned().len() == 1).then_some(())).await;
    assert_eq!(rig.counter("aerostat_volume_deletions_withheld_total"), 1.0);
    rig.requested.approve(tokio::time::Instant::now());
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned().len(), 2);
}

/// As where a person has found it in the cloud, and keeps it by a PersistentVolume of another name.
#[tokio::test]
async fn a_begun_volume_that_another_one_has_is_not_given_up() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let mut by_hand = volume("by-hand", DRIVER);
    by_hand["spec"]["csi"]["volumeHandle"] = json!("vol-1");
    create(&cluster, &by_hand).await.unwrap();
    let cloud = pending_cloud();
    let _rig = start(&cluster, &cloud);
    let name = begun(&cluster, &cloud).await;
    let found = CloudVolume { handle: "vol-1".to_owned(), name, ..CloudVolume::default() };
    let answers = move |_: &String| Ok(Some(found.clone()));
    cloud.script.get_volumes.answers(move |handles| handles.iter().map(&answers).collect::<Vec<_>>().into());
    delete_claim(&cluster, "data").await;
    let told = event(&cluster, "data", "VolumeKept").await;
    assert!(told.message.unwrap().contains("PersistentVolume by-hand has it"));
    no_intent(&cluster).await;
    assert_eq!((cloud.abandoned(), cloud.deleted()), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_begun_volume_that_no_other_one_has_is_given_up() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    for name in ["by-hand-1", "by-hand-2"] {
        // Nothing else is to be asked about it.
        let mut by_hand = volume(name, DRIVER);
        by_hand["spec"]["nodeAffinity"] = affinity(&[&[(PLACE, &["a"])]]);
        create(&cluster, &by_hand).await.unwrap();
    }
    let cloud = pending_cloud();
    let _rig = start(&cluster, &cloud);
    let name = begun(&cluster, &cloud).await;
    let other = |handle: &String| Ok(Some(CloudVolume { handle: handle.clone(), ..CloudVolume::default() }));
    cloud.script.get_volumes.answers(move |handles| handles.iter().map(other).collect::<Vec<_>>().into());
    delete_claim(&cluster, "data").await;
    no_intent(&cluster).await;
    assert_eq!(cloud.abandoned(), [name]);
    assert_eq!(cloud.script.get_volumes.asked(), 2, "each once");
}

/// Cases: csi 78
#[tokio::test]
async fn a_volume_that_nothing_has_is_told_and_not_deleted() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    cloud.script.describes_claimed_volumes(VolumeDescription {
        driver: DRIVER.to_owned(),
        list_page_size: 500,
        ..VolumeDescription::default()
    });
    let namespaces: Api<Namespace> = Api::all(cluster.admin.clone());
    let cluster_uid = namespaces.get("kube-system").await.unwrap().uid();
    create(&cluster, &volume("pv-1", DRIVER)).await.unwrap();
    // A claim that has a volume, beside which another one was made.
    class(&cluster, "others", json!({ "provisioner": "csi.other.example" })).await;
    let twice = claim(&cluster, "twice", "others", json!({})).await;
    create(&cluster, &volume(&twice, DRIVER)).await.unwrap();
    let marked = |handle: &str, uid: &str| CloudVolume {
        handle: handle.to_owned(),
        owner: MarkedClaim { cluster_uid: cluster_uid.clone(), uid: Some(uid.to_owned()), ..MarkedClaim::default() },
        ..CloudVolume::default()
    };
    let uid = &twice["pvc-".len()..];
    let volumes = vec![marked("pv-1", "gone"), marked("vol-9", "gone"), marked(&twice, uid), marked("vol-8", uid)];
    cloud
        .script
        .list_volumes
        .answers(move |_| Ok(VolumePage { volumes: volumes.clone(), ..VolumePage::default() }).into());
    let options = Options { orphan_period: Duration::from_millis(100), ..Options::default() };
    let rig = Rig::start(&cluster, &cloud, options);
    for (handle, why) in [("vol-9", "which is gone"), ("vol-8", &*format!("which has volume {twice}"))] {
        wait::until("it is told", async || {
            let all = events(&cluster, "kube-system")
                .await
                .into_iter()
                .filter(|it| it.reason.as_deref() == Some("OrphanedVolume"));
            let mut texts = all.filter_map(|it| it.message);
            texts.any(|it| it.starts_with(&format!("volume {handle} ")) && it.contains(why)).then_some(())
        })
        .await;
    }
    let lists = cloud.script.list_volumes.asked();
    wait::until("it is listed again", async || (cloud.script.list_volumes.asked() > lists + 2).then_some(())).await;
    assert_eq!(rig.gauge("aerostat_orphaned_volumes"), 2.0);
    assert_eq!((cloud.deleted(), cloud.abandoned()), (Vec::new(), Vec::new()));
}
