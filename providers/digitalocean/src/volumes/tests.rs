//! A cloud in memory, which shows what an action has changed only when it has ended.

mod cloud;

use aerostat_sdk::testing::{self, Host, SimulatedCloud};
use aerostat_sdk::{Cluster, Provider, cluster};
use serde_json::{Value, json};

use self::cloud::{Account, PREFIX, Running};
use super::*;

const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn desired() -> DesiredVolume {
    DesiredVolume::of("default", "data", UID, 10 * GIB).with_place(SEGMENT, "nyc3")
}

fn described(cluster: &str, uid: &str) -> Value {
    let mark = Mark { cluster: cluster.to_owned(), service: uid.to_owned() };
    json!({ "description": format!("{CREATED} ({mark})") })
}

fn mode() -> AttachMode {
    AttachMode { read_only: false, block: false, access_modes: desired().access_modes }
}

/// The volume that was added after the usual one.
fn second() -> KnownVolume {
    KnownVolume::of(format!("{PREFIX}2"))
}

/// One call before this cloud: its answer, the requests with bodies, and the events' reasons.
fn call<T>(cloud: Account, of: impl FnOnce() -> T) -> (T, Vec<String>, Vec<String>) {
    let cloud = SimulatedCloud::new(cloud).shared();
    let host = Host::of(&cloud).setting("volumes", "true").cluster(Cluster::of("kubernetes", CLUSTER));
    let answer = host.run(of);
    (answer, host.requests(), host.events().into_iter().map(|it| it.reason).collect())
}

#[test]
fn a_volume_survives_each_request_that_goes_wrong() {
    assert_eq!(testing::converge_volumes::<DigitalOcean, _>(Account::default, &desired()), [""; 0]);
}

#[test]
fn a_volume_is_made_as_the_vendor_makes_it_and_marked() {
    let cloud = SimulatedCloud::new(Account::default()).shared();
    let host = Host::of(&cloud).setting("volumes", "true").setting("clusterId", "c-1");
    let made = host.run(|| (DigitalOcean::create(&desired().first_create()), cluster().unwrap().uid));
    let (Ok(VolumeCreation::Ready(volume)), uid) = made else { panic!("{made:?}") };
    assert_eq!((volume.name.as_str(), volume.bytes), (desired().name.as_str(), 10 * GIB));
    assert_eq!((volume.owner.cluster_uid.as_ref(), volume.owner.uid.as_deref()), (Some(&uid), Some(UID)));
    assert_eq!(volume.accessible_topologies, desired().accessible_topologies);
    let body: Value = serde_json::from_str(host.bodies().last().unwrap()).unwrap();
    let description = format!("{CREATED} (aerostat:{uid}:{UID})");
    let name = desired().name;
    assert_eq!(
        body,
        json!({ "name": name, "description": description, "size_gigabytes": 10, "region": "nyc3", "tags": ["k8s:c-1"] })
    );
}

#[test]
fn a_volume_without_a_place_is_made_in_the_settings_region() {
    let anywhere = DesiredVolume { accessible_topologies: Vec::new(), ..desired() }.first_create();
    let (nowhere, requests, _) = call(Account::default(), || DigitalOcean::create(&anywhere));
    assert!(matches!(&nowhere, Err(Error::Invalid(why)) if why.contains("set region")), "{nowhere:?}");
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    let cloud = SimulatedCloud::new(Account::default()).shared();
    let host = Host::of(&cloud).setting("volumes", "true").setting("region", "fra1");
    let made = host.run(|| DigitalOcean::create(&anywhere));
    assert!(matches!(&made, Ok(VolumeCreation::Ready(it)) if it.accessible_topologies
        == [aerostat_sdk::VolumePlace::of(SEGMENT, "fra1")]));
}

#[test]
fn a_volume_with_the_vendors_words_alone_is_taken_over() {
    let name = desired().name;
    let create = |differs: Value| call(Account::default().with(&name, differs), || DigitalOcean::create(&desired()));
    let (found, requests, _) = create(json!({ "description": CREATED }));
    assert!(matches!(found, Ok(VolumeCreation::Ready(_))) && requests.len() == 1, "{requests:?}");
    for other in [
        json!({ "description": "my disk" }),
        json!({ "description": format!("{CREATED}, once") }),
        described("another-cluster", UID),
        described(CLUSTER, "another-claim"),
    ] {
        let (refused, requests, _) = create(other.clone());
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains("it is not touched")),
            "{other}: {refused:?}"
        );
        assert_eq!(requests.len(), 1, "{requests:?}");
        let (left, requests, _) = call(Account::default().with(&name, other), || DigitalOcean::abandon(&desired()));
        assert!(left.is_ok() && requests.iter().all(|it| it.starts_with("GET ")), "{left:?} {requests:?}");
    }
}

#[test]
fn a_volume_of_another_cluster_is_not_deleted() {
    let delete = |differs: Value| {
        call(Account::default().with("pvc-1", differs), || <DigitalOcean as Volumes>::delete(&second()))
    };
    let (foreign, requests, _) = delete(described("another-cluster", UID));
    assert!(matches!(foreign, Err(Error::Denied(_))), "{foreign:?}");
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    let (used, ..) = delete(json!({ "droplet_ids": [42] }));
    assert_eq!(used, Ok(VolumeDeletion::InUse(vec!["42".to_owned()])));
    for own in [described(CLUSTER, UID), json!({ "description": CREATED })] {
        let (gone, requests, _) = delete(own);
        assert_eq!(gone, Ok(VolumeDeletion::Done));
        assert_eq!(requests.last().unwrap(), &format!("DELETE api /v2/volumes/{PREFIX}2"));
    }
}

#[test]
fn a_volume_is_gone_when_three_reads_say_so() {
    let gone = KnownVolume::of(format!("{PREFIX}9"));
    let (answer, requests, _) = call(Account::default(), || <DigitalOcean as Volumes>::delete(&gone));
    assert_eq!((answer, requests.len()), (Ok(VolumeDeletion::Done), 3));
    // These requests find a volume, and no others.
    let seen = |found: &'static [(&'static str, &'static str)]| {
        let host = Host::new().setting("volumes", "true").answers(move |request| {
            let path = request.path.join("/");
            match found.iter().find(|(end, _)| path.ends_with(end)) {
                Some((_, body)) => testing::answer(200, *body),
                None if path.ends_with("volumes") => testing::answer(200, r#"{ "volumes": [], "links": {} }"#),
                None => testing::answer(404, r#"{ "id": "not_found" }"#),
            }
        });
        (host.run(|| <DigitalOcean as Volumes>::get(&gone.handle)), host.requests().len())
    };
    const VOLUME: &str = r#"{ "volume": { "id": "506f78a4-e098-11e5-ad9f-000000000009", "name": "pvc-9", "size_gigabytes": 1,
        "region": { "slug": "nyc3" } } }"#;
    assert!(matches!(seen(&[("000000000009", VOLUME)]), (Err(Error::Unavailable(_)), 2)));
    const NONE: &str = r#"{ "actions": [], "meta": { "total": 0 } }"#;
    assert_eq!(seen(&[("actions", NONE)]), (Ok(None), 4), "the volume is asked for again");
    // A server that is late answers both, and another one lists it.
    const LISTED: (&str, &str) =
        ("volumes", r#"{ "volumes": [{ "id": "506f78a4-e098-11e5-ad9f-000000000009" }], "links": {} }"#);
    assert!(matches!(seen(&[LISTED]), (Err(Error::Unavailable(why)), 3) if why.contains("lists volume")));
    let late = seen(&[("actions", NONE), LISTED]);
    assert!(matches!(late, (Err(Error::Unavailable(why)), 4) if why.contains("lists volume")));
}

/// A volume that is moved each day has hundreds of actions after a year.
#[test]
fn many_actions_on_a_volume_cost_one_request() {
    let poll = |newest_first: bool, running: u64| {
        let mut cloud = Account { newest_first, ..Account::default().with("pvc-1", json!({ "droplet_ids": [42] })) };
        for at in 0..450 {
            cloud = cloud.with_action(&second().handle, at % 100 == 0, if at == running { 2_000_000_000 } else { 0 });
        }
        let (left, requests, _) = call(cloud, || DigitalOcean::attach(&second(), "42", &mode()));
        (matches!(left, Ok(VolumeAttachment::Ready(_))), requests.len())
    };
    assert_eq!(poll(true, 449), (false, 1), "the last one runs");
    assert_eq!(poll(true, 500), (true, 2), "none runs");
    assert_eq!(poll(false, 449), (false, 4), "where the oldest come first, all pages are read");
}

/// Cases: csi 60
#[test]
fn a_volume_at_work_is_read_again_by_its_actions_alone() {
    let busy = || Account::default().with("pvc-1", json!({})).with_action(&second().handle, false, 2_000_000_000);
    let (attached, requests, _) = call(busy(), || DigitalOcean::attach(&second(), "42", &mode()));
    assert!(matches!(attached, Ok(VolumeAttachment::Pending(_))) && requests.len() == 1, "{attached:?} {requests:?}");
    let (left, requests, _) = call(busy(), || DigitalOcean::detach(&second(), "42"));
    assert!(matches!(left, Ok(VolumeDetachment::Pending(_))) && requests.len() == 1, "{left:?} {requests:?}");
    let (grown, requests, _) = call(busy(), || DigitalOcean::expand(&second(), GIB));
    assert!(matches!(grown, Ok(VolumeExpansion::Pending(_))) && requests.len() == 1, "{grown:?} {requests:?}");
    let (gone, requests, _) = call(busy(), || <DigitalOcean as Volumes>::delete(&second()));
    assert!(matches!(gone, Ok(VolumeDeletion::Pending(_))) && requests.len() == 1, "{gone:?} {requests:?}");
    // A question about the volume itself is answered in full.
    let (found, requests, _) = call(busy(), || <DigitalOcean as Volumes>::get(&second().handle));
    assert!(matches!(found, Ok(Some(it)) if it.state == VolumeState::Changing) && requests.len() == 2, "{requests:?}");
}

#[test]
fn actions_that_cannot_be_counted_are_none_that_have_ended() {
    let seen = |body: &'static str| {
        let host = Host::new().setting("volumes", "true").answers(move |_| testing::answer(200, body));
        host.run(|| DigitalOcean::detach(&second(), "42"))
    };
    for body in [
        r#"{ "actions": [] }"#,
        r#"{ "actions": [], "links": {}, "meta": { "total": "1" } }"#,
        r#"{ "actions": [], "links": {}, "meta": { "total": 1 } }"#,
        r#"{ "actions": [{ "id": 1, "type": "resize", "status": "completed" }], "meta": { "total": 2 } }"#,
    ] {
        assert!(matches!(seen(body), Err(Error::Unavailable(_))), "{body}");
    }
}

/// Cases: csi 50
#[test]
fn actions_are_read_before_their_volume() {
    // The attachment ends before, between or after the two reads.
    for seconds in 0..5 {
        let cloud = SimulatedCloud::new(Account::default().with("pvc-1", json!({}))).shared();
        let (change, kind, ends) = (json!({ "droplet_ids": [7] }), "attach_volume", cloud.borrow().now() + seconds);
        let attachment = Running { volume: second().handle, kind, ends, change, fails: false };
        cloud.borrow_mut().cloud().actions.push(attachment);
        let host = Host::of(&cloud).setting("volumes", "true");
        let left = host.run(|| DigitalOcean::detach(&second(), "7")).unwrap();
        assert!(matches!(left, VolumeDetachment::Pending(_)), "it is at 7 within {seconds} s, and must be detached");
    }
}

/// Cases: csi 58, csi 59
#[test]
fn a_droplet_that_is_full_or_at_work_is_no_error() {
    let attach = |cloud: Account| call(cloud, || DigitalOcean::attach(&second(), "42", &mode()));
    let full = Account { most: 0, ..Account::default().with("pvc-1", json!({})) };
    assert!(matches!(attach(full).0, Ok(VolumeAttachment::Full(why)) if why.contains("more than 7 volumes")));
    let another = format!("{PREFIX}1");
    let busy = Account::default().with("pvc-1", json!({})).with_action(&another, false, 2_000_000_000);
    let (pending, requests, _) = attach(busy);
    assert!(matches!(&pending, Ok(VolumeAttachment::Pending(it)) if it.wait.reason.contains("pending event")));
    assert_eq!(requests.len(), 3, "{requests:?}");
    let elsewhere = Account::default().with("pvc-1", json!({ "droplet_ids": [7] }));
    assert_eq!(attach(elsewhere).0, Ok(VolumeAttachment::Occupied("7".to_owned())));
    let here = Account::default().with("pvc-1", json!({ "droplet_ids": [42] }));
    let context = vec![(VOLUME_NAME.to_owned(), "pvc-1".to_owned())];
    assert_eq!(attach(here).0, Ok(VolumeAttachment::Ready(context)));
}

/// Cases: csi 55
#[test]
fn an_action_that_failed_is_told_and_begun_again() {
    let failed = Account::default().with("pvc-1", json!({})).with_action(&second().handle, true, 0);
    let (again, requests, told) = call(failed, || DigitalOcean::attach(&second(), "42", &mode()));
    assert!(matches!(&again, Err(Error::Unavailable(why)) if why.contains("has failed in the cloud")), "{again:?}");
    assert_eq!((requests.len(), told.len()), (3, 0), "the host tells it by the error");
}

/// The next action is refused as long as the droplet has another to do: the failure stays the last one.
#[test]
fn an_action_that_failed_is_told_once() {
    let other = format!("{PREFIX}1");
    let failed = Account::default().with("pvc-1", json!({})).with_action(&second().handle, true, 0);
    let busy = failed.with_action(&other, false, 2_000_000_000);
    let (waits, _, told) = call(busy, || DigitalOcean::attach(&second(), "42", &mode()));
    assert!(matches!(waits, Ok(VolumeAttachment::Pending(_))) && told.is_empty(), "{waits:?} {told:?}");
    let mended = Account::default()
        .with("pvc-1", json!({ "droplet_ids": [42] }))
        .with_action(&second().handle, true, 0)
        .with_action(&second().handle, false, 0);
    let (left, _, told) = call(mended, || DigitalOcean::detach(&second(), "42"));
    assert!(matches!(left, Ok(VolumeDetachment::Pending(_))) && told.is_empty(), "{left:?} {told:?}");
}

/// The refusal says nothing of the action that failed before.
#[test]
fn an_action_that_failed_is_told_beside_a_refusal() {
    let failed = Account::default().with("pvc-1", json!({})).with_action(&second().handle, true, 0);
    let failed = Account { refuses: true, ..failed };
    let (refused, _, told) = call(failed, || DigitalOcean::attach(&second(), "42", &mode()));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert_eq!(told, ["VolumeActionFailed"]);
}

/// Cases: csi 40, bad-volume
#[test]
fn a_node_id_or_a_handle_of_another_form_is_refused() {
    for node in ["web-1", "042", "-1", ""] {
        let cloud = Account::default().with("pvc-1", json!({}));
        let (refused, requests, _) = call(cloud, || DigitalOcean::attach(&second(), node, &mode()));
        assert!(matches!(refused, Err(Error::Invalid(_))) && requests.len() == 2, "{node}: {requests:?}");
    }
    for handle in ["42", "../account", "506F78A4-e098-11e5-ad9f-000000000002", ""] {
        let (refused, requests, _) = call(Account::default(), || DigitalOcean::detach(&KnownVolume::of(handle), "42"));
        assert!(matches!(refused, Err(Error::Invalid(_))) && requests.is_empty(), "{handle}: {requests:?}");
    }
}

/// Cases: csi 69, csi 71
#[test]
fn volumes_of_another_cluster_and_larger_ones_stay_as_they_are() {
    let expand = |differs: Value, bytes: u64| {
        call(Account::default().with("pvc-1", differs), || DigitalOcean::expand(&second().block(), bytes))
    };
    let (foreign, requests, _) = expand(described("another-cluster", UID), 20 * GIB);
    assert!(matches!(foreign, Err(Error::Denied(_))) && requests.len() == 2, "{requests:?}");
    let (larger, requests, _) = expand(json!({}), 5 * GIB);
    let is = aerostat_sdk::ExpandedVolume { bytes: 10 * GIB, node_must_grow: false };
    assert_eq!((larger, requests.len()), (Ok(VolumeExpansion::Ready(is)), 2), "its node has nothing to do");
}

#[test]
fn a_used_up_quota_is_no_place_without_room() {
    let words =
        r#"{ "id": "forbidden", "message": "failed to create volume: volume/snapshot capacity limit exceeded" }"#;
    let host = Host::new().setting("volumes", "true").answers(move |request| match request.method {
        Method::Get => testing::answer(200, r#"{ "volumes": [] }"#),
        _ => testing::answer(403, words),
    });
    let refused = host.run(|| DigitalOcean::create(&desired().first_create()));
    assert!(matches!(&refused, Err(error) if error.is_quota()), "{refused:?}");
}

#[test]
fn volumes_are_listed_with_their_marks() {
    let cloud = Account::default().with("pvc-1", described(CLUSTER, UID));
    let (page, requests, _) = call(cloud, || <DigitalOcean as Volumes>::list(None, 500).unwrap());
    assert_eq!(requests, ["GET api /v2/volumes?page=1&per_page=200"]);
    let owners: Vec<_> = page.volumes.iter().map(|it| it.owner.uid.as_deref()).collect();
    assert_eq!((owners, page.next), (vec![None, Some(UID)], None));
}

#[test]
fn volumes_that_are_not_switched_on_are_not_touched() {
    let host = Host::new();
    let refused = [
        host.run(|| DigitalOcean::create(&desired()).map(drop)),
        host.run(|| DigitalOcean::abandon(&desired()).map(drop)),
        host.run(|| <DigitalOcean as Volumes>::delete(&second()).map(drop)),
        host.run(|| DigitalOcean::attach(&second(), "42", &mode()).map(drop)),
        host.run(|| DigitalOcean::detach(&second(), "42").map(drop)),
        host.run(|| DigitalOcean::expand(&second(), GIB).map(drop)),
        host.run(|| <DigitalOcean as Volumes>::get(&second().handle).map(drop)),
        host.run(|| <DigitalOcean as Volumes>::list(None, 1).map(drop)),
    ];
    assert!(refused.iter().all(|it| matches!(it, Err(Error::Invalid(why)) if why.contains("set volumes: \"true\""))));
    assert!(host.requests().is_empty());
    let rules = |host: Host| host.run(<DigitalOcean as Provider>::describe).unwrap().endpoints[0].allow.len();
    assert_eq!(rules(Host::new().setting("volumes", "true")), rules(Host::new()) + 7);
}
