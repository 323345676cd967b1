use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Error, PersistentVolumes, Result, Topology, Volume};
use serde_json::json;

use crate::Hetzner;

fn volume(handle: &str) -> Volume {
    Volume {
        name: format!("pv-{handle}"),
        source: "csi.hetzner.cloud".to_owned(),
        handle: handle.to_owned(),
        attributes: Vec::new(),
        extra: Vec::new(),
    }
}

fn ask(host: &Host, handles: &[&str]) -> Vec<Result<Option<Topology>>> {
    let volumes: Vec<_> = handles.iter().map(|it| volume(it)).collect();
    host.run(|| Hetzner::get_topologies(&volumes))
}

fn cloud() -> Host {
    Host::new().answers(|request| match request.path.get(1).map(String::as_str) {
        None => {
            let volumes = json!([{ "id": 1, "location": { "name": "fsn1" } }]);
            answer(200, json!({ "volumes": volumes, "meta": { "pagination": { "next_page": null } } }).to_string())
        }
        Some("1" | "2") => answer(200, json!({ "volume": { "id": 2, "location": { "name": "hel1" } } }).to_string()),
        Some(_) => answer(404, r#"{ "error": { "code": "not_found", "message": "no" } }"#),
    })
}

fn place(location: &str, zone: &str) -> Topology {
    Topology::new(Some(location.to_owned()), [zone])
        .accessible_from([("csi.hetzner.cloud/location".to_owned(), location.to_owned())])
}

#[test]
fn one_volume_is_asked_about_alone() {
    let host = cloud();
    assert_eq!(ask(&host, &["2"]), [Ok(Some(place("hel1", "hel1-dc2")))]);
    assert_eq!(host.requests(), ["GET hcloud /volumes/2"]);
    let without = ask(&cloud().setting("zoneLabel", "false"), &["2"]);
    assert_eq!(without[0].as_ref().unwrap().as_ref().unwrap().zones, [""; 0]);
}

#[test]
fn a_list_tells_of_many_and_absence_is_asked_for() {
    let host = cloud();
    let answers = ask(&host, &["1", "2", "3", "x", "07"]);
    assert_eq!(answers[..3], [Ok(Some(place("fsn1", "fsn1-dc14"))), Ok(Some(place("hel1", "hel1-dc2"))), Ok(None)]);
    for (answer, handle) in answers[3..].iter().zip(["x", "07"]) {
        let why = format!("volume handle {handle:?} of pv-{handle} is not the id of a volume, a number");
        assert_eq!(*answer, Err(Error::Invalid(why)));
    }
    assert_eq!(
        host.requests(),
        ["GET hcloud /volumes?sort=id:asc&page=1&per_page=50", "GET hcloud /volumes/2", "GET hcloud /volumes/3"]
    );
}
