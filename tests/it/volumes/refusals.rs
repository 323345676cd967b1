//! Volumes that the provider refuses, or that the host refuses to take.

use std::time::{Duration, Instant};

use cloud_provider::{CloudVolume, DesiredVolume, Error, PendingVolume, VolumeCreation};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tests::control_plane::Cluster;
use tests::wait;

use crate::provisioner::{
    VolumeCloud, claim, claims, class, cluster, delete_claim, event, given, given_at, intents, no_intent, start,
};
use crate::volumes::{all, events, when};

/// A class with this filesystem, in the place of the one that was there.
async fn class_with(cluster: &Cluster, name: &str, filesystem: &str) {
    let classes: Api<StorageClass> = Api::all(cluster.admin.clone());
    if classes.get_opt(name).await.unwrap().is_some() {
        classes.delete(name, &DeleteParams::default()).await.unwrap();
    }
    class(cluster, name, json!({ "parameters": { "csi.storage.k8s.io/fstype": filesystem } })).await;
}

/// The filesystem of each call of `create`, and whether it was the first.
fn calls(cloud: &VolumeCloud) -> Vec<(Option<String>, bool)> {
    cloud.script.create_volume.calls().into_iter().map(|(it, is_first)| (it.filesystem, is_first)).collect()
}

fn call(filesystem: &str, is_first: bool) -> (Option<String>, bool) {
    (Some(filesystem.to_owned()), is_first)
}

/// The volume with this handle, as it was asked for.
fn made(handle: &str, desired: &DesiredVolume) -> Box<CloudVolume> {
    let (name, bytes) = (desired.name.clone(), desired.bytes);
    Box::new(CloudVolume { handle: handle.to_owned(), name, bytes, ..CloudVolume::default() })
}

fn invalid() -> Error {
    Error::Invalid("odd is no filesystem".to_owned())
}

/// The provider alone knows which values a parameter may have. A class is made right by making it again.
#[tokio::test]
async fn a_claim_of_a_refused_class_gets_its_volume_once_it_is_right() {
    let cluster = cluster().await;
    class_with(&cluster, "fast", "odd").await;
    let cloud = VolumeCloud::new();
    cloud.script.create_volume.answers_next([Err(invalid()).into()]);
    let rig = start(&cluster, &cloud);
    let volume = claim(&cluster, "data", "fast", given()).await;
    let told = event(&cluster, "data", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("odd is no filesystem"));
    no_intent(&cluster).await;
    class_with(&cluster, "fast", "xfs").await;
    rig.requested.approve(tokio::time::Instant::now());
    let saved = when(&cluster, &volume, |_| true).await;
    assert_eq!(saved.spec.unwrap().csi.unwrap().fs_type.as_deref(), Some("xfs"));
    assert_eq!(calls(&cloud), [call("odd", true), call("xfs", true)]);
    assert_eq!(cloud.abandoned(), [""; 0], "nothing was begun");
}

/// The class is deleted before the claim comes, and made again later.
#[tokio::test]
async fn a_claim_of_a_deleted_class_waits_until_it_is_back() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let classes: Api<StorageClass> = Api::all(cluster.admin.clone());
    classes.delete("fast", &DeleteParams::default()).await.unwrap();
    let cloud = VolumeCloud::new();
    let _rig = start(&cluster, &cloud);
    let volume = claim(&cluster, "data", "fast", given()).await;
    let told = event(&cluster, "data", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("StorageClass fast does not exist. Next step: create it"));
    assert_eq!(cloud.made(), [""; 0]);
    no_intent(&cluster).await;
    class(&cluster, "fast", json!({})).await;
    when(&cluster, &volume, |_| true).await;
    assert_eq!(cloud.made(), [volume]);
}

/// A clone begins as a copy of another claim's volume: without one it would be empty.
///
/// Cases: csi 33
#[tokio::test]
async fn a_claim_that_clones_another_one_is_refused() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    let _rig = start(&cluster, &cloud);
    claim(&cluster, "data", "fast", json!({})).await;
    let clone = json!({
        "metadata": { "name": "clone", "annotations": given() },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "resources": { "requests": { "storage": "1536Mi" } },
            "dataSource": { "kind": "PersistentVolumeClaim", "name": "data" },
        },
    });
    crate::provisioner::made(claims(&cluster), clone).await;
    let told = event(&cluster, "clone", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("leave dataSource out"));
    assert_eq!((cloud.made(), cloud.abandoned()), (Vec::new(), Vec::new()));
    no_intent(&cluster).await;
}

/// An earlier call may have sent a request: what that made goes first.
#[tokio::test]
async fn a_volume_that_is_refused_later_is_taken_back_first() {
    let cluster = cluster().await;
    class_with(&cluster, "fast", "odd").await;
    let cloud = VolumeCloud::new();
    let memo = Some("op-1".to_owned());
    let pending = PendingVolume { memo: memo.clone(), after: Duration::from_secs(300), reason: "busy".to_owned() };
    cloud.script.create_volume.answers_next([Ok(VolumeCreation::Pending(pending)).into(), Err(invalid()).into()]);
    let rig = start(&cluster, &cloud);
    let volume = claim(&cluster, "data", "fast", given_at("n1")).await;
    wait::until("the memo is kept", async || {
        let kept = intents(&cluster).list(&ListParams::default()).await.ok()?.items;
        kept.iter().any(|it| json!(it.data).to_string().contains("op-1")).then_some(())
    })
    .await;
    class_with(&cluster, "fast", "xfs").await;
    rig.requested.approve(tokio::time::Instant::now());
    when(&cluster, &volume, |_| true).await;
    let told = event(&cluster, "data", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains("odd is no filesystem"));
    assert_eq!(calls(&cloud), [call("odd", true), call("odd", false), call("xfs", true)]);
    let memos: Vec<_> = cloud.script.abandon_volume.calls().into_iter().map(|it| (it.name, it.memo)).collect();
    assert_eq!(memos, [(volume, memo)]);
    let claim = claims(&cluster).get("data").await.unwrap();
    let selected = claim.metadata.annotations.unwrap().remove("volume.kubernetes.io/selected-node");
    assert_eq!(selected.as_deref(), Some("n1"), "another node would change nothing");
}

/// Its author changes it as often as he likes.
#[tokio::test]
async fn a_refused_claim_that_changes_all_the_time_costs_few_calls() {
    const TIMES: usize = 30;
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    cloud.script.create_volume.answers(|(it, _)| match it.owner.name.as_str() {
        "odd" => Err(invalid()).into(),
        _ => Ok(VolumeCreation::Ready(made("vol-1", &it))).into(),
    });
    let _rig = start(&cluster, &cloud);
    let volume = claim(&cluster, "odd", "fast", given()).await;
    event(&cluster, "odd", "ProvisioningFailed").await;
    let (begin, asked) = (Instant::now(), || cloud.made().iter().filter(|it| **it == volume).count());
    for nth in 0..TIMES {
        let changed = Patch::Merge(json!({ "metadata": { "annotations": { "colour": nth.to_string() } } }));
        claims(&cluster).patch("odd", &PatchParams::default(), &changed).await.unwrap();
    }
    let last = claim(&cluster, "last", "fast", given()).await;
    when(&cluster, &last, |_| true).await;
    let most = 3 + usize::try_from(begin.elapsed().as_secs() / 5).unwrap();
    assert!(asked() <= most, "it was asked for {} times, and not {most}", asked());
    wait::until("the last change is looked at, too", async || (asked() >= 3).then_some(())).await;
    delete_claim(&cluster, "odd").await;
    no_intent(&cluster).await;
    assert!(all(&cluster).get_opt(&volume).await.unwrap().is_none());
}

/// Two pods would write to one filesystem. Both are asked for at the same time, so that no watch has shown the first.
///
/// Cases: adv 177, adv 182
#[tokio::test]
async fn a_volume_that_is_given_to_two_claims_is_the_firsts_alone() {
    let cluster = cluster().await;
    class(&cluster, "fast", json!({})).await;
    let cloud = VolumeCloud::new();
    cloud.script.create_volume.answers(|(it, _)| Ok(VolumeCreation::Ready(made("vol-1", &it))).into());
    for name in ["one", "two"] {
        claim(&cluster, name, "fast", given()).await;
    }
    let rig = start(&cluster, &cloud);
    let refused = wait::until("one of them is refused", async || {
        for name in ["one", "two"] {
            let told = events(&cluster, name).await;
            if let Some(told) = told.into_iter().find(|it| it.reason.as_deref() == Some("ProvisioningFailed")) {
                return Some(told.message.unwrap_or_default());
            }
        }
        None
    })
    .await;
    let saved = wait::until("the other one has its PersistentVolume", async || {
        let saved = all(&cluster).list(&ListParams::default()).await.ok()?.items;
        (!saved.is_empty()).then_some(saved)
    })
    .await;
    let first = saved[0].metadata.name.clone().unwrap();
    assert!(refused.contains(&format!("PersistentVolume {first} has it")), "{refused}");
    let asked = cloud.made().len();
    rig.requested.approve(tokio::time::Instant::now());
    wait::until("the volume is asked for again", async || (cloud.made().len() > asked).then_some(())).await;
    let last = claim(&cluster, "last", "fast", given()).await;
    let told = event(&cluster, "last", "ProvisioningFailed").await;
    assert!(told.message.unwrap().contains(&first), "the watch has shown it");
    assert_eq!(all(&cluster).list(&ListParams::default()).await.unwrap().items.len(), 1);
    assert!(cloud.made().contains(&last));
}
