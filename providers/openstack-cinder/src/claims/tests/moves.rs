//! Volumes that are attached, detached and enlarged.

use super::*;

fn attach(project: FakeProject) -> (Result<VolumeAttachment>, Vec<String>) {
    let (answer, requests, _) = call(project, || Cinder::attach(&second(), &server(1), &mode()));
    (answer, requests)
}

fn with(differs: Value) -> FakeProject {
    FakeProject::default().with("pvc-1", differs)
}

/// Cases: csi 46, csi 50
#[test]
fn a_volume_is_at_its_server_when_cinder_says_so() {
    let context = vec![("DevicePath".to_owned(), "/dev/vdb".to_owned())];
    for status in ["in-use", "extending", "error_extending", "backing-up"] {
        let (here, requests) = attach(with(json!({ "server": server(1), "status": status })));
        assert_eq!((here, requests.len()), (Ok(VolumeAttachment::Ready(context.clone())), 1), "{status}");
    }
    for differs in [json!({ "server": server(1), "status": "detaching" }), json!({ "status": "reserved" })] {
        let (pending, requests) = attach(with(differs));
        assert!(matches!(pending, Ok(VolumeAttachment::Pending(_))) && requests.len() == 1, "{pending:?}");
    }
    let (begun, requests) = attach(with(json!({})));
    assert!(matches!(begun, Ok(VolumeAttachment::Pending(_))), "{begun:?}");
    assert_eq!(requests.last().unwrap(), &format!("POST compute /servers/{}/os-volume_attachments", server(1)));
}

/// Cases: csi 57, csi 58
#[test]
fn volumes_elsewhere_and_full_servers_are_waits() {
    let (elsewhere, requests) = attach(with(json!({ "server": server(2) })));
    assert_eq!((elsewhere, requests.len()), (Ok(VolumeAttachment::Occupied(server(2))), 1));
    let (full, _) = attach(with(json!({})).full());
    assert!(matches!(&full, Ok(VolumeAttachment::Full(why)) if why.contains("disk devices")), "{full:?}");
    let (left, requests, _) = call(with(json!({ "server": server(2) })), || Cinder::detach(&second(), &server(1)));
    assert_eq!((left, requests.len()), (Ok(VolumeDetachment::Done), 1), "it stays where it is");
}

/// Nova answers an attachment or a detachment so.
fn nova(status: u16, name: &'static str, message: &'static str, shown: &Value) -> Host {
    let shown = shown.clone();
    of_cluster(Host::new()).answers(move |request| match request.method {
        Method::Get => testing::answer(200, json!({ "volume": shown }).to_string()),
        _ => Ok(refusal(status, name, message)),
    })
}

fn shown(status: &str, at: &[&str]) -> Value {
    let attachments: Vec<_> = at.iter().map(|it| json!({ "server_id": it, "device": "/dev/vdb" })).collect();
    json!({ "id": volume(2), "name": "pvc-1", "status": status, "size": 1, "attachments": attachments, "multiattach": true })
}

/// Cases: csi 59
#[test]
fn nova_that_is_at_work_is_asked_again() {
    for (status, name, message) in [
        (409, "conflictingRequest", "Cannot 'attach_volume' instance x while it is in task_state rebooting"),
        (400, "badRequest", "Invalid volume: volume x status must be 'available'. Currently in 'reserved'"),
        (400, "badRequest", "Invalid volume: volume x is already attached to instances: y"),
    ] {
        let host = nova(status, name, message, &shown("available", &[]));
        let again = host.run(|| Cinder::attach(&second(), &server(1), &mode()));
        assert!(matches!(&again, Ok(VolumeAttachment::Pending(it)) if it.wait.reason.contains(message)), "{again:?}");
    }
    let unknown = nova(404, "itemNotFound", "Instance could not be found.", &shown("available", &[]));
    let refused = unknown.run(|| Cinder::attach(&second(), &server(1), &mode()));
    assert!(matches!(&refused, Err(Error::Unavailable(why)) if why.contains("knows no server")), "{refused:?}");
    let zone = nova(
        400,
        "badRequest",
        "Invalid volume: Instance and volume are not in the same zone",
        &shown("available", &[]),
    );
    let refused = zone.run(|| Cinder::attach(&second(), &server(1), &mode()));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("same zone")), "{refused:?}");
}

#[test]
fn a_volume_for_several_servers_is_asked_for_as_such() {
    let host = nova(409, "conflictingRequest", "", &shown("available", &[]));
    drop(host.run(|| Cinder::attach(&second(), &server(1), &mode())));
    let sent = host.sent().pop().unwrap();
    assert!(sent.headers.contains(&("openstack-api-version".to_owned(), "compute 2.60".to_owned())), "{sent:?}");
    let at_two = nova(409, "", "", &shown("in-use", &[&server(2), &server(3)]));
    let elsewhere = at_two.run(|| Cinder::attach(&second(), &server(1), &mode()));
    assert_eq!(elsewhere, Ok(VolumeAttachment::Occupied(server(2))), "a claim's volume is at one");
}

/// Cases: csi 52
#[test]
fn a_detachment_that_nova_does_not_know_is_told() {
    let here = server(1);
    let host = nova(404, "itemNotFound", "Instance could not be found.", &shown("in-use", &[&here]));
    let told = host.run(|| Cinder::detach(&second(), &here));
    assert!(matches!(&told, Err(Error::Unavailable(why)) if why.contains("takes the attachment away")), "{told:?}");
    let at_work = "Invalid volume: Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach.";
    let host = nova(400, "badRequest", at_work, &shown("in-use", &[&here]));
    let again = host.run(|| Cinder::detach(&second(), &here));
    assert!(matches!(&again, Ok(VolumeDetachment::Pending(it)) if it.wait.reason.contains("400")), "{again:?}");
    let (gone, ..) = call(FakeProject::default(), || Cinder::detach(&KnownVolume::of(volume(9)), &here));
    assert_eq!(gone, Ok(VolumeDetachment::Done));
    for status in ["detaching", "attaching", "reserved"] {
        let host = nova(500, "", "", &shown(status, &[&here]));
        let pending = host.run(|| Cinder::detach(&second(), &here));
        assert!(matches!(pending, Ok(VolumeDetachment::Pending(_))) && host.requests().len() == 1, "{pending:?}");
    }
}

/// Cases: csi 71
#[test]
fn a_volume_grows_at_its_server_and_without_one() {
    let expand = |project: FakeProject, gibibytes: u64| call(project, || Cinder::expand(&second(), gibibytes * GIB)).0;
    for differs in [json!({}), json!({ "server": server(1) })] {
        let begun = expand(with(differs), 12);
        assert!(matches!(&begun, Ok(VolumeExpansion::Pending(it)) if it.wait.reason.contains("enlarges")), "{begun:?}");
    }
    let large = Ok(VolumeExpansion::Ready(aerostat_sdk::ExpandedVolume::on_node(10 * GIB)));
    assert_eq!(expand(with(json!({})), 8), large, "nothing shrinks");
    let stuck = expand(with(json!({ "status": "error_extending" })), 12);
    assert!(matches!(&stuck, Err(Error::Unavailable(why)) if why.contains("state error_extending")), "{stuck:?}");
    // A message that is older than what the volume has become since says nothing.
    let at = |time: &str| with(json!({ "updated_at": "2026-11-30T07:00:00" })).has_not_grown(time);
    let small = expand(at("2026-11-30T07:00:00"), 12);
    assert!(matches!(&small, Err(Error::Unavailable(why)) if why.contains("extend volume: it is so")), "{small:?}");
    assert!(matches!(expand(at("2026-11-30T06:59:59"), 12), Ok(VolumeExpansion::Pending(_))));
    let foreign = expand(with(marked("another-cluster", UID)), 12);
    assert!(matches!(foreign, Err(Error::Denied(_))), "{foreign:?}");
    let (_, requests, _) = call(with(json!({})), || Cinder::expand(&second(), 12 * GIB));
    assert_eq!(requests.last().unwrap(), &format!("POST volume /volumes/{}/action", volume(2)));
}

#[test]
fn a_growth_that_the_cloud_does_not_know_is_refused() {
    let old = nova(406, "computeFault", "Version 3.42 is not supported by the API.", &shown("in-use", &[&server(1)]));
    let refused = old.run(|| Cinder::expand(&second(), 12 * GIB));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("3.42")), "{refused:?}");
    let used_up = "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota.";
    let quota = nova(413, "overLimit", used_up, &shown("available", &[]));
    let refused = quota.run(|| Cinder::expand(&second(), 12 * GIB)).unwrap_err();
    assert!(refused.is_quota(), "{refused:?}");
}
