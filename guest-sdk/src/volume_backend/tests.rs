//! The promises, with a cloud in memory: lost answers, late lists, volumes of others, and of the vendor's controller.

mod cloud;
mod unremembered;

use std::time::Duration;

use serde_json::{Value, json};

use self::cloud::{Acme, Disks};
use super::*;
use crate::testing::{self, FakeMoment, Host, SimulatedCloud};
use crate::{
    AttachMode, Cluster, DesiredVolume, Error, KnownVolume, VolumeAttachment, VolumeCreation, VolumeDeletion,
    VolumeDetachment, VolumeExpansion, Volumes,
};

const GIB: u64 = 1 << 30;
const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn desired() -> DesiredVolume {
    DesiredVolume::of("default", "data", UID, 10 * GIB)
}

fn mark(cluster: &str, uid: &str) -> String {
    crate::Mark { cluster: cluster.to_owned(), service: uid.to_owned() }.to_string()
}

fn mode() -> AttachMode {
    AttachMode { read_only: false, block: false, access_modes: desired().access_modes }
}

/// One call before this cloud: its answer, the requests, and the events' reasons.
fn call<const UNIQUE: bool, T>(cloud: Disks<UNIQUE>, of: impl FnOnce() -> T) -> (T, Vec<String>, Vec<String>) {
    let cloud = SimulatedCloud::new(cloud).shared();
    let host = Host::of(&cloud).cluster(Cluster::of("kubernetes", CLUSTER));
    let answer = host.run(of);
    (answer, host.requests(), host.events().into_iter().map(|it| it.reason).collect())
}

#[test]
fn a_volume_survives_each_request_that_goes_wrong() {
    assert_eq!(testing::converge_volumes::<Acme<true>, _>(Disks::<true>::default, &desired()), [""; 0]);
    assert_eq!(testing::converge_volumes::<Acme<false>, _>(Disks::<false>::default, &desired()), [""; 0]);
}

/// Cases: csi 28, adv 176
#[test]
fn a_volume_of_another_is_never_taken() {
    let name = desired().name;
    for other in ["", "someone's", &mark("another-cluster", UID), &mark(CLUSTER, "another-claim")] {
        let disk = json!({ "size": 10, "mark": other, "at": null });
        let (refused, requests, _) =
            call(Disks::<true>::default().with(&name, disk.clone()), || create(&Acme::<true>, &desired()));
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("it is not touched")), "{refused:?}");
        assert_eq!(requests.len(), 1, "{requests:?}");
        let (made, requests, told) = call(Disks::<false>::default().with(&name, disk.clone()), || {
            create(&Acme::<false>, &desired().first_create())
        });
        assert!(matches!(made, Ok(VolumeCreation::Pending(_))) && requests.len() == 2, "{requests:?}");
        assert_eq!(told, ["VolumeNameTaken"]);
        let (left, requests, _) =
            call(Disks::<false>::default().with(&name, disk), || abandon(&Acme::<false>, &desired()));
        assert!(matches!(left, Ok(VolumeDeletion::Pending(_))) && requests.len() == 1, "{requests:?}");
    }
}

/// Cases: adv 177
#[test]
fn a_volume_of_another_that_a_memo_names_is_left_alone() {
    let memo = Some("made disk-2 since 1".to_owned());
    let forged = DesiredVolume { memo, ..desired() };
    for other in ["", "vendor", &mark("another-cluster", UID), &mark(CLUSTER, "another-claim")] {
        let cloud = || Disks::<true>::default().with("pvc-2", json!({ "size": 10, "mark": other, "at": null }));
        let (made, requests, _) = call(cloud(), || create(&Acme::<true>, &forged));
        assert!(matches!(made, Ok(VolumeCreation::Pending(_))), "{made:?}");
        assert_eq!(requests.last().unwrap(), "POST api /disks", "{requests:?}");
        let (left, requests, _) = call(cloud(), || abandon(&Acme::<true>, &forged));
        assert!(left.is_ok() && requests.iter().all(|it| it.starts_with("GET ")), "{left:?} {requests:?}");
    }
}

#[test]
fn a_volume_of_the_vendors_controller_is_found_by_its_name() {
    let vendors = json!({ "size": 12, "mark": "vendor", "at": null });
    let (found, requests, _) =
        call(Disks::<true>::default().with(&desired().name, vendors), || create(&Acme::<true>, &desired()));
    assert!(matches!(found, Ok(VolumeCreation::Ready(it)) if it.bytes == 12 * GIB), "{requests:?}");
}

#[test]
fn the_marked_one_of_two_volumes_is_used_and_the_other_told() {
    let (name, ours) = (desired().name, mark(CLUSTER, UID));
    let cloud = Disks::<false>::default()
        .with(&name, json!({ "size": 10, "mark": "vendor", "at": null }))
        .with(&name, json!({ "size": 10, "mark": ours, "at": null }));
    let (found, _, told) = call(cloud, || create(&Acme::<false>, &desired()));
    assert!(matches!(&found, Ok(VolumeCreation::Ready(it)) if it.handle == "disk-3"), "{found:?}");
    assert_eq!(told, ["VolumeDoubled"]);
}

#[test]
fn a_volume_that_failed_or_is_too_small_is_made_again() {
    let ours = mark(CLUSTER, UID);
    for odd in [json!({ "size": 10, "failed": "no disk" }), json!({ "size": 9 })] {
        let disk = |at: Value| {
            let mut disk = odd.clone();
            (disk["mark"], disk["at"]) = (json!(ours), at);
            Disks::<true>::default().with(&desired().name, disk)
        };
        let (again, requests, told) = call(disk(Value::Null), || create(&Acme::<true>, &desired()));
        assert!(matches!(again, Ok(VolumeCreation::Pending(_))), "{again:?}");
        assert_eq!(
            (requests.last().unwrap().as_str(), &told[..]),
            ("DELETE api /disks/disk-2", &["ProvisioningFailed".to_owned()][..])
        );
        let (used, requests, _) = call(disk(json!("m-1")), || create(&Acme::<true>, &desired()));
        assert!(matches!(used, Err(Error::Invalid(_))) && requests.len() == 1, "{requests:?}");
    }
}

/// Cases: csi 37, adv 178
#[test]
fn a_volume_of_another_cluster_or_in_use_is_not_deleted() {
    let known = KnownVolume::of("disk-2");
    let disk =
        |mark: &str, at: Value| Disks::<true>::default().with("pvc-1", json!({ "size": 1, "mark": mark, "at": at }));
    let (foreign, requests, _) =
        call(disk(&mark("another-cluster", UID), Value::Null), || delete(&Acme::<true>, &known));
    assert!(matches!(foreign, Err(Error::Denied(_))) && requests.len() == 1, "{requests:?}");
    let (used, requests, _) = call(disk("", json!("m-1")), || delete(&Acme::<true>, &known));
    assert_eq!((used, requests.len()), (Ok(VolumeDeletion::InUse(vec!["m-1".to_owned()])), 1));
    let (gone, ..) = call(disk("", Value::Null), || delete(&Acme::<true>, &known));
    assert_eq!(gone, Ok(VolumeDeletion::Done), "one without marks was made by hand");
    let (odd, requests, _) = call(disk("", Value::Null), || delete(&Acme::<true>, &KnownVolume::of("../disk-2")));
    assert!(matches!(odd, Err(Error::Invalid(_))) && requests.is_empty(), "{requests:?}");
    let (missing, ..) = call(disk("", Value::Null), || delete(&Acme::<true>, &KnownVolume::of("disk-9")));
    assert_eq!(missing, Ok(VolumeDeletion::Done));
}

#[test]
fn a_volume_is_read_by_a_handle_of_its_driver_alone() {
    let cloud = || Disks::<true>::default().with("pvc-1", json!({ "size": 3, "mark": "", "at": "m-1" }));
    let (found, ..) = call(cloud(), || Acme::<true>::get("disk-2"));
    assert!(matches!(&found, Ok(Some(it)) if it.bytes == 3 * GIB && it.attached_to == ["m-1"]), "{found:?}");
    assert_eq!(call(cloud(), || Acme::<true>::get("disk-9")).0, Ok(None));
    let (odd, requests, _) = call(cloud(), || Acme::<true>::get("../disk-2"));
    assert!(matches!(odd, Err(Error::Invalid(_))) && requests.is_empty(), "{requests:?}");
}

#[test]
fn a_volume_at_another_machine_is_not_moved() {
    let disk = Disks::<true>::default().with("pvc-1", json!({ "size": 1, "mark": "", "at": "m-1" }));
    let (occupied, requests, _) = call(disk, || attach(&Acme::<true>, &KnownVolume::of("disk-2"), "m-2", &mode()));
    assert_eq!((occupied, requests.len()), (Ok(VolumeAttachment::Occupied("m-1".to_owned())), 1));
    let disk = Disks::<true>::default().with("pvc-1", json!({ "size": 1, "mark": "", "at": "m-1" }));
    let (there, ..) = call(disk, || attach(&Acme::<true>, &KnownVolume::of("disk-2"), "m-1", &mode()));
    assert_eq!(there, Ok(VolumeAttachment::Ready(vec![("name".to_owned(), "pvc-1".to_owned())])));
    let disk = Disks::<true>::default().with("pvc-1", json!({ "size": 1, "mark": "", "at": "m-1" }));
    let (elsewhere, requests, _) = call(disk, || detach(&Acme::<true>, &KnownVolume::of("disk-2"), "m-2"));
    assert_eq!((elsewhere, requests.len()), (Ok(VolumeDetachment::Done), 1), "that of another machine stays");
}

#[test]
fn a_volume_at_work_is_neither_detached_nor_deleted_yet() {
    let busy = || {
        let mut cloud = Disks::<true>::default().with("pvc-1", json!({ "size": 1, "mark": "", "at": null }));
        cloud.actions.begin("disk-2", 2_000_000, FakeMoment::default());
        cloud
    };
    let known = KnownVolume::of("disk-2");
    let (detached, requests, _) = call(busy(), || detach(&Acme::<true>, &known, "m-1"));
    assert!(matches!(detached, Ok(VolumeDetachment::Pending(_))) && requests.len() == 1, "it may be an attachment");
    let (deleted, requests, _) = call(busy(), || delete(&Acme::<true>, &known));
    let Ok(VolumeDeletion::Pending(left)) = deleted else { panic!("{deleted:?}") };
    assert_eq!((left.wait.milliseconds, requests.len()), (1_000, 1), "{requests:?}");
}

/// Cases: csi 21
#[test]
fn a_volume_at_work_is_given_up_without_another_memo() {
    let abandoned = |memo: Option<&str>| {
        let disk = json!({ "size": 10, "mark": mark(CLUSTER, UID), "at": null });
        let mut cloud = Disks::<true>::default().with(&desired().name, disk);
        cloud.actions.begin("disk-2", 2_000_000, FakeMoment::default());
        let unwanted = DesiredVolume { memo: memo.map(str::to_owned), ..desired() };
        let (left, requests, _) = call(cloud, || abandon(&Acme::<true>, &unwanted));
        let Ok(VolumeDeletion::Pending(left)) = left else { panic!("{left:?}") };
        assert_eq!(left.wait.milliseconds, 1_000);
        (left.memo.unwrap(), requests.len())
    };
    for known in ["made disk-2 since 1", "made disk-2 since 1 number 3"] {
        assert_eq!(abandoned(Some(known)), (known.to_owned(), 1), "the host writes nothing");
    }
    for unknown in [None, Some("lost since 1"), Some("lost since 1 number 0"), Some("made disk-9 since 1")] {
        let (memo, _) = abandoned(unknown);
        assert!(memo.starts_with("made disk-2 since ") && memo != "made disk-2 since 1", "{unknown:?}: {memo}");
    }
}

#[test]
fn a_larger_volume_does_not_shrink() {
    let disk = Disks::<true>::default().with("pvc-1", json!({ "size": 12, "mark": "", "at": null }));
    let (larger, requests, _) = call(disk, || expand(&Acme::<true>, &KnownVolume::of("disk-2"), 10 * GIB));
    let expected = crate::ExpandedVolume::on_node(12 * GIB);
    assert_eq!((larger, requests.len()), (Ok(VolumeExpansion::Ready(expected)), 1));
}

/// Cases: csi 69
#[test]
fn a_block_device_grows_alone_where_the_vendor_says_so() {
    fn grows_on_node<const UNIQUE: bool>(known: &KnownVolume) -> bool {
        let disk = Disks::<UNIQUE>::default().with("pvc-1", json!({ "size": 12, "mark": "", "at": null }));
        match call(disk, || expand(&Acme::<UNIQUE>, known, 10 * GIB)).0 {
            Ok(VolumeExpansion::Ready(it)) => it.node_must_grow,
            other => panic!("{other:?}"),
        }
    }
    let (block, files) = (KnownVolume::of("disk-2").block(), KnownVolume::of("disk-2"));
    assert_eq!((grows_on_node::<true>(&block), grows_on_node::<true>(&files)), (false, true));
    assert_eq!((grows_on_node::<false>(&block), grows_on_node::<false>(&files)), (true, true));
}

/// Cases: adv 178
#[test]
fn a_volume_of_another_cluster_does_not_grow() {
    let disk = json!({ "size": 1, "mark": mark("another-cluster", UID), "at": null });
    let disk = Disks::<true>::default().with("pvc-1", disk);
    let (foreign, requests, _) = call(disk, || expand(&Acme::<true>, &KnownVolume::of("disk-2"), 10 * GIB));
    assert!(matches!(&foreign, Err(Error::Denied(why)) if why.contains("another cluster")), "{foreign:?}");
    assert_eq!(requests.len(), 1, "it was read");
}

/// Cases: adv 177
#[test]
fn a_memo_of_another_program_stops_a_creation() {
    for memo in ["disk-2", "made vol-7 since 1", "lost since x", "lost since 1 2"] {
        let forged = DesiredVolume { memo: Some(memo.to_owned()), ..desired() };
        for answer in [
            call(Disks::<true>::default(), || create(&Acme::<true>, &forged).map(drop)),
            call(Disks::<true>::default(), || abandon(&Acme::<true>, &forged).map(drop)),
        ] {
            assert!(matches!(answer, (Err(Error::Invalid(_)), requests, _) if requests.is_empty()), "{memo}");
        }
    }
}

#[test]
fn a_creation_has_another_number_once_one_is_spent() {
    let cloud = SimulatedCloud::new(Disks::<false> { spent: 2, ..Disks::default() }).shared();
    let host = Host::of(&cloud).cluster(Cluster::of("kubernetes", CLUSTER));
    let mut asked = desired().first_create();
    let mut numbers = Vec::new();
    let volume = loop {
        let now = cloud.borrow().now();
        match host.clone().at(now).run(|| create(&Acme::<false>, &asked)) {
            Ok(VolumeCreation::Ready(volume)) => break volume,
            Ok(VolumeCreation::Pending(it)) => asked = desired().with_new_memo(it.memo.unwrap()),
            other => panic!("{other:?}"),
        }
        numbers.push(creation_number(&asked).unwrap());
        cloud.borrow_mut().advance(Duration::from_secs(20));
    };
    numbers.dedup();
    assert_eq!((numbers, volume.handle.as_str()), (vec![2, 3, 4], "disk-2"), "the fourth is for one after the third");
    assert_eq!(cloud.borrow().world().objects.len(), 2);
    let told: Vec<_> = host.events().into_iter().map(|it| it.reason).collect();
    assert_eq!(told, ["VolumeTokenSpent"; 2]);
}

#[test]
fn a_volume_that_stalls_on_its_way_is_told_and_let_go() {
    let disk = json!({ "size": 1, "mark": "", "at": "m-1", "stalled": "it is attaching for 90 s" });
    let cloud = || Disks::<true>::default().with("pvc-1", disk.clone());
    let known = KnownVolume::of("disk-2");
    let (waits, requests, told) = call(cloud(), || attach(&Acme::<true>, &known, "m-1", &mode()));
    assert!(matches!(&waits, Ok(VolumeAttachment::Pending(it)) if it.wait.reason.contains("for 90 s")), "{waits:?}");
    assert_eq!((requests.len(), &told[..]), (1, &["VolumeAttachmentStalled".to_owned()][..]));
    let (leaves, requests, _) = call(cloud(), || detach(&Acme::<true>, &known, "m-1"));
    assert!(matches!(leaves, Ok(VolumeDetachment::Pending(_))), "{leaves:?}");
    assert_eq!(requests.last().unwrap(), "POST api /disks/disk-2/at");
}

/// Cases: csi 55
#[test]
fn an_action_after_one_that_failed_is_begun_and_an_error() {
    let disk = |at: Value| json!({ "size": 1, "mark": "", "at": at, "failure": "action 7 has failed" });
    let cloud = |at: Value| Disks::<true>::default().with("pvc-1", disk(at));
    let known = KnownVolume::of("disk-2");
    let (attached, requests, told) =
        call(cloud(Value::Null), || attach(&Acme::<true>, &known, "m-1", &mode()).map(drop));
    assert!(matches!(&attached, Err(Error::Unavailable(why)) if why.contains("action 7 has failed")), "{attached:?}");
    assert_eq!((requests.len(), told.len()), (2, 0), "{requests:?}");
    for (answer, requests, _) in [
        call(cloud(json!("m-1")), || detach(&Acme::<true>, &known, "m-1").map(drop)),
        call(cloud(Value::Null), || expand(&Acme::<true>, &known, 10 * GIB).map(drop)),
    ] {
        assert!(matches!(&answer, Err(Error::Unavailable(_))) && requests.len() == 2, "{answer:?} {requests:?}");
    }
    let (there, ..) = call(cloud(json!("m-1")), || attach(&Acme::<true>, &known, "m-1", &mode()));
    assert!(matches!(there, Ok(VolumeAttachment::Ready(_))), "nothing else has to be begun: {there:?}");
}

#[test]
fn a_creation_is_repeated_after_a_longer_pause_each_time() {
    let ours = mark(CLUSTER, UID);
    let mut pauses = Vec::new();
    for number in [1, 2, 5, 30] {
        let failed = json!({ "size": 10, "mark": ours, "at": null, "failed": "no disk" });
        let memo = Some(format!("made disk-2 since 1 number {number}"));
        let asked = DesiredVolume { memo, ..desired() };
        let (left, ..) = call(Disks::<true>::default().with(&desired().name, failed), || create(&Acme::<true>, &asked));
        let Ok(VolumeCreation::Pending(left)) = left else { panic!("{left:?}") };
        pauses.push(left.wait.milliseconds / 1_000);
        // Asked for too early, it waits for the rest.
        let asked = DesiredVolume { memo: left.memo, ..desired() };
        let (early, requests, _) = call(Disks::<true>::default(), || create(&Acme::<true>, &asked));
        let Ok(VolumeCreation::Pending(early)) = early else { panic!("{early:?}") };
        assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
        assert_eq!(early.wait.milliseconds, left.wait.milliseconds, "{number}");
    }
    assert_eq!(pauses, [1, 2, 16, 300]);
}
