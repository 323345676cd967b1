//! Volumes that are not made, and volumes that are not deleted.

use super::*;

/// Cases: csi 30, bad-volume
#[test]
fn refusals_of_a_creation_are_sorted() {
    let create = |status: u16, name: &'static str, message: &'static str| {
        let host = of_cluster(Host::new()).answers(move |request| match request.method {
            Method::Get => testing::answer(200, r#"{ "volumes": [] }"#),
            _ => Ok(refusal(status, name, message)),
        });
        host.run(|| Cinder::create(&desired().first_create()))
    };
    for status in [413, 403] {
        let limit = "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.";
        let quota = create(status, "overLimit", limit).unwrap_err();
        assert!(quota.is_quota() && quota.why().contains("volumes allowed (10)"), "{quota:?}");
    }
    let throttled = create(413, "overLimitFault", "This request was rate-limited.");
    assert!(matches!(throttled, Err(Error::RetryAfter(_))), "{throttled:?}");
    let kind = create(404, "itemNotFound", "Volume type with name gold could not be found.");
    assert!(matches!(&kind, Err(Error::Invalid(why)) if why.contains("gold")), "{kind:?}");
    let zone = create(400, "badRequest", "Invalid input received: Availability zone 'x' is invalid");
    assert!(matches!(&zone, Err(Error::Invalid(why)) if why.contains("zone 'x'")), "{zone:?}");
    let policy = create(403, "forbidden", "Policy doesn't allow volume:create to be performed.");
    assert!(matches!(policy, Err(Error::Denied(_))), "{policy:?}");
    let unclear = create(500, "computeFault", "The server has either erred or is incapable.");
    assert!(matches!(unclear, Ok(VolumeCreation::Pending(_))), "it may be there: {unclear:?}");
}

/// Cases: csi 36, csi 37, csi 39
#[test]
fn volumes_of_others_or_in_use_are_not_deleted() {
    let delete =
        |differs: Value| call(FakeProject::default().with("pvc-1", differs), || <Cinder as Volumes>::delete(&second()));
    for other in [marked("another-cluster", UID), vendors("staging")] {
        let (foreign, requests, _) = delete(other);
        assert!(matches!(foreign, Err(Error::Denied(_))), "{foreign:?}");
        assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    }
    let (used, requests, _) = delete(json!({ "server": server(1) }));
    assert_eq!((used, requests.len()), (Ok(VolumeDeletion::InUse(vec![server(1)])), 1), "nothing is detached for it");
    let (stuck, requests, _) = delete(json!({ "status": "error_deleting" }));
    assert!(matches!(&stuck, Err(Error::Unavailable(why)) if why.contains("administrator")), "{stuck:?}");
    assert_eq!(requests.len(), 1, "{requests:?}");
    for own in [marked(CLUSTER, UID), vendors("kubernetes"), json!({}), json!({ "status": "error" })] {
        let (begun, requests, _) = delete(own);
        assert!(matches!(begun, Ok(VolumeDeletion::Pending(_))), "it is there until it is gone: {begun:?}");
        assert_eq!(requests.last().unwrap(), &format!("DELETE volume /volumes/{}", volume(2)));
    }
}

#[test]
fn a_volume_with_snapshots_is_told() {
    let snapshots = "Invalid volume: Volume status must be available and must not have snapshots.";
    let shown = json!({ "id": volume(2), "name": "pvc-1", "status": "available", "size": 1, "attachments": [] });
    let host = of_cluster(Host::new()).answers(move |request| match request.method {
        Method::Get => testing::answer(200, json!({ "volume": shown }).to_string()),
        _ => Ok(refusal(400, "badRequest", snapshots)),
    });
    let told = host.run(|| <Cinder as Volumes>::delete(&second()));
    assert!(matches!(&told, Err(Error::Unavailable(why)) if why.contains("have snapshots")), "{told:?}");
}

#[test]
fn volumes_are_gone_when_two_reads_say_so() {
    let gone = KnownVolume::of(volume(9));
    let (answer, requests, _) = call(FakeProject::default(), || <Cinder as Volumes>::delete(&gone));
    assert_eq!(answer, Ok(VolumeDeletion::Done));
    assert_eq!(requests, [format!("GET volume /volumes/{}", volume(9)), "GET volume /volumes?limit=1000".to_owned()]);
    let listed = json!({ "volumes": [{ "id": volume(9), "name": "pvc-1" }] }).to_string();
    let late = of_cluster(Host::new()).answers(move |request| match request.path.len() {
        1 => testing::answer(200, listed.clone()),
        _ => Ok(refusal(404, "itemNotFound", "Volume could not be found.")),
    });
    let answer = late.run(|| <Cinder as Volumes>::delete(&gone));
    assert!(matches!(&answer, Err(Error::Unavailable(why)) if why.contains("lists volume")), "{answer:?}");
    // A wrong address is no word of Cinder.
    let elsewhere = of_cluster(Host::new()).answers(|_| testing::answer(404, "<html>"));
    let answer = elsewhere.run(|| <Cinder as Volumes>::get(&gone.handle));
    assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
}

/// Cases: csi 40, bad-volume
#[test]
fn ids_of_another_form_are_refused() {
    for handle in
        ["pvc-1", "../servers", "", "4DE7AC8B-495B-4884-9A69-1050C6793001", "4de7ac8b495b48849a691050c6793001"]
    {
        let (refused, requests, _) = call(FakeProject::default(), || Cinder::detach(&KnownVolume::of(handle), "x"));
        assert!(matches!(refused, Err(Error::Invalid(_))) && requests.is_empty(), "{handle}: {requests:?}");
    }
    for node in ["web-1", "../x", ""] {
        let project = FakeProject::default().with("pvc-1", json!({}));
        let (refused, requests, _) = call(project, || Cinder::attach(&second(), node, &mode()));
        assert!(matches!(refused, Err(Error::Invalid(_))) && requests.len() == 1, "{node}: {requests:?}");
    }
}
