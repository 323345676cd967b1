//! Volumes of claims through the component: made, found, listed, attached, enlarged, detached and deleted at the simulated cloud.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    AccessMode, AttachMode, ClaimOwner, CloudVolumes, DesiredVolume, Error, KnownVolume, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDetachment, VolumeExpansion,
};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{ActionTime, Droplet, Options, Volume, VolumeChange};
use tests::simulator::Fault;
use tests::vendor::Differences;
use tests::volume_steps::{attached, detached, made, settled};

use crate::setup::{CLUSTER_UID, Rig, start};

const GIB: u64 = 1 << 30;
const CLAIM: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The vendor's words, which begin each description.
const CREATED: &str = "Created by DigitalOcean CSI driver";

/// The rules for volumes, as the provider's page has them.
fn rules() -> Vec<Value> {
    vec![
        json!({ "methods": ["GET"], "paths": ["/v2/volumes", "/v2/volumes/*", "/v2/volumes/*/actions"] }),
        json!({
            "methods": ["POST"], "paths": ["/v2/volumes"],
            "fields": ["description", "name", "region", "size_gigabytes", "tags"],
        }),
        json!({ "methods": ["DELETE"], "paths": ["/v2/volumes/*"], "only": [] }),
        json!({
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"], "effect": "update",
            "fields": ["droplet_id", "region"], "body": { "type": ["attach"] },
        }),
        json!({
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"],
            "fields": ["region", "size_gigabytes"], "body": { "type": ["resize"] },
        }),
        json!({
            "methods": ["POST"], "paths": ["/v2/volumes/*/actions"], "effect": "detach",
            "fields": ["droplet_id", "region"], "body": { "type": ["detach"] },
        }),
    ]
}

/// DigitalOcean with two droplets, where volumes are switched on.
async fn rig(settings: &[(&str, &str)]) -> (Rig, Arc<dyn CloudVolumes>) {
    let (settings, rules) = ([&[("volumes", "true"), ("createAgainAfter", "1s")][..], settings].concat(), rules());
    let differences = Differences { settings: &settings, also_allowed: &rules, ..Differences::default() };
    let rig = start(Options::default(), differences, [1, 2].map(|it| Droplet::new(it, &format!("web-{it}")))).await;
    let volumes = rig.abilities.volumes.clone().unwrap();
    (rig, volumes)
}

fn desired() -> DesiredVolume {
    DesiredVolume {
        name: format!("pvc-{CLAIM}"),
        owner: ClaimOwner {
            cluster: "kubernetes".to_owned(),
            namespace: "default".to_owned(),
            name: "data".to_owned(),
            uid: CLAIM.to_owned(),
        },
        bytes: 10 * GIB,
        access_modes: vec![AccessMode::OneNode],
        filesystem: Some(String::new()),
        places: vec![vec![("region".to_owned(), "fra1".to_owned())]],
        ..DesiredVolume::default()
    }
}

fn known(handle: &str) -> KnownVolume {
    KnownVolume { handle: handle.to_owned(), name: format!("pvc-{CLAIM}"), ..KnownVolume::default() }
}

#[tokio::test]
async fn a_volume_lives_through_the_component() {
    let (rig, volumes) = rig(&[("clusterId", "c-1")]).await;
    let volume = made(&volumes, desired()).await;
    let description = format!("{CREATED} (aerostat:{CLUSTER_UID}:{CLAIM})");
    let sent = json!({
        "name": desired().name, "description": description, "size_gigabytes": 10, "region": "fra1", "tags": ["k8s:c-1"],
    });
    assert_eq!(rig.body("POST", "/v2/volumes"), sent);
    let of_claim = (volume.owner.cluster_uid.as_deref(), volume.owner.uid.as_deref());
    assert_eq!((volume.bytes, of_claim), (10 * GIB, (Some(CLUSTER_UID), Some(CLAIM))));
    let found = volumes.create(&desired(), false).await.answer.unwrap();
    assert_eq!(found, VolumeCreation::Ready(Box::new(volume.clone())), "it is found by its name");

    let page = volumes.list(None, 200).await.answer.unwrap();
    assert_eq!(page.volumes.iter().map(|it| it.handle.as_str()).collect::<Vec<_>>(), [volume.handle.as_str()]);
    assert_eq!(volumes.delete(&known(&volume.handle)).await.answer, Ok(VolumeDeletion::Done));
    assert_eq!(volumes.get(std::slice::from_ref(&volume.handle)).await.answer, [Ok(None)]);
    assert!(rig.cloud.volumes().all().is_empty());
    rig.cloud.assert_valid();
}

/// Cases: csi 19
#[tokio::test]
async fn a_lost_answer_and_a_late_list_make_one_volume() {
    let (rig, volumes) = rig(&[]).await;
    rig.cloud.volumes().behave(|it| it.lists_late_by = Duration::from_millis(300));
    rig.cloud.inject(Fault::nothing("POST", "/v2/volumes").done().times(1));
    let mut desired = desired();
    let mut is_first = true;
    let volume = loop {
        match volumes.create(&desired, is_first).await.answer {
            Ok(VolumeCreation::Ready(volume)) => break volume,
            Ok(VolumeCreation::Pending(it)) => desired.memo = it.memo,
            other => panic!("{other:?}"),
        }
        is_first = false;
    };
    let all = rig.cloud.volumes().all();
    assert_eq!(all.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), [volume.handle.as_str()]);
}

/// Cases: csi 37
#[tokio::test]
async fn volumes_of_others_and_a_used_up_quota_are_refused() {
    let (rig, volumes) = rig(&[]).await;
    rig.cloud.volumes().behave(|it| it.quota = Some(5));
    let refused = volumes.create(&desired(), true).await.answer;
    assert!(matches!(&refused, Err(error) if error.to_string().contains("quota")), "{refused:?}");
    let id = "506f78a4-e098-11e5-ad9f-000000000001";
    let of_other = |description: &str| {
        let volume = Volume { description: description.to_owned(), ..Volume::new(id, &desired().name) };
        rig.cloud.volumes().insert(volume);
    };
    for description in ["my disk".to_owned(), format!("{CREATED} (aerostat:another-cluster:{CLAIM})")] {
        of_other(&description);
        let refused = volumes.create(&desired(), false).await.answer;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("it is not touched")), "{refused:?}");
    }
    let denied = volumes.delete(&known(id)).await.answer;
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
    of_other(CREATED);
    let found = volumes.create(&desired(), false).await.answer;
    assert!(matches!(&found, Ok(VolumeCreation::Ready(it)) if it.handle == id), "as the vendor left it: {found:?}");
    assert!(rig.cloud.volumes().all().len() == 1 && rig.writes().len() == 1, "{:?}", rig.writes());
}

/// Cases: csi 46, csi 49, csi 57, csi 62, csi 71
#[tokio::test]
async fn a_volume_is_attached_enlarged_and_detached_through_the_gate() {
    let (rig, volumes) = rig(&[]).await;
    rig.cloud.volumes().behave(|it| it.action = ActionTime::Reads(1));
    let volume = known(&made(&volumes, desired()).await.handle);
    let context = vec![("dobs.csi.digitalocean.com/volume-name".to_owned(), desired().name)];
    assert_eq!(attached(&volumes, &volume, "1").await, VolumeAttachment::Ready(context.clone()));
    assert_eq!(attached(&volumes, &volume, "1").await, VolumeAttachment::Ready(context), "again, without a write");
    assert_eq!(attached(&volumes, &volume, "2").await, VolumeAttachment::Occupied("1".to_owned()));
    let step = async || volumes.expand(&volume, 12 * GIB).await.answer.unwrap();
    let grown = settled(step, |it| matches!(it, VolumeExpansion::Pending(_))).await;
    assert_eq!(grown, VolumeExpansion::Ready { bytes: 12 * GIB, node_must_grow: true });
    let in_use = volumes.delete(&volume).await.answer;
    assert_eq!(in_use, Ok(VolumeDeletion::InUse(vec!["1".to_owned()])), "nothing is detached for that");
    assert_eq!(detached(&volumes, &volume, "2").await, VolumeDetachment::Done, "it is elsewhere, and stays there");
    assert_eq!(detached(&volumes, &volume, "1").await, VolumeDetachment::Done);
    assert_eq!(detached(&volumes, &volume, "1").await, VolumeDetachment::Done, "again, without a write");
    let actions: Vec<_> = rig.cloud.volumes().actions().iter().map(|it| it.change).collect();
    assert_eq!(actions, [VolumeChange::Attach(1), VolumeChange::Resize(12), VolumeChange::Detach(1)]);
    assert_eq!(volumes.delete(&volume).await.answer, Ok(VolumeDeletion::Done));
    rig.cloud.assert_valid();
}

/// Cases: csi 68
#[tokio::test]
async fn a_pause_that_the_cloud_asks_for_is_its_credentials_alone() {
    let ((first, volumes), (_second, others)) = tokio::join!(rig(&[]), rig(&[]));
    let volume = known(&made(&volumes, desired()).await.handle);
    let busy = Fault::status("POST", "/v2/volumes/*/actions", 429).header("retry-after", "60");
    first.cloud.inject(busy.times(1));
    let refused = volumes.attach(&volume, "1", &AttachMode::default()).await.answer.map(drop);
    let is_pause = |answer: &Result<(), Error>| matches!(answer, Err(Error::RetryAfter { after, .. }) if (30..=60).contains(&after.as_secs()));
    assert!(is_pause(&refused), "{refused:?}");
    let asked = first.cloud.requests().len();
    let next = [
        volumes.attach(&volume, "1", &AttachMode::default()).await.answer.map(drop),
        volumes.detach(&volume, "1").await.answer.map(drop),
        volumes.expand(&volume, 12 * GIB).await.answer.map(drop),
        volumes.delete(&volume).await.answer.map(drop),
        volumes.create(&desired(), false).await.answer.map(drop),
        volumes.list(None, 200).await.answer.map(drop),
    ];
    assert!(next.iter().all(is_pause), "{next:?}");
    assert_eq!(first.cloud.requests().len(), asked, "nothing is sent before its time");
    made(&others, desired()).await;
}

/// Cases: csi 58
#[tokio::test]
async fn a_full_droplet_and_a_failed_action_are_told() {
    let (rig, volumes) = rig(&[]).await;
    rig.cloud.volumes().behave(|it| it.most_per_droplet = 0);
    let volume = known(&made(&volumes, desired()).await.handle);
    let full = attached(&volumes, &volume, "1").await;
    assert!(matches!(&full, VolumeAttachment::Full(why) if why.contains("cannot attach more than")), "{full:?}");
    rig.cloud.volumes().behave(|it| (it.most_per_droplet, it.actions_fail) = (7, true));
    let mode = AttachMode::default();
    let begun = volumes.attach(&volume, "1", &mode).await.answer;
    assert!(matches!(begun, Ok(VolumeAttachment::Pending(_))), "{begun:?}");
    rig.cloud.volumes().behave(|it| it.actions_fail = false);
    let told = volumes.attach(&volume, "1", &mode).await.answer;
    assert!(matches!(&told, Err(Error::Unavailable(why)) if why.contains("has failed in the cloud")), "{told:?}");
    let attached = attached(&volumes, &volume, "1").await;
    assert!(matches!(attached, VolumeAttachment::Ready(_)), "{attached:?}");
}
