//! Volumes on their way to instances and away from them, and volumes that grow.

use serde_json::json;

use super::*;

/// The second volume at an instance, in this state.
fn at(instance: &str, state: &str, since: u64) -> FakeEc2 {
    let at = json!({ instance: { "device": "/dev/xvdbz", "state": state, "since": fake::written(since) } });
    FakeEc2::default().with(json!({ "state": "in-use", "at": at, "tags": marked(CLUSTER, UID) }))
}

fn mode() -> AttachMode {
    AttachMode { read_only: false, block: false, access_modes: desired().access_modes }
}

fn free() -> FakeEc2 {
    FakeEc2::default().with(json!({}))
}

/// The clock of the stage at its beginning.
const NOW: u64 = 1_000_000;

/// Cases: csi 62
#[test]
fn volumes_that_are_attached_say_their_device() {
    let attach = |ec2: FakeEc2| call(ec2, || Ebs::attach(&second(), "i-1", &mode()));
    let (here, actions) = attach(at("i-1", "attached", NOW));
    assert_eq!(here, Ok(VolumeAttachment::Ready(vec![("devicePath".to_owned(), "/dev/xvdbz".to_owned())])));
    assert_eq!(actions, ["DescribeVolumes"]);
    for state in ["attaching", "detaching", "busy"] {
        let (pending, actions) = attach(at("i-1", state, NOW));
        assert!(matches!(pending, Ok(VolumeAttachment::Pending(_))) && actions.len() == 1, "{state}: {pending:?}");
        let (leaving, actions) = call(at("i-1", state, NOW), || Ebs::detach(&second(), "i-1"));
        assert!(matches!(leaving, Ok(VolumeDetachment::Pending(_))) && actions.len() == 1, "{state}: {leaving:?}");
        let (elsewhere, _) = attach(at("i-2", state, NOW));
        assert_eq!(elsewhere, Ok(VolumeAttachment::Occupied("i-2".to_owned())), "{state}");
        let (gone, _) = call(at("i-2", state, NOW), || Ebs::detach(&second(), "i-1"));
        assert_eq!(gone, Ok(VolumeDetachment::Done), "{state}");
    }
}

/// Cases: csi 60
#[test]
fn volumes_on_their_way_are_told_as_changing() {
    for (state, expected) in [
        ("attached", VolumeState::Ready),
        ("attaching", VolumeState::Changing),
        ("detaching", VolumeState::Changing),
        ("busy", VolumeState::Changing),
    ] {
        let at = json!({ "i-1": { "device": "/dev/xvdbz", "state": state, "since": fake::written(NOW) } });
        let tags = json!({ "ebs.csi.aws.com/cluster": "true" });
        let stage = Stage::of(FakeEc2::default().with(json!({ "state": "in-use", "at": at, "tags": tags })));
        let listed = stage.run(|| <Ebs as Volumes>::list(None, 500)).unwrap().volumes.remove(0);
        let alone = stage.run(|| <Ebs as Volumes>::get(SECOND)).unwrap().unwrap();
        let beside = stage.run(|| Ebs::get_each(&[SECOND, "vol-1"].map(str::to_owned))).remove(0).unwrap().unwrap();
        for told in [listed, alone, beside] {
            assert_eq!((told.handle.as_str(), &told.state), (SECOND, &expected), "{state}");
            assert_eq!(told.attached_to, ["i-1"], "{state}");
        }
    }
}

/// Cases: csi 58, csi 59
#[test]
fn volumes_at_a_full_or_busy_instance_are_no_error() {
    let attach = |ec2: FakeEc2| call(ec2, || Ebs::attach(&second(), "i-1", &mode()));
    let (full, _) = attach(FakeEc2 { most: 0, ..free() });
    assert!(matches!(&full, Ok(VolumeAttachment::Full(why)) if why.contains("AttachmentLimitExceeded")), "{full:?}");
    let (begun, actions) = attach(free());
    assert!(matches!(&begun, Ok(VolumeAttachment::Pending(_))), "{begun:?}");
    assert_eq!(actions, ["DescribeVolumes", "DescribeInstances", "AttachVolume"]);
    for code in ["IncorrectState", "VolumeInUse"] {
        let (busy, _) = attach(free().refusing("AttachVolume", code));
        assert!(matches!(&busy, Ok(VolumeAttachment::Pending(_))), "{code}: {busy:?}");
    }
    let (refused, _) = attach(free().refusing("AttachVolume", "InvalidVolume.ZoneMismatch"));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let (unknown, _) = call(free(), || Ebs::attach(&second(), "i-gone", &mode()));
    assert!(matches!(&unknown, Err(Error::Unavailable(why)) if why.contains("no instance i-gone")), "{unknown:?}");
    for node in ["web-1", "i-", "hyperpod-a-i-1", "fargate-10.0.0.1", "i-1.ec2.internal"] {
        let (refused, actions) = call(free(), || Ebs::attach(&second(), node, &mode()));
        assert!(matches!(refused, Err(Error::Invalid(_))) && actions.len() == 1, "{node}: {refused:?}");
    }
}

#[test]
fn volumes_come_under_names_that_are_free() {
    let names =
        |volume: &str| -> Vec<String> { device::free(volume, NOW / 60, &["/dev/xvda".to_owned()].into()).collect() };
    let all = names(SECOND);
    // The image's own devices are not told.
    let stage = Stage::of(FakeEc2 { hidden: all[..2].to_vec(), ..free() });
    let begun = stage.run(|| Ebs::attach(&second(), "i-1", &mode()));
    assert!(matches!(begun, Ok(VolumeAttachment::Pending(_))), "{begun:?}");
    let asked: Vec<_> = stage.host.sent().iter().filter_map(|it| value(it, "Device").map(str::to_owned)).collect();
    assert_eq!(asked, all[..3]);
    let stage = Stage::of(FakeEc2 { hidden: all.clone(), ..free() });
    let busy = stage.run(|| Ebs::attach(&second(), "i-1", &mode()));
    assert!(
        matches!(&busy, Ok(VolumeAttachment::Pending(it)) if it.wait.reason.contains("already in use")),
        "{busy:?}"
    );
    assert_eq!(stage.actions().iter().filter(|it| *it == "AttachVolume").count(), DEVICES);
    let mut crowded = FakeEc2 { most: 1_000, ..free() };
    for device in all {
        crowded = crowded.with(json!({ "at": { "i-1": { "device": device, "state": "attached", "since": "" } } }));
    }
    let (full, _) = call(crowded, || Ebs::attach(&second(), "i-1", &mode()));
    assert!(matches!(&full, Ok(VolumeAttachment::Full(why)) if why.contains("no name of a device")), "{full:?}");
}

/// Cases: csi 49, csi 61
#[test]
fn volumes_that_attach_for_ever_are_told_and_let_go() {
    let stuck = || at("i-1", "attaching", NOW - 95);
    let stage = Stage::of(stuck());
    let waits = stage.run(|| Ebs::attach(&second(), "i-1", &mode()));
    let since = fake::written(NOW - 95);
    assert!(matches!(&waits, Ok(VolumeAttachment::Pending(it)) if it.wait.reason.contains(&since)), "{waits:?}");
    assert_eq!(
        (stage.actions(), stage.told()),
        (vec!["DescribeVolumes".to_owned()], vec!["VolumeAttachmentStalled".to_owned()])
    );
    let (leaves, actions) = call(stuck(), || Ebs::detach(&second(), "i-1"));
    assert!(matches!(leaves, Ok(VolumeDetachment::Pending(_))), "{leaves:?}");
    assert_eq!(actions, ["DescribeVolumes", "DetachVolume"]);
    let (waits, actions) = call(at("i-1", "attaching", NOW - 80), || Ebs::detach(&second(), "i-1"));
    assert!(matches!(waits, Ok(VolumeDetachment::Pending(_))), "{waits:?}");
    assert_eq!(actions, ["DescribeVolumes"], "it may still come");
}

/// Cases: csi 52
#[test]
fn volumes_leave_an_instance_that_is_gone() {
    for code in ["IncorrectState", "InvalidAttachment.NotFound"] {
        let ec2 = at("i-1", "attached", NOW).refusing("DetachVolume", code);
        let (pending, _) = call(ec2, || Ebs::detach(&second(), "i-1"));
        assert!(matches!(pending, Ok(VolumeDetachment::Pending(_))), "the next read shows it: {code} {pending:?}");
    }
    assert_eq!(call(free(), || Ebs::detach(&second(), "i-1")).0, Ok(VolumeDetachment::Done));
    assert_eq!(
        call(FakeEc2::default(), || Ebs::detach(&second(), "i-1")).0,
        Ok(VolumeDetachment::Done),
        "nor is it there"
    );
}

/// Cases: csi 71, csi 72
#[test]
fn volumes_that_are_optimized_have_grown() {
    let stage = Stage::of(at("i-1", "attached", NOW));
    let expand = |gibibytes: u64| stage.run(|| Ebs::expand(&second(), gibibytes * GIB)).unwrap();
    let waits = |answer: VolumeExpansion| match answer {
        VolumeExpansion::Pending(it) => it.wait,
        other => panic!("{other:?}"),
    };
    waits(expand(12));
    assert!(waits(expand(12)).reason.contains("at work"), "EC2 is modifying it");
    stage.advance(10);
    let grown = VolumeExpansion::Ready(aerostat_sdk::ExpandedVolume::on_node(12 * GIB));
    assert_eq!(expand(12), grown, "optimizing takes hours, and the size is there");
    assert_eq!(expand(11), grown);
    // The next one has to wait, and does not ask again and again.
    let optimizing = waits(expand(14));
    let since = stage.cloud.borrow_mut().cloud().modifications[SECOND].1;
    assert!(
        optimizing.reason.contains("optimized") && optimizing.reason.contains(&fake::written(since)),
        "{optimizing:?}"
    );
    assert_eq!(optimizing.milliseconds, 300_000);
    stage.advance(4_000);
    let resting = waits(expand(14));
    assert!(resting.reason.ends_with("hours after the last") && resting.milliseconds == 300_000, "{resting:?}");
    assert_eq!(waits(expand(14)).reason, resting.reason, "one event");
    stage.advance(6 * 3_600);
    waits(expand(14));
    stage.advance(10);
    assert_eq!(expand(14), VolumeExpansion::Ready(aerostat_sdk::ExpandedVolume::on_node(14 * GIB)));
    assert!(stage.told().is_empty());
}

#[test]
fn volumes_whose_change_failed_are_changed_again() {
    let ec2 = || {
        let mut ec2 = at("i-1", "attached", NOW);
        ec2.modifications.insert(SECOND.to_owned(), ("failed", NOW - 90_000));
        ec2
    };
    let stage = Stage::of(ec2());
    let begun = stage.run(|| Ebs::expand(&second(), 12 * GIB));
    assert!(matches!(&begun, Err(Error::Unavailable(why)) if why.contains("EC2 does not say why")), "{begun:?}");
    assert_eq!(stage.told(), [""; 0], "the host tells it of the answer");
    let (quota, _) = call(ec2().refusing("ModifyVolume", "VolumeModificationSizeLimitExceeded"), || {
        Ebs::expand(&second(), 12 * GIB)
    });
    assert!(matches!(&quota, Err(error) if error.is_quota()), "{quota:?}");
    let (missing, _) = call(FakeEc2::default(), || Ebs::expand(&second(), GIB));
    assert!(matches!(missing, Err(Error::Invalid(_))), "{missing:?}");
}
