//! Volumes on their way to instances and away from them, and volumes that grow.

use super::*;

const NODE: &str = "projects/p1/zones/europe-west1-b/instances/node-1";
const OTHER: &str = "projects/p1/zones/europe-west1-b/instances/node-2";
/// The path of the first.
const INSTANCE: &str = "zones/europe-west1-b/instances/node-1";
/// A time that does not come.
const NEVER: u64 = 2_000_000;

/// The claim's disk at this node.
fn at(node: &str) -> FakeGce {
    with(json!({ "users": [format!("https://www.googleapis.com/compute/v1/{node}")] }))
}

fn mode() -> AttachMode {
    AttachMode { read_only: false, block: false, access_modes: desired().access_modes }
}

fn attach(stage: &Stage, node: &str) -> Result<VolumeAttachment> {
    stage.run(|| Pd::attach(&known(), node, &mode()))
}

fn detach(stage: &Stage, node: &str) -> Result<VolumeDetachment> {
    stage.run(|| Pd::detach(&known(), node))
}

/// Cases: csi 57, csi 62
#[test]
fn volumes_come_under_the_name_of_their_disk() {
    let stage = Stage::of(with(json!({})));
    assert!(matches!(attach(&stage, NODE), Ok(VolumeAttachment::Pending(_))));
    let sent: Value = serde_json::from_str(stage.host.bodies().last().unwrap()).unwrap();
    let expected =
        json!({ "source": known().handle, "deviceName": desired().name, "mode": "READ_WRITE", "type": "PERSISTENT" });
    assert_eq!(sent, expected);
    stage.advance(5);
    assert_eq!(attach(&stage, NODE), Ok(VolumeAttachment::Ready(Vec::new())));
    assert_eq!(attach(&stage, OTHER), Ok(VolumeAttachment::Occupied(NODE.to_owned())));
    assert_eq!(stage.writes(), ["attachDisk"]);
    let read = AttachMode { read_only: true, ..mode() };
    let several = AttachMode { access_modes: vec![AccessMode::ManyNodesRead], ..mode() };
    for mode in [read, several] {
        let stage = Stage::of(with(json!({})));
        assert!(stage.run(|| Pd::attach(&known(), NODE, &mode)).is_ok());
        assert!(stage.host.bodies().last().unwrap().contains("READ_ONLY"), "{mode:?}");
    }
}

/// Cases: csi 49, csi 50
#[test]
fn volumes_leave_only_when_no_operation_can_bring_them() {
    let stage = Stage::of(with(json!({})));
    assert!(matches!(attach(&stage, NODE), Ok(VolumeAttachment::Pending(_))));
    // The disk does not show it yet.
    assert!(matches!(detach(&stage, NODE), Ok(VolumeDetachment::Pending(_))));
    stage.advance(5);
    assert!(matches!(detach(&stage, NODE), Ok(VolumeDetachment::Pending(_))));
    stage.advance(5);
    assert_eq!(detach(&stage, NODE), Ok(VolumeDetachment::Done));
    assert_eq!(stage.writes(), ["attachDisk", "detachDisk"]);
    // One that the vendor's controller has begun does not say about which disk it is.
    let foreign = Stage::of(with(json!({})).with_operation("attachDisk", INSTANCE, NEVER));
    assert!(matches!(detach(&foreign, NODE), Ok(VolumeDetachment::Pending(_))));
    assert!(matches!(attach(&foreign, NODE), Ok(VolumeAttachment::Pending(_))));
    assert_eq!(detach(&foreign, OTHER), Ok(VolumeDetachment::Done), "it is at another instance");
    let start = Stage::of(with(json!({})).with_operation("start", INSTANCE, NEVER));
    assert_eq!(detach(&start, NODE), Ok(VolumeDetachment::Done), "it is about no disk");
    assert!(foreign.writes().is_empty());
}

#[test]
fn volumes_come_again_by_another_request_id() {
    let stage = Stage::of(with(json!({})));
    for _ in 0..2 {
        assert!(matches!(attach(&stage, NODE), Ok(VolumeAttachment::Pending(_))));
        stage.advance(5);
        assert!(matches!(attach(&stage, NODE), Ok(VolumeAttachment::Ready(_))));
        assert!(matches!(detach(&stage, NODE), Ok(VolumeDetachment::Pending(_))));
        stage.advance(5);
        assert_eq!(detach(&stage, NODE), Ok(VolumeDetachment::Done));
    }
    let mut ids: Vec<_> = stage.cloud.borrow_mut().cloud().operations.iter().map(|it| it.id.clone()).collect();
    assert!(ids.iter().all(|it| it[..20] == ids[0][..20]), "{ids:?}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

/// Cases: csi 58, csi 59
#[test]
fn volumes_at_a_full_or_busy_instance_are_no_error() {
    let full = attach(&Stage::of(FakeGce { most: 0, ..with(json!({})) }), NODE);
    assert!(matches!(&full, Ok(VolumeAttachment::Full(why)) if why.contains("maximum_persistent_disks")), "{full:?}");
    for reason in BUSY {
        let busy = attach(&Stage::of(with(json!({})).refusing("attachDisk", 400, reason)), NODE);
        assert!(matches!(&busy, Ok(VolumeAttachment::Pending(_))), "{reason}: {busy:?}");
    }
    let unknown = attach(&Stage::of(with(json!({})).refusing("attachDisk", 404, "notFound")), NODE);
    assert!(matches!(unknown, Err(Error::Unavailable(_))), "{unknown:?}");
    for node in ["node-1", "", "projects/p1/zones/europe-west1-c/instances/node-1", &known().handle] {
        let stage = Stage::of(with(json!({})));
        let refused = attach(&stage, node);
        assert!(matches!(refused, Err(Error::Invalid(_))) && stage.writes().is_empty(), "{node}: {refused:?}");
        assert_eq!(detach(&stage, node), Ok(VolumeDetachment::Done), "it is not there: {node}");
    }
}

/// Cases: csi 55
#[test]
fn volumes_whose_operation_failed_say_why() {
    let stage = Stage::of(with(json!({})).failing("attachDisk", "RESOURCE_OPERATION_RATE_EXCEEDED"));
    assert!(matches!(attach(&stage, NODE), Ok(VolumeAttachment::Pending(_))));
    stage.advance(5);
    let failed = attach(&stage, NODE);
    let is_told = |why: &str| why.contains("RESOURCE_OPERATION_RATE_EXCEEDED") && why.contains("another is asked for");
    assert!(matches!(&failed, Err(Error::Unavailable(why)) if is_told(why)), "{failed:?}");
    stage.advance(5);
    assert_eq!(attach(&stage, NODE), Ok(VolumeAttachment::Ready(Vec::new())));
    assert_eq!(stage.writes(), ["attachDisk", "attachDisk"]);
    // Another disk's failure at the instance is not told.
    let stage = Stage::of(FakeGce::default().with("pvc-2", json!({})).failing("attachDisk", "INTERNAL_ERROR"));
    let second = KnownVolume::of(handle("pvc-2"));
    assert!(stage.run(|| Pd::attach(&second, NODE, &mode())).is_ok());
    stage.advance(5);
    let other = KnownVolume::of(handle("pvc-other"));
    assert!(matches!(stage.run(|| Pd::attach(&other, NODE, &mode())), Ok(VolumeAttachment::Pending(_))));
}

/// Cases: csi 52
#[test]
fn volumes_leave_an_instance_that_is_gone() {
    for (status, reason) in [(404, "notFound"), (400, "resourceNotReady")] {
        let stage = Stage::of(at(NODE).refusing("detachDisk", status, reason));
        let pending = detach(&stage, NODE);
        assert!(matches!(pending, Ok(VolumeDetachment::Pending(_))), "the next read shows it: {pending:?}");
    }
    assert_eq!(detach(&Stage::of(with(json!({}))), NODE), Ok(VolumeDetachment::Done));
    assert_eq!(detach(&Stage::of(at(OTHER)), NODE), Ok(VolumeDetachment::Done), "it is elsewhere, and stays there");
    assert_eq!(detach(&Stage::of(FakeGce::default()), NODE), Ok(VolumeDetachment::Done), "nor is it there");
}

/// Cases: csi 69, csi 71, csi 72
#[test]
fn volumes_grow_while_they_are_attached() {
    let stage = Stage::of(at(NODE));
    let expand = |gibibytes: u64| stage.run(|| Pd::expand(&known(), gibibytes * GIB));
    assert!(matches!(expand(12), Ok(VolumeExpansion::Pending(_))));
    let waits = expand(12);
    assert!(matches!(&waits, Ok(VolumeExpansion::Pending(it)) if it.wait.reason.contains("at work")), "{waits:?}");
    stage.advance(5);
    let grown = VolumeExpansion::Ready(aerostat_sdk::ExpandedVolume::on_node(12 * GIB));
    assert_eq!((expand(12), expand(11)), (Ok(grown.clone()), Ok(grown)));
    assert_eq!(stage.writes(), ["resize"]);
    stage.cloud.borrow_mut().cloud().failing.insert("resize", "QUOTA_EXCEEDED");
    assert!(matches!(expand(20), Ok(VolumeExpansion::Pending(_))));
    stage.advance(5);
    let failed = expand(20);
    assert!(matches!(&failed, Err(Error::Unavailable(why)) if why.contains("QUOTA_EXCEEDED")), "{failed:?}");
    let (foreign, writes) = call(with(marked("another-cluster", UID)), || Pd::expand(&known(), 20 * GIB));
    assert!(matches!(foreign, Err(Error::Denied(_))) && writes.is_empty(), "{foreign:?}");
}
