//! Volumes of claims before Cinder and Nova in memory.

mod fake;
mod moves;
mod refused;

use aerostat_sdk::testing::{self, Host, SimulatedCloud};
use aerostat_sdk::{Cluster, MarkedClaim, Method, PendingVolume, VolumeState};
use serde_json::{Value, json};

use self::fake::{FakeProject, refusal, server, volume};
use super::*;

const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn desired() -> DesiredVolume {
    DesiredVolume::of("shop", "data", UID, 10 * GIB).with_place(ZONE, "nova")
}

/// The volume that was added after the one of another.
fn second() -> KnownVolume {
    KnownVolume::of(volume(2))
}

fn marked(cluster: &str, uid: &str) -> Value {
    json!({ "metadata": { "aerostat.dev/cluster-uid": cluster, "aerostat.dev/claim-uid": uid } })
}

/// One made by the vendor's controller for the cluster with this name.
fn vendors(cluster: &str) -> Value {
    json!({ "metadata": { "cinder.csi.openstack.org/cluster": cluster } })
}

fn mode() -> AttachMode {
    AttachMode { read_only: false, block: false, access_modes: desired().access_modes }
}

/// A host of the cluster.
fn of_cluster(host: Host) -> Host {
    host.cluster(Cluster::of("kubernetes", CLUSTER))
}

/// One call before this cloud: its answer, the requests, and the events' reasons.
fn call<T>(project: FakeProject, of: impl FnOnce() -> T) -> (T, Vec<String>, Vec<String>) {
    let cloud = SimulatedCloud::new(project).shared();
    let host = of_cluster(Host::of(&cloud));
    let answer = host.run(of);
    (answer, host.requests(), host.events().into_iter().map(|it| it.reason).collect())
}

/// The body of the creation that this asks for, with these settings.
fn created(desired: &DesiredVolume, settings: &[(&str, &str)]) -> Value {
    let cloud = SimulatedCloud::new(FakeProject::default()).shared();
    let host = settings.iter().fold(of_cluster(Host::of(&cloud)), |host, (name, value)| host.setting(name, value));
    let begun = host.run(|| Cinder::create(&desired.clone().first_create()));
    assert!(matches!(begun, Ok(VolumeCreation::Pending(_))), "{begun:?}");
    serde_json::from_str(host.bodies().last().unwrap()).unwrap()
}

/// The words of the next call, as the host has them once it has kept the memo.
fn next(mut asked: DesiredVolume, pending: PendingVolume) -> DesiredVolume {
    asked.extra.clear();
    match pending.memo {
        Some(memo) if asked.memo.as_ref() != Some(&memo) => asked.with_new_memo(memo),
        memo => DesiredVolume { memo, ..asked },
    }
}

/// Creates until nothing is pending: the answer, and the reasons of all events.
fn settled(project: FakeProject) -> (VolumeCreation, Vec<String>) {
    let cloud = SimulatedCloud::new(project).shared();
    let host = of_cluster(Host::of(&cloud));
    let mut desired = desired().first_create();
    for _ in 0..30 {
        let now = cloud.borrow().now();
        match host.clone().at(now).run(|| Cinder::create(&desired)).unwrap() {
            VolumeCreation::Pending(it) => desired = next(desired, it),
            other => return (other, host.events().into_iter().map(|it| it.reason).collect()),
        }
        cloud.borrow_mut().advance(Duration::from_secs(2));
    }
    panic!("it is pending");
}

#[test]
fn volumes_of_claims_survive_each_request_that_goes_wrong() {
    assert_eq!(testing::converge_volumes::<Cinder, _>(FakeProject::default, &desired()), [""; 0]);
}

#[test]
fn volumes_are_made_as_the_vendor_makes_them_and_marked() {
    let name = desired().name;
    let metadata = json!({
        "cinder.csi.openstack.org/cluster": "kubernetes", "csi.storage.k8s.io/pvc/name": "data",
        "csi.storage.k8s.io/pvc/namespace": "shop", "csi.storage.k8s.io/pv/name": name,
        "aerostat.dev/cluster-uid": CLUSTER, "aerostat.dev/claim-uid": UID,
    });
    let volume = json!({
        "name": name, "size": 10, "description": "Created by OpenStack Cinder CSI driver", "metadata": metadata,
        "availability_zone": "nova",
    });
    assert_eq!(created(&desired(), &[]), json!({ "volume": volume }));
    let (made, told) = settled(FakeProject::default());
    let VolumeCreation::Ready(made) = made else { panic!("{made:?}") };
    let owner = MarkedClaim {
        cluster_uid: Some(CLUSTER.to_owned()),
        uid: Some(UID.to_owned()),
        namespace: Some("shop".to_owned()),
        name: Some("data".to_owned()),
    };
    assert_eq!((made.name, made.bytes, made.owner, told.len()), (name, 10 * GIB, owner, 0));
    assert_eq!(made.accessible_topologies, desired().accessible_topologies);
}

#[test]
fn a_class_chooses_the_type_and_the_zone() {
    let classy = desired().with_parameter("type", "ssd").with_parameter("availability", "az 2");
    let sent = created(&classy, &[]);
    assert_eq!((&sent["volume"]["volume_type"], &sent["volume"]["availability_zone"]), (&json!("ssd"), &json!("az 2")));
    let anywhere = DesiredVolume { accessible_topologies: Vec::new(), ..desired() };
    assert_eq!(created(&anywhere, &[])["volume"].get("availability_zone"), None, "Cinder has a zone of its own");
    let bytes = DesiredVolume { bytes: 10 * GIB + 1, ..desired() };
    assert_eq!(created(&bytes, &[])["volume"]["size"], 11);
}

#[test]
fn zones_of_cinder_that_are_ignored_are_neither_asked_nor_told() {
    let ignoring = [("ignoreVolumeAZ", "true")];
    assert_eq!(created(&desired(), &ignoring)["volume"].get("availability_zone"), None);
    let classy = desired().with_parameter("availability", "az2");
    assert_eq!(created(&classy, &ignoring)["volume"]["availability_zone"], "az2");
    let project = FakeProject::default().with(&desired().name, vendors("kubernetes"));
    let cloud = SimulatedCloud::new(project).shared();
    let found = of_cluster(Host::of(&cloud)).setting("ignoreVolumeAZ", "true").run(|| {
        Cinder::create(&DesiredVolume { accessible_topologies: vec![VolumePlace::of(ZONE, "compute-1")], ..desired() })
    });
    let Ok(VolumeCreation::Ready(found)) = found else { panic!("{found:?}") };
    assert_eq!(found.accessible_topologies, [VolumePlace::of(ZONE, "compute-1")]);
}

/// Cases: csi 27, csi 28
#[test]
fn volumes_of_the_claim_are_found_and_others_are_not_taken() {
    let name = desired().name;
    let create = |differs: Value| call(FakeProject::default().with(&name, differs), || Cinder::create(&desired()));
    for own in [marked(CLUSTER, UID), vendors("kubernetes")] {
        let (found, requests, _) = create(own);
        assert!(matches!(found, Ok(VolumeCreation::Ready(_))) && requests.len() == 1, "{found:?}: {requests:?}");
    }
    let others = [json!({}), marked("another-cluster", UID), marked(CLUSTER, "another"), vendors("staging")];
    for other in others {
        let (another, _, told) = create(other.clone());
        assert!(matches!(another, Ok(VolumeCreation::Pending(_))), "{other}: {another:?}");
        assert_eq!(told, ["VolumeNameTaken"], "{other}");
        let (left, requests, _) = call(FakeProject::default().with(&name, other), || Cinder::abandon(&desired()));
        assert!(left.is_ok() && requests.iter().all(|it| it.starts_with("GET ")), "{left:?} {requests:?}");
    }
    let two = FakeProject::default().with(&name, vendors("kubernetes")).with(&name, marked(CLUSTER, UID));
    let (found, _, told) = call(two, || Cinder::create(&desired()));
    let Ok(VolumeCreation::Ready(found)) = found else { panic!("{found:?}") };
    assert_eq!((found.handle, told), (volume(3), vec!["VolumeDoubled".to_owned()]), "the one with the mark is used");
}

/// Cases: csi 26, csi 29
#[test]
fn a_volume_without_room_goes_before_the_claim_does() {
    let (answer, told) = settled(FakeProject::default().failing("003"));
    assert_eq!(answer, VolumeCreation::NoRoom("schedule allocate volume: it is so.".to_owned()));
    assert_eq!(told, ["ProvisioningFailed"]);
}

/// Cases: csi 26
#[test]
fn a_volume_that_failed_is_deleted_and_made_again() {
    let name = desired().name;
    let mut failed = marked(CLUSTER, UID);
    failed["status"] = json!("error");
    let (begun, requests, told) = call(FakeProject::default().with(&name, failed), || Cinder::create(&desired()));
    assert!(
        matches!(&begun, Ok(VolumeCreation::Pending(it)) if it.wait.reason.contains("Cinder deletes")),
        "{begun:?}"
    );
    assert_eq!(requests.last().unwrap(), &format!("DELETE volume /volumes/{}", volume(2)));
    assert_eq!(told, ["ProvisioningFailed"]);
    let cloud = SimulatedCloud::new(FakeProject::default().failing("001")).shared();
    let host = of_cluster(Host::of(&cloud));
    let mut desired = desired().first_create();
    for _ in 0..60 {
        let now = cloud.borrow().now();
        match host.clone().at(now).run(|| Cinder::create(&desired)).unwrap() {
            VolumeCreation::Pending(it) => desired = next(desired, it),
            other => panic!("another failure is no lack of room: {other:?}"),
        }
        cloud.borrow_mut().advance(Duration::from_secs(2));
    }
    let creations = host.requests().iter().filter(|it| it.starts_with("POST volume /volumes")).count();
    assert!((2..=5).contains(&creations), "{creations} in about four minutes");
}

/// Cinder knows no token, and takes a second volume of one name.
///
/// Cases: csi 20
#[test]
fn a_second_creation_is_announced_and_sent_by_one_call() {
    let asked = |memo: &str| DesiredVolume { memo: Some(memo.to_owned()), ..desired() };
    let (begun, requests, _) = call(FakeProject::default(), || Cinder::create(&asked("lost since 1")));
    let Ok(VolumeCreation::Pending(begun)) = begun else { panic!("{begun:?}") };
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    let memo = begun.memo.unwrap();
    for (words, sends) in [(desired().with_new_memo(&memo), true), (asked(&memo), false)] {
        let (next, requests, _) = call(FakeProject::default(), || Cinder::create(&words));
        assert!(matches!(next, Ok(VolumeCreation::Pending(_))), "{next:?}");
        assert_eq!(requests.iter().any(|it| it.starts_with("POST ")), sends, "{memo}: {requests:?}");
    }
}

#[test]
fn a_volume_with_data_is_not_deleted_for_another() {
    for status in ["error_extending", "error_restoring", "error_deleting"] {
        let mut stuck = marked(CLUSTER, UID);
        stuck["status"] = json!(status);
        let (left, requests, _) =
            call(FakeProject::default().with(&desired().name, stuck), || Cinder::create(&desired()));
        assert!(matches!(&left, Err(Error::Unavailable(why)) if why.contains(&format!("state {status},"))), "{left:?}");
        assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    }
}

#[test]
fn volumes_of_the_project_are_listed_page_by_page() {
    let project = || FakeProject::default().with("pvc-1", marked(CLUSTER, UID));
    let (first, requests, _) = call(project(), || <Cinder as Volumes>::list(None, 1).unwrap());
    assert_eq!(requests, ["GET volume /volumes/detail?limit=1"]);
    assert_eq!((first.volumes[0].handle.clone(), first.next.clone()), (volume(1), Some(volume(1))));
    let (last, requests, _) = call(project(), || <Cinder as Volumes>::list(first.next.as_deref(), 5_000).unwrap());
    assert_eq!(requests, [format!("GET volume /volumes/detail?limit=1000&marker={}", volume(1))]);
    assert_eq!((last.volumes[0].owner.uid.as_deref(), last.next), (Some(UID), None));
}

#[test]
fn a_machine_of_the_cloud_itself_is_told_too() {
    let attachment = json!({ "server_id": null, "host_name": "glance-1", "device": null });
    let shown = json!({ "id": volume(1), "status": "in-use", "size": 1, "attachments": [attachment, {}] });
    let host = of_cluster(Host::new()).answers(move |_| testing::answer(200, json!({ "volume": shown }).to_string()));
    let found = host.run(|| <Cinder as Volumes>::get(&volume(1))).unwrap().unwrap();
    assert_eq!(
        (found.attached_to, found.state),
        (vec!["glance-1".to_owned(), "a machine without a name".to_owned()], VolumeState::Ready)
    );
}
