//! Volumes of claims through the component: made, found, listed, attached, enlarged, detached and deleted at the simulated cloud.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    AccessMode, AttachMode, ClaimOwner, CloudVolumes, DesiredVolume, Error, KnownVolume, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDetachment, VolumeExpansion,
};
use serde_json::{Value, json};
use tests::clouds::hetzner::{Behaviour, Labels, Options, Taking, Volume};
use tests::simulator::Fault;
use tests::volume_steps::{attached, detached, made, settled};

use crate::setup::{CLUSTER_UID, Rig, with_rules};

const GIB: u64 = 1 << 30;
const CLAIM: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

/// The rules for volumes of claims, as the provider's page has them.
fn rules() -> Vec<Value> {
    vec![
        json!({ "methods": ["GET"], "paths": ["/volumes/*/actions"] }),
        json!({ "methods": ["POST"], "paths": ["/volumes"], "fields": ["labels", "location", "name", "size"] }),
        json!({ "methods": ["DELETE"], "paths": ["/volumes/*"], "only": [] }),
        json!({
            "methods": ["POST"], "paths": ["/volumes/*/actions/attach"], "effect": "update", "fields": ["server"],
        }),
        json!({ "methods": ["POST"], "paths": ["/volumes/*/actions/resize"], "fields": ["size"] }),
        json!({ "methods": ["POST"], "paths": ["/volumes/*/actions/detach"], "effect": "detach", "only": [] }),
    ]
}

/// A project with two servers, where volumes are switched on and actions end after two reads.
async fn rig() -> (Rig, Arc<dyn CloudVolumes>) {
    let behaviour = Behaviour { actions: Taking::Reads(2), ..Behaviour::default() };
    let options = Options { behaviour, ..Options::default() };
    let rig = with_rules(options, &[("volumes", "true"), ("createAgainAfter", "1s")], &rules()).await;
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
        places: vec![vec![("csi.hetzner.cloud/location".to_owned(), "fsn1".to_owned())]],
        ..DesiredVolume::default()
    }
}

fn known(handle: &str) -> KnownVolume {
    KnownVolume { handle: handle.to_owned(), name: format!("pvc-{CLAIM}"), ..KnownVolume::default() }
}

#[tokio::test]
async fn a_volume_lives_through_the_component() {
    let (rig, volumes) = rig().await;
    let volume = made(&volumes, desired()).await;
    let labels = json!({
        "managed-by": "csi-driver", "pvc-name": "data", "pvc-namespace": "default", "pv-name": desired().name,
        "aerostat.dev/cluster-uid": CLUSTER_UID, "aerostat.dev/claim-uid": CLAIM,
    });
    let sent = json!({ "name": desired().name, "location": "fsn1", "size": 10, "labels": labels });
    assert_eq!(rig.body("POST", "/v1/volumes"), sent);
    let of_claim = (volume.owner.cluster_uid.as_deref(), volume.owner.uid.as_deref());
    assert_eq!((volume.bytes, of_claim), (10 * GIB, (Some(CLUSTER_UID), Some(CLAIM))));
    assert_eq!(volume.attributes, [("fsFormatOptions".to_owned(), String::new())]);
    let found = volumes.create(&desired(), false).await.answer.unwrap();
    assert_eq!(found, VolumeCreation::Ready(Box::new(volume.clone())), "it is found by its name");

    let page = volumes.list(None, 50).await.answer.unwrap();
    assert_eq!(page.volumes.iter().map(|it| it.handle.as_str()).collect::<Vec<_>>(), [volume.handle.as_str()]);
    assert_eq!(volumes.delete(&known(&volume.handle)).await.answer, Ok(VolumeDeletion::Done));
    assert_eq!(volumes.get(std::slice::from_ref(&volume.handle)).await.answer, [Ok(None)]);
    assert!(rig.cloud.volumes().all().is_empty());
    rig.cloud.assert_valid();
}

/// Cases: csi 19
#[tokio::test]
async fn a_lost_answer_and_a_late_list_make_one_volume() {
    let (rig, volumes) = rig().await;
    rig.cloud.behave(|it| it.lists_late_by = Duration::from_millis(300));
    rig.cloud.inject(Fault::nothing("POST", "/v1/volumes").done().times(1));
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
    assert_eq!(all.iter().map(|it| it.id.to_string()).collect::<Vec<_>>(), [volume.handle.as_str()]);
}

/// Cases: csi 28, csi 37, csi 44, adv 178, bad-volume
#[tokio::test]
async fn volumes_of_others_and_protected_ones_stay() {
    let (rig, volumes) = rig().await;
    let insert = |labels: &[(&str, &str)], protected: bool| {
        let labels: Labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        rig.cloud.volumes().insert(Volume { labels, protected, ..Volume::new(7, &desired().name) });
    };
    let foreign = [("aerostat.dev/cluster-uid", "another"), ("aerostat.dev/claim-uid", CLAIM)];
    for labels in [&[("managed-by", "me")][..], &foreign] {
        insert(labels, false);
        let refused = volumes.create(&desired(), false).await.answer;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("it is not touched")), "{refused:?}");
    }
    let denied = volumes.delete(&known("7")).await.answer;
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
    let name = desired().name;
    insert(&[("managed-by", "csi-driver"), ("pv-name", name.as_str())], true);
    let found = volumes.create(&desired(), false).await.answer;
    assert!(matches!(&found, Ok(VolumeCreation::Ready(it)) if it.handle == "7"), "as the vendor left it: {found:?}");
    assert!(rig.writes().is_empty(), "{:?}", rig.writes());
    let protected = volumes.delete(&known("7")).await.answer;
    assert!(matches!(&protected, Err(why) if why.to_string().contains("protected")), "{protected:?}");
    assert_eq!(rig.cloud.volumes().all().len(), 1);
}

/// Cases: csi 46, csi 49, csi 57, csi 62, csi 71
#[tokio::test]
async fn a_volume_moves_and_grows_through_the_gate() {
    let (rig, volumes) = rig().await;
    let volume = known(&made(&volumes, desired()).await.handle);
    let device = format!("/dev/disk/by-id/scsi-0HC_Volume_{}", volume.handle);
    let context = vec![("devicePath".to_owned(), device)];
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
    let action = |name: &str| format!("POST /v1/volumes/{}/actions/{name} → 201", volume.handle);
    let expected = ["attach", "resize", "detach"].map(action);
    assert_eq!(rig.writes()[1..], expected);
    assert_eq!(volumes.delete(&volume).await.answer, Ok(VolumeDeletion::Done));
    rig.cloud.assert_valid();
}

/// Cases: csi 52
#[tokio::test]
async fn a_volume_is_detached_from_a_server_that_is_gone() {
    let (rig, volumes) = rig().await;
    let volume = known(&made(&volumes, desired()).await.handle);
    assert!(matches!(attached(&volumes, &volume, "1").await, VolumeAttachment::Ready(_)));
    rig.cloud.servers().remove(1);
    assert_eq!(detached(&volumes, &volume, "1").await, VolumeDetachment::Done);
    assert!(matches!(attached(&volumes, &volume, "2").await, VolumeAttachment::Ready(_)));
}

/// Cases: csi 29, csi 58
#[tokio::test]
async fn a_full_server_and_a_full_location_are_told() {
    let (rig, volumes) = rig().await;
    rig.cloud.behave(|it| it.has_room = false);
    let nowhere = volumes.create(&desired(), true).await.answer;
    assert!(matches!(&nowhere, Ok(VolumeCreation::NoRoom(_))), "{nowhere:?}");
    rig.cloud.behave(|it| (it.has_room, it.volumes_per_server) = (true, 0));
    let volume = known(&made(&volumes, desired()).await.handle);
    let full = attached(&volumes, &volume, "1").await;
    assert!(matches!(&full, VolumeAttachment::Full(why) if why.contains("no more volumes")), "{full:?}");
    rig.cloud.behave(|it| (it.volumes_per_server, it.failing) = (16, Some("attach_volume")));
    let begun = volumes.attach(&volume, "1", &AttachMode::default()).await.answer;
    assert!(matches!(begun, Ok(VolumeAttachment::Pending(_))), "{begun:?}");
    // The next one sees it run, and the one after that it has failed.
    let step = async || volumes.attach(&volume, "1", &AttachMode::default()).await.answer;
    let failed = settled(step, |it| matches!(it, Ok(VolumeAttachment::Pending(_)))).await;
    assert!(matches!(&failed, Err(Error::Unavailable(why)) if why.contains("another is asked for")), "{failed:?}");
}
