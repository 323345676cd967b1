mod fake;
mod moves;

use aerostat_sdk::testing;
use aerostat_sdk::{VolumePlace, cluster};

use self::fake::{FakeGce, Stage};
use super::*;

const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const PLACE: &str = "europe-west1-b";

fn desired() -> DesiredVolume {
    DesiredVolume::of("default", "data", UID, 10 * GIB).with_place(ZONE, PLACE)
}

/// The handle of a disk of this name.
fn handle(name: &str) -> String {
    format!("projects/p1/zones/{PLACE}/disks/{name}")
}

fn known() -> KnownVolume {
    KnownVolume::of(handle(&desired().name))
}

fn marked(cluster: &str, uid: &str) -> Value {
    json!({ "labels": { "aerostat-cluster-uid": cluster, "aerostat-claim-uid": uid } })
}

/// The claim's disk, and beside it another's.
fn with(differs: Value) -> FakeGce {
    FakeGce::default().with(&desired().name, differs)
}

/// One call before this cloud: its answer, and the writes.
fn call<T>(gce: FakeGce, of: impl FnOnce() -> T) -> (T, Vec<String>) {
    let stage = Stage::of(gce);
    (stage.run(of), stage.writes())
}

/// Creates until there is an answer that is not pending.
fn settled(stage: &Stage, desired: &DesiredVolume) -> Result<VolumeCreation> {
    let mut asked = desired.clone().first_create();
    for _ in 0..20 {
        match stage.run(|| Pd::create(&asked)) {
            Ok(VolumeCreation::Pending(it)) => asked = DesiredVolume { memo: it.memo, ..desired.clone() },
            other => return other,
        }
        stage.advance(2);
    }
    panic!("it is not made: {:?}", stage.host.requests());
}

#[test]
fn volumes_of_claims_survive_each_request_that_goes_wrong() {
    assert_eq!(testing::converge_volumes::<Pd, _>(FakeGce::default, &desired()), [""; 0]);
}

#[test]
fn volumes_are_made_as_the_vendor_makes_them_and_marked() {
    let stage = Stage::of(FakeGce::default());
    let classy = desired()
        .with_parameter("type", "pd-ssd")
        .with_parameter("labels", "team=blue")
        .with_parameter("disk-encryption-kms-key", "k")
        .with_parameter("provisioned-iops-on-create", "5000")
        .with_parameter("provisioned-throughput-on-create", "250Mi");
    let Ok(VolumeCreation::Ready(volume)) = settled(&stage, &classy) else { panic!("{:?}", stage.host.requests()) };
    let (uid, name) = (stage.run(|| cluster().unwrap().uid), desired().name);
    let sent: Value = serde_json::from_str(stage.host.bodies().last().unwrap()).unwrap();
    let expected = json!({
        "name": name, "sizeGb": "10", "type": format!("projects/p1/zones/{PLACE}/diskTypes/pd-ssd"),
        "description": marks::description(&desired()), "diskEncryptionKey": { "kmsKeyName": "k" },
        "labels": { "team": "blue", "aerostat-cluster-uid": uid, "aerostat-claim-uid": UID },
        "provisionedIops": "5000", "provisionedThroughput": "250",
    });
    assert_eq!(sent, expected);
    assert_eq!((&volume.handle, &volume.name, volume.bytes), (&handle(&name), &name, 10 * GIB));
    assert_eq!((volume.owner.cluster_uid.as_ref(), volume.owner.uid.as_deref()), (Some(&uid), Some(UID)));
    assert_eq!(volume.accessible_topologies, [VolumePlace::of(ZONE, PLACE)]);
    assert_eq!((volume.state, stage.writes()), (VolumeState::Ready, vec!["disks".to_owned()]));
}

/// Cases: csi 13
#[test]
fn volumes_in_two_zones_or_nowhere_are_refused() {
    let regional = desired().with_parameter("replication-type", "regional-pd").first_create();
    let (refused, writes) = call(FakeGce::default(), || Pd::create(&regional));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("replication-type")), "{refused:?}");
    assert!(writes.is_empty());
    let without = DesiredVolume { accessible_topologies: Vec::new(), ..desired() };
    for nowhere in [without.clone(), without.clone().with_place("rack", "1"), without.with_place(ZONE, "../x")] {
        let (refused, writes) = call(FakeGce::default(), || Pd::create(&nowhere.first_create()));
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("in which zone")), "{refused:?}");
        assert!(writes.is_empty());
    }
}

/// Cases: csi 28
#[test]
fn volumes_of_the_vendors_controller_are_taken_over() {
    for own in [json!({ "description": marks::description(&desired()) }), marked(CLUSTER, UID)] {
        let (found, writes) = call(with(own), || Pd::create(&desired()));
        assert!(matches!(&found, Ok(VolumeCreation::Ready(it)) if it.handle == known().handle), "{found:?}");
        assert!(writes.is_empty());
    }
    for other in [json!({ "description": "my disk" }), marked("another-cluster", UID), marked(CLUSTER, "another-claim")]
    {
        let (refused, writes) = call(with(other.clone()), || Pd::create(&desired()));
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains("it is not touched")),
            "{other}: {refused:?}"
        );
        let (left, unwritten) = call(with(other), || Pd::abandon(&desired()));
        assert!(left.is_ok() && writes.is_empty() && unwritten.is_empty(), "{left:?}");
    }
}

/// Cases: csi 37, csi 39
#[test]
fn volumes_of_others_or_in_use_are_not_deleted() {
    let delete = |differs: Value| call(with(differs), || <Pd as Volumes>::delete(&known()));
    let (foreign, writes) = delete(marked("another-cluster", UID));
    assert!(matches!(foreign, Err(Error::Denied(_))) && writes.is_empty(), "{foreign:?}");
    let node = format!("projects/p1/zones/{PLACE}/instances/node-1");
    let (used, writes) = delete(json!({ "users": [format!("https://compute.googleapis.com/compute/v1/{node}")] }));
    assert_eq!(used, Ok(VolumeDeletion::InUse(vec![node])), "nothing is detached for it");
    assert!(writes.is_empty());
    for own in [marked(CLUSTER, UID), json!({})] {
        let stage = Stage::of(with(own));
        let going = stage.run(|| <Pd as Volumes>::delete(&known()));
        assert!(matches!(going, Ok(VolumeDeletion::Pending(_))), "it is there until it is gone: {going:?}");
        stage.advance(5);
        assert_eq!(stage.run(|| <Pd as Volumes>::delete(&known())), Ok(VolumeDeletion::Done));
        assert_eq!(stage.writes(), ["delete"]);
    }
    let busy = with(json!({})).refusing("delete", 400, "resourceInUseByAnotherResource");
    let (busy, _) = call(busy, || <Pd as Volumes>::delete(&known()));
    assert!(matches!(busy, Ok(VolumeDeletion::Pending(_))), "{busy:?}");
}

#[test]
fn volumes_that_cannot_be_used_are_made_again() {
    let small = json!({ "sizeGb": "9", "description": marks::description(&desired()) });
    for unusable in [small, json!({ "status": "FAILED", "description": marks::description(&desired()) })] {
        let stage = Stage::of(with(unusable));
        let made = settled(&stage, &desired());
        assert!(matches!(&made, Ok(VolumeCreation::Ready(it)) if it.bytes == 10 * GIB), "{made:?}");
        assert_eq!(stage.writes(), ["delete", "disks"]);
    }
}

#[test]
fn a_deletion_that_failed_is_told_before_the_next_one() {
    let stage = Stage::of(with(json!({})).failing("delete", "INTERNAL_ERROR"));
    let delete = || stage.run(|| <Pd as Volumes>::delete(&known()));
    assert!(matches!(delete(), Ok(VolumeDeletion::Pending(_))));
    stage.advance(5);
    stage.cloud.borrow_mut().cloud().disks.get_mut(&format!("zones/{PLACE}/disks/{}", desired().name)).unwrap().body
        ["status"] = json!("READY");
    let told = delete();
    assert!(matches!(&told, Err(Error::Unavailable(why)) if why.contains("INTERNAL_ERROR")), "{told:?}");
    assert_eq!(stage.writes(), ["delete"]);
    stage.advance(TOLD);
    assert!(matches!(delete(), Ok(VolumeDeletion::Pending(_))));
    let ids: Vec<_> = stage.cloud.borrow_mut().cloud().operations.iter().map(|it| it.id.clone()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

/// Cases: csi 40, csi 43
#[test]
fn volumes_are_gone_when_two_questions_say_so() {
    let stage = Stage::of(FakeGce::default());
    assert_eq!(stage.run(|| <Pd as Volumes>::get(&known().handle)), Ok(None));
    assert_eq!(stage.host.requests().len(), 2, "{:?}", stage.host.requests());
    // A server that is late does not know it, and a list does.
    let late = testing::Host::new().setting("project", "p1").answers(|request| match &request.path[0][..] {
        "aggregated" => {
            let disk = json!({ "name": desired().name, "zone": format!("zones/{PLACE}"), "sizeGb": "10" });
            testing::answer(200, json!({ "items": { "zones/z": { "disks": [disk] } } }).to_string())
        }
        _ => testing::answer(404, r#"{ "error": { "errors": [{ "reason": "notFound" }] } }"#),
    });
    let late = late.run(|| <Pd as Volumes>::get(&known().handle));
    assert!(matches!(&late, Err(Error::Unavailable(why)) if why.contains("lists volume")), "{late:?}");
    let silent = FakeGce { silent: Some(PLACE), ..FakeGce::default() };
    let (unknown, _) = call(silent, || <Pd as Volumes>::get(&known().handle));
    assert!(matches!(&unknown, Err(Error::Unavailable(why)) if why.contains("it is silent")), "{unknown:?}");
    for other in ["", "pvc-1", "projects/p2/zones/z/disks/d", "projects/p1/regions/europe-west1/disks/d"] {
        let stage = Stage::of(FakeGce::default());
        let refused = stage.run(|| <Pd as Volumes>::delete(&KnownVolume::of(other)));
        assert!(matches!(refused, Err(Error::Invalid(_))) && stage.host.requests().is_empty(), "{other}: {refused:?}");
    }
}

/// Cases: csi 29, csi 30, bad-volume
#[test]
fn volumes_without_room_are_told_from_a_used_up_quota() {
    let create = |status, reason| {
        call(FakeGce::default().refusing("insert", status, reason), || Pd::create(&desired().first_create())).0
    };
    assert!(matches!(create(503, "ZONE_RESOURCE_POOL_EXHAUSTED"), Ok(VolumeCreation::NoRoom(_))));
    assert!(matches!(create(403, "quotaExceeded"), Err(error) if error.is_quota()));
    assert!(matches!(create(403, "rateLimitExceeded"), Err(Error::RetryAfter(_))), "it was not carried out");
    assert!(matches!(create(400, "invalid"), Err(Error::Invalid(_))));
    assert!(matches!(create(500, "backendError"), Ok(VolumeCreation::Pending(_))), "it may have been");
    let fails = |code| {
        let stage = Stage::of(FakeGce::default().failing("insert", code));
        (settled(&stage, &desired()), stage)
    };
    for code in ["ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"] {
        let (nowhere, stage) = fails(code);
        assert!(matches!(&nowhere, Ok(VolumeCreation::NoRoom(why)) if why.contains(code)), "{nowhere:?}");
        assert_eq!(stage.writes(), ["disks"]);
        // The next intent is a new one, also in the same zone.
        let again = settled(&stage, &desired());
        assert!(matches!(again, Ok(VolumeCreation::Ready(_))), "{again:?}");
    }
    let (quota, stage) = fails("QUOTA_EXCEEDED");
    assert!(matches!(&quota, Err(error) if error.is_quota()), "{quota:?}");
    // It is told for a minute, and tried again then.
    let again = || stage.run(|| Pd::create(&desired()));
    assert!(again().is_err());
    assert_eq!(stage.writes(), ["disks"]);
    stage.advance(TOLD);
    assert!(matches!(again(), Ok(VolumeCreation::Pending(_))));
    assert_eq!(stage.writes(), ["disks", "disks"]);
}

#[test]
fn volumes_are_listed_by_their_description_in_pages() {
    let mut gce = FakeGce::default();
    for number in 0..5 {
        gce = gce.with(&format!("pvc-{number}"), json!({ "description": marks::description(&desired()) }));
    }
    let stage = Stage::of(gce);
    for (limit, pages) in [(500, 1), (2, 3)] {
        let (mut seen, mut cursor, mut calls) = (0, None, 0);
        loop {
            let page = stage.run(|| <Pd as Volumes>::list(cursor.as_deref(), limit).unwrap());
            assert!(page.incomplete.is_none());
            (seen, calls) = (seen + page.volumes.len(), calls + 1);
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!((seen, calls), (5, pages), "{limit}");
    }
    let (page, _) =
        call(FakeGce { silent: Some("us-east1-c"), ..FakeGce::default() }, || <Pd as Volumes>::list(None, 5).unwrap());
    assert_eq!(page.incomplete.as_deref(), Some("zones/us-east1-c: UNREACHABLE it is silent"));
}

#[test]
fn volumes_are_described_as_the_drivers() {
    let described = testing::Host::new().setting("project", "p1").run(|| <Pd as Volumes>::describe().unwrap());
    assert_eq!((&*described.driver, &described.topology_keys[..]), ("pd.csi.storage.gke.io", &[ZONE.to_owned()][..]));
    assert!(described.publish_keys.is_empty() && described.one_at_a_time_per_node && described.sources.is_empty());
    let word = |name: &str| described.extra.iter().find(|(key, _)| key == name).map(|(_, it)| it.as_str());
    assert_eq!(word("in-tree.handle"), Some("projects/p1/zones/{zone}/disks/{name}"));
    assert_eq!(word("vendor.namespace"), Some("gce-pd-csi-driver"));
    assert!(testing::Host::new().run(<Pd as Volumes>::describe).is_ok(), "before anything is configured");
}
