mod fake;
mod moves;

use aerostat_sdk::testing;
use aerostat_sdk::{VolumePlace, cluster};
use aws_api::testing::{action, filter, line, refused, value};
use serde_json::{Value, json};

use self::fake::{FakeEc2, Stage};
use super::*;
use crate::tests::host;

const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
/// The volume that was added after the usual one.
const SECOND: &str = "vol-2";
const ZONE: &str = "us-east-1b";

fn desired() -> DesiredVolume {
    DesiredVolume::of("default", "data", UID, 10 * GIB).with_place(ZONES[0], ZONE)
}

fn second() -> KnownVolume {
    KnownVolume::of(SECOND)
}

fn marked(cluster: &str, uid: &str) -> Value {
    let name = desired().name;
    json!({ NAME: name, "aerostat.dev/cluster-uid": cluster, "aerostat.dev/claim-uid": uid })
}

/// One call before this cloud: its answer, and the actions that were asked for.
fn call<T>(ec2: FakeEc2, of: impl FnOnce() -> T) -> (T, Vec<String>) {
    let stage = Stage::of(ec2);
    (stage.run(of), stage.actions())
}

/// Creates until it is there, each time by another process, which has what was kept.
fn made(stage: &Stage, desired: &DesiredVolume) -> CloudVolume {
    let mut asked = desired.clone().first_create();
    for _ in 0..100 {
        match stage.run(|| Ebs::create(&asked)) {
            Ok(VolumeCreation::Ready(volume)) => return volume,
            Ok(VolumeCreation::Pending(it)) => asked = DesiredVolume { memo: it.memo, ..desired.clone() },
            other => panic!("{other:?}"),
        }
        stage.advance(5);
    }
    panic!("it is not made: {:?}", stage.actions());
}

#[test]
fn volumes_of_claims_survive_each_request_that_goes_wrong() {
    assert_eq!(testing::converge_volumes::<Ebs, _>(FakeEc2::default, &desired()), [""; 0]);
}

#[test]
fn volumes_are_made_as_the_vendor_makes_them_and_marked() {
    let stage = Stage::of(FakeEc2::default());
    let classy = desired()
        .with_parameter("type", "io2")
        .with_parameter("iopsPerGB", "50")
        .with_parameter("kmsKeyId", "arn:k")
        .with_parameter("tagSpecification_1", "team=blue");
    let volume = made(&stage, &classy);
    let uid = stage.run(|| cluster().unwrap().uid);
    let requests = stage.host.sent();
    let sent = requests.iter().find(|it| action(it) == "CreateVolume").unwrap();
    let name = desired().name;
    let expected = "ec2 CreateVolume AvailabilityZone=us-east-1b \
                    ClientToken=19620ec2016fce0c9f472bc220f55e1c8e0a0eb4cda4e3c1f4383be662ccb90e Size=10 VolumeType=io2 Iops=500 \
                    Encrypted=true KmsKeyId=arn:k TagSpecification.1.ResourceType=volume";
    let shown = line(sent);
    let (plain, tags) = shown.split_once(" TagSpecification.1.Tag.1.").unwrap();
    assert_eq!(plain, expected);
    for (key, value) in [("CSIVolumeName", &*name), ("ebs.csi.aws.com/cluster", "true"), ("team", "blue")] {
        assert!(tags.contains(&format!("Key={key} ")) && tags.contains(&format!("Value={value}")), "{tags}");
    }
    assert_eq!((volume.name.as_str(), volume.bytes, &volume.state), (&*name, 10 * GIB, &VolumeState::Ready));
    assert_eq!((volume.owner.cluster_uid.as_ref(), volume.owner.uid.as_deref()), (Some(&uid), Some(UID)));
    assert_eq!(volume.accessible_topologies, [VolumePlace::of(ZONES[0], ZONE)]);
    assert!(volume.attributes.is_empty());
    let actions = stage.actions();
    assert_eq!(actions.iter().filter(|it| *it == "CreateVolume").count(), 1, "{actions:?}");
    assert_eq!(token(&name, 1), "19620ec2016fce0c9f472bc220f55e1c8e0a0eb4cda4e3c1f4383be662ccb90e");
    assert_eq!(token(&name, 2), "82e50d5755c80766d0a7e0b9cd368c93dd6f2eb80c72e0af60e66c1992d250f0", "as the vendor");
}

/// Cases: csi 9
#[test]
fn volumes_say_their_zone_in_the_key_of_their_place() {
    let zone = |keys: &[(&str, &str)]| {
        let segments = keys.iter().map(|(key, zone)| ((*key).to_owned(), (*zone).to_owned())).collect();
        let desired = DesiredVolume { accessible_topologies: vec![VolumePlace { segments }], ..desired() };
        made(&Stage::of(FakeEc2::default()), &desired).accessible_topologies
    };
    let both = [("kubernetes.io/os", "linux"), (ZONES[1], ZONE), (ZONES[0], ZONE)];
    assert_eq!(zone(&both), [VolumePlace::of(ZONES[0], ZONE)], "as the vendor's controller writes it");
    assert_eq!(zone(&both[..2]), [VolumePlace::of(ZONES[1], ZONE)]);
    let without = DesiredVolume { accessible_topologies: Vec::new(), ..desired() };
    for nowhere in [without.clone(), without.with_place("rack", "1")] {
        let (refused, actions) = call(FakeEc2::default(), || Ebs::create(&nowhere.first_create()));
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains("in which availability zone")),
            "{refused:?}"
        );
        assert_eq!(actions, ["DescribeVolumes"]);
    }
}

/// Cases: csi 25
#[test]
fn volumes_whose_token_is_spent_get_another_one() {
    let stage = Stage::of(FakeEc2 { failing: 2, ..FakeEc2::default() });
    let volume = made(&stage, &desired());
    let tokens: Vec<_> =
        stage.host.sent().iter().filter_map(|it| value(it, "ClientToken").map(str::to_owned)).collect();
    let name = desired().name;
    assert_eq!(tokens, [token(&name, 1), token(&name, 2), token(&name, 3)]);
    let left = stage.cloud.borrow().world().objects;
    assert_eq!(
        left.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(),
        ["vol-1", &volume.handle],
        "nothing is left of the others"
    );
    assert!(stage.told().contains(&"ProvisioningFailed".to_owned()));
    // EC2 remembers a token of an earlier life, of which nothing was kept.
    let again = made(&stage, &desired());
    assert_eq!(again.handle, volume.handle, "it is found by its tag");
    stage.cloud.borrow_mut().cloud().volumes.remove(&volume.handle);
    let another = made(&stage, &desired());
    assert_ne!(another.handle, volume.handle);
    assert!(stage.told().contains(&"VolumeTokenSpent".to_owned()));
}

/// Cases: csi 28
#[test]
fn volumes_of_the_vendors_controller_are_taken_over() {
    let name = desired().name;
    let create =
        |tags: Value| call(FakeEc2::default().with(json!({ "zone": ZONE, "tags": tags })), || Ebs::create(&desired()));
    for vendors in [
        json!({ NAME: name, "ebs.csi.aws.com/cluster": "true" }),
        json!({ NAME: name, "ebs.csi.aws.com/cluster": "true", "kubernetes.io/cluster/prod": "owned" }),
        marked(CLUSTER, UID),
    ] {
        let (found, actions) = create(vendors);
        assert!(matches!(&found, Ok(VolumeCreation::Ready(it)) if it.handle == SECOND), "{found:?}");
        assert_eq!(actions, ["DescribeVolumes"]);
    }
    for other in [
        json!({ NAME: name }),
        json!({ NAME: name, "ebs.csi.aws.com/cluster": "true", "kubernetes.io/cluster/test": "owned" }),
        marked("another-cluster", UID),
        marked(CLUSTER, "another-claim"),
    ] {
        let (waits, actions) = create(other.clone());
        assert!(matches!(&waits, Ok(VolumeCreation::Pending(_))), "{other}: {waits:?}");
        assert_eq!(actions, ["DescribeVolumes"], "nothing is done with {other}");
        let ec2 = FakeEc2::default().with(json!({ "tags": other }));
        let (left, actions) = call(ec2, || Ebs::abandon(&desired()));
        assert!(left.is_ok() && actions.iter().all(|it| it.starts_with("Describe")), "{left:?} {actions:?}");
    }
}

/// Cases: csi 36, csi 37, csi 39, adv 178
#[test]
fn volumes_of_others_or_in_use_are_not_deleted() {
    let delete = |differs: Value| call(FakeEc2::default().with(differs), || <Ebs as Volumes>::delete(&second()));
    for foreign in [
        json!({ "tags": marked("another-cluster", UID) }),
        json!({ "tags": { "ebs.csi.aws.com/cluster": "true", "kubernetes.io/cluster/test": "owned" } }),
        json!({ "tags": { "Name": "mine" } }),
    ] {
        let (denied, actions) = delete(foreign.clone());
        assert!(matches!(&denied, Err(Error::Denied(why)) if why.contains("policy Retain")), "{foreign}: {denied:?}");
        assert_eq!(actions, ["DescribeVolumes"]);
    }
    let (used, actions) =
        delete(json!({ "at": { "i-1": { "device": "/dev/xvdaa", "state": "detaching", "since": "" } } }));
    assert_eq!(used, Ok(VolumeDeletion::InUse(vec!["i-1".to_owned()])), "nothing is detached for it");
    assert_eq!(actions, ["DescribeVolumes"]);
    let (going, _) = delete(json!({ "state": "deleting", "tags": marked(CLUSTER, UID) }));
    assert!(matches!(going, Ok(VolumeDeletion::Pending(_))), "{going:?}");
    for own in [marked(CLUSTER, UID), json!({ "ebs.csi.aws.com/cluster": "true" }), json!({ NAME: "pvc-1" })] {
        let stage = Stage::of(FakeEc2::default().with(json!({ "tags": own })));
        let going = stage.run(|| <Ebs as Volumes>::delete(&second()));
        assert!(matches!(going, Ok(VolumeDeletion::Pending(_))), "it is there until it is gone: {going:?}");
        assert_eq!(stage.actions(), ["DescribeVolumes", "DeleteVolume"]);
        stage.advance(5);
        assert_eq!(stage.run(|| <Ebs as Volumes>::delete(&second())), Ok(VolumeDeletion::Done));
    }
    for code in ["VolumeInUse", "IncorrectState"] {
        let ec2 = FakeEc2::default().with(json!({ "tags": marked(CLUSTER, UID) })).refusing("DeleteVolume", code);
        let (busy, _) = call(ec2, || <Ebs as Volumes>::delete(&second()));
        assert!(matches!(busy, Ok(VolumeDeletion::Pending(_))), "{code}: {busy:?}");
    }
}

/// Cases: csi 40, csi 43, bad-volume
#[test]
fn volumes_are_gone_when_two_questions_say_so() {
    let gone = KnownVolume::of("vol-9");
    let (answer, actions) = call(FakeEc2::default(), || <Ebs as Volumes>::delete(&gone));
    assert_eq!((answer, actions.len()), (Ok(VolumeDeletion::Done), 2), "{actions:?}");
    // A server that is late filters it out, and another one knows it.
    let late = host(|request| match value(request, "VolumeId.1") {
        Some(_) => testing::answer(200, "<R><volumeSet><item><volumeId>vol-9</volumeId></item></volumeSet></R>"),
        None => testing::answer(200, "<R><volumeSet/></R>"),
    });
    let late = late.run(|| <Ebs as Volumes>::get("vol-9"));
    assert!(matches!(&late, Err(Error::Unavailable(why)) if why.contains("vol-9")), "{late:?}");
    for handle in ["", "vol-", "local-ebs://dev/a", "aws://us-east-1a/vol-1", "vol-1/../x"] {
        let (refused, actions) = call(FakeEc2::default(), || <Ebs as Volumes>::delete(&KnownVolume::of(handle)));
        assert!(matches!(refused, Err(Error::Invalid(_))) && actions.is_empty(), "{handle}: {refused:?}");
    }
    let failed = host(|_| refused(503, "Unavailable"));
    assert!(matches!(failed.run(|| <Ebs as Volumes>::delete(&gone)), Err(Error::Unavailable(_))));
}

/// Cases: csi 29, csi 30, bad-volume
#[test]
fn volumes_without_room_are_told_from_a_used_up_quota() {
    let create =
        |code| call(FakeEc2::default().refusing("CreateVolume", code), || Ebs::create(&desired().first_create())).0;
    for code in ["InsufficientVolumeCapacity", "VolumeTypeNotAvailableInZone"] {
        assert!(matches!(create(code), Ok(VolumeCreation::NoRoom(_))), "{code}");
    }
    for code in ["VolumeLimitExceeded", "MaxIOPSLimitExceeded"] {
        assert!(matches!(create(code), Err(error) if error.is_quota()), "{code}");
    }
    assert!(matches!(create("InvalidParameterValue"), Err(Error::Invalid(_))));
    assert!(matches!(create("RequestLimitExceeded"), Err(Error::RetryAfter(_))), "it was not carried out");
    assert!(matches!(create("InternalError"), Ok(VolumeCreation::Pending(_))), "it may have been");
}

#[test]
fn volumes_are_read_many_at_a_time() {
    let ec2 = FakeEc2::default().with(json!({ "tags": marked(CLUSTER, UID) }));
    let stage = Stage::of(ec2);
    let handles = [SECOND, "vol-1", "vol-9", "x"].map(str::to_owned);
    let found = stage.run(|| Ebs::get_each(&handles));
    let owners: Vec<_> = found[..2].iter().map(|it| it.clone().unwrap().unwrap().owner.uid).collect();
    assert_eq!(owners, [Some(UID.to_owned()), None]);
    assert!(matches!(&found[2..], [Ok(None), Err(Error::Invalid(_))]), "{found:?}");
    let requests = stage.host.sent();
    assert_eq!(filter(&requests[0], "volume-id"), [SECOND, "vol-1", "vol-9"]);
    assert_eq!(requests.len(), 3, "the one that is not there is asked about alone");
    let failed = host(|_| refused(503, "RequestLimitExceeded"));
    assert!(failed.run(|| Ebs::get_each(&handles[..2])).iter().all(Result::is_err));
}

#[test]
fn volumes_are_listed_by_their_tags_in_pages() {
    let mut ec2 = FakeEc2::default();
    for number in 0..12 {
        let key = if number % 2 == 0 { "ebs.csi.aws.com/cluster" } else { "kubernetes.io/cluster/prod" };
        ec2 = ec2.with(json!({ "tags": { key: "true" } }));
    }
    let stage = Stage::of(ec2.with(json!({ "tags": { "kubernetes.io/cluster/test": "owned" } })));
    for (limit, pages) in [(500, 1), (12, 1), (7, 2), (5, 3), (3, 5), (1, 12)] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        let mut calls = 0;
        loop {
            let page = stage.run(|| <Ebs as Volumes>::list(cursor.as_deref(), limit).unwrap());
            assert!(page.volumes.len() <= limit as usize && page.incomplete.is_none());
            seen.extend(page.volumes.into_iter().map(|it| it.handle));
            calls += 1;
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), calls), (12, pages), "{limit}");
    }
    for cursor in ["", "volumes", "x:1"] {
        let refused = stage.run(|| <Ebs as Volumes>::list(Some(cursor), 5));
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("list of volumes")), "{refused:?}");
    }
}

#[test]
fn volumes_are_described_as_the_drivers() {
    let described = <Ebs as Volumes>::describe().unwrap();
    assert_eq!((&*described.driver, described.publish_keys), ("ebs.csi.aws.com", vec!["devicePath".to_owned()]));
    assert_eq!(described.topology_keys, ZONES);
    assert_eq!((described.largest_bytes >> 40, described.get_batch_size, described.list_page_size), (64, 200, 500));
    let keys: Vec<_> = described.parameters.iter().map(|it| it.key.as_str()).collect();
    for key in ["type", "iops", "kmsKeyId", "allowAutoIOPSPerGBIncrease", "tagSpecification_1", "tagSpecification_20"] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    assert!(keys.len() <= 64 && described.sources.is_empty(), "{keys:?}");
}
