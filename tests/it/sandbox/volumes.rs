//! Volumes for claims, of a module that brings nothing else: its answers, and its lies.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    AttachMode, ClaimOwner, Cloud, CloudVolumes, DesiredVolume, Error, KnownVolume, VolumeAttachment, VolumeCreation,
    VolumeDeletion, VolumeDetachment, VolumeExpansion, is_printable,
};
use prometheus::Registry;

use crate::setup::Guest;

const GIB: u64 = 1 << 30;

async fn loaded(lie: &str) -> Result<Cloud, sandbox::LoadError> {
    let guest = Guest::of(std::fs::read(tests::guests::LYING_VOLUMES).unwrap()).setting("lie", lie);
    Ok(guest.try_load(&Registry::new()).await?.cloud())
}

async fn volumes(lie: &str) -> Arc<dyn CloudVolumes> {
    loaded(lie).await.unwrap_or_else(|error| panic!("{error:?}")).volumes.expect("the guest exports volumes")
}

fn desired(claim: &str) -> DesiredVolume {
    let uid = format!("0e2f6f1c-9a5e-4a8e-8f0b-{claim:0>12}");
    DesiredVolume {
        name: format!("pvc-{uid}"),
        owner: ClaimOwner { uid, name: claim.to_owned(), ..ClaimOwner::default() },
        bytes: GIB,
        filesystem: Some("ext4".to_owned()),
        ..DesiredVolume::default()
    }
}

fn known(handle: &str) -> KnownVolume {
    KnownVolume { handle: handle.to_owned(), name: "pvc-1".to_owned(), ..KnownVolume::default() }
}

fn assert_refused<T: std::fmt::Debug>(answer: Result<T, Error>, expected: &str) {
    let text = answer.unwrap_err().to_string();
    assert!(text.contains(expected) && is_printable(&text), "{text}");
}

#[tokio::test]
async fn a_module_may_bring_volumes_alone() {
    let cloud = loaded("").await.unwrap();
    assert!(cloud.instances.is_none() && cloud.load_balancers.is_none() && cloud.persistent_volumes.is_none());
    let volumes = cloud.volumes.unwrap();
    let described = volumes.description();
    assert_eq!((described.driver.as_str(), described.get_batch_size), ("csi.lying.example", 10));
    let asked = desired("data");
    let Ok(VolumeCreation::Ready(made)) = volumes.create(&asked, true).await.answer else { panic!("it is not ready") };
    assert_eq!((made.handle.as_str(), made.name.as_str(), made.bytes), ("vol-1", asked.name.as_str(), GIB));
    assert_eq!(volumes.abandon(&asked).await.answer, Ok(VolumeDeletion::Done));
    let context = vec![("devicePath".to_owned(), "/dev/m-1".to_owned())];
    let attached = volumes.attach(&known("vol-1"), "m-1", &AttachMode::default()).await.answer;
    assert_eq!(attached, Ok(VolumeAttachment::Ready(context)));
    assert_eq!(volumes.detach(&known("vol-1"), "m-1").await.answer, Ok(VolumeDetachment::Done));
    let grown = Ok(VolumeExpansion::Ready { bytes: 2 * GIB, node_must_grow: true });
    assert_eq!(volumes.expand(&known("vol-1"), 2 * GIB).await.answer, grown);
    let used = Ok(VolumeDeletion::InUse(vec!["m-1".to_owned()]));
    assert_eq!(volumes.delete(&known("used")).await.answer, used);
    assert_eq!(volumes.delete(&known("vol-1")).await.answer, Ok(VolumeDeletion::Done));
    let page = volumes.list(None, 100).await.answer.unwrap();
    assert_eq!((page.volumes.len(), page.next, page.incomplete), (1, None, None));
}

#[tokio::test]
async fn a_step_keeps_its_memo_and_says_whether_it_is_the_first() {
    let volumes = volumes("pending").await;
    for is_first in [true, false] {
        let Ok(VolumeCreation::Pending(it)) = volumes.create(&desired("data"), is_first).await.answer else {
            panic!("it is not pending")
        };
        assert_eq!(it.memo, Some(format!("first {is_first}")));
        assert!(it.after == Duration::from_secs(300) && is_printable(&it.reason), "{it:?}");
    }
}

#[tokio::test]
async fn lies_about_volumes_are_refused() {
    assert_refused(volumes("another").await.create(&desired("data"), true).await.answer, "pvc-of-another");
    assert_refused(volumes("small").await.create(&desired("data"), true).await.answer, "fewer than");
    assert_refused(volumes("small").await.expand(&known("vol-1"), GIB).await.answer, "fewer than");
    let attached = volumes("undescribed").await.attach(&known("vol-1"), "m-1", &AttachMode::default()).await;
    assert_refused(attached.answer, "which it does not describe");
    assert_refused(volumes("too-many").await.list(None, 100).await.answer, "a page has 101 volumes");
    let page = volumes("one-unusable").await.list(None, 100).await.answer.unwrap();
    assert!(page.volumes.len() == 1 && page.incomplete.is_some_and(|it| is_printable(&it)));
    assert_refused(volumes("no-list").await.list(None, 100).await.answer, "have no list");
    let full = volumes("full").await.create(&desired("data"), true).await.answer;
    assert!(matches!(full, Ok(VolumeCreation::NoRoom(why)) if is_printable(&why)));
    for (lie, expected) in [("no-batch", "get-batch-size"), ("no-driver", "the driver")] {
        let error = format!("{:?}", loaded(lie).await.map(drop).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn each_handle_has_its_own_answer() {
    let volumes = volumes("").await;
    let get = async |handles: &[&str]| {
        let handles: Vec<_> = handles.iter().map(|it| (*it).to_owned()).collect();
        volumes.get(&handles).await.answer
    };
    let answers = get(&["vol-1", "nowhere", "refused", "another"]).await;
    assert!(matches!(&answers[0], Ok(Some(it)) if it.handle == "vol-1"), "{answers:?}");
    assert_eq!(answers[1], Ok(None));
    assert!(matches!(&answers[2], Err(Error::Denied(why)) if is_printable(why)), "{answers:?}");
    assert_refused(answers[3].clone(), "asked for volume another, and answers volume vol-9");
    for answer in get(&["too-few", "vol-1"]).await {
        assert_refused(answer, "0 answers for 2 questions");
    }
    let answers = get(&["crash", "vol-2"]).await;
    assert!(answers[0].is_err() && matches!(&answers[1], Ok(Some(it)) if it.handle == "vol-2"), "{answers:?}");
}

#[tokio::test]
async fn a_crash_over_one_volume_sets_that_one_aside() {
    let volumes = volumes("crash").await;
    let crashed = volumes.create(&desired("crash"), false).await.answer;
    assert_refused(crashed, "Only PersistentVolumeClaim /crash is set aside");
    assert!(matches!(volumes.create(&desired("data"), false).await.answer, Ok(VolumeCreation::Ready(_))));
    assert_refused(volumes.delete(&known("crash")).await.answer, "Only PersistentVolume pvc-1 is set aside");
    assert_eq!(volumes.abandon(&desired("crash")).await.answer, Ok(VolumeDeletion::Done), "another function");
}
