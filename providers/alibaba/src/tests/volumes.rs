//! Where disks are.

use aerostat_sdk::{Error, PersistentVolumes, Topology, Volume};

use super::*;
use crate::Alibaba;

fn volume(handle: &str) -> Volume {
    Volume {
        name: "pv".to_owned(),
        source: "diskplugin.csi.alibabacloud.com".to_owned(),
        handle: handle.to_owned(),
        attributes: Vec::new(),
        extra: Vec::new(),
    }
}

/// An account with the disks d-1, in a zone, and d-2, in none.
fn disks() -> Host {
    settings().answers(|request| {
        assert_eq!(action(request), "DescribeDisks");
        if asked(request, "DryRun") == Some("true") {
            return refused(400, "DryRunOperation");
        }
        let ids: Vec<String> = serde_json::from_str(asked(request, "DiskIds").unwrap()).unwrap();
        let all = [json!({ "DiskId": "d-1", "ZoneId": "cn-hangzhou-b" }), json!({ "DiskId": "d-2", "ZoneId": "" })];
        let shown: Vec<_> = all.iter().filter(|it| ids.iter().any(|id| it["DiskId"] == id.as_str())).collect();
        answer(200, json!({ "Disks": { "Disk": shown } }).to_string())
    })
}

#[test]
fn a_hundred_disks_are_asked_for_at_once() {
    let host = disks();
    let volumes = ["d-1", "d-2", "d-3", "vol-1"].map(volume);
    let answers = host.run(|| Alibaba::get_topologies(&volumes));
    let zonal = Topology::new(Some("cn-hangzhou".to_owned()), ["cn-hangzhou-b"]);
    let label = ("topology.diskplugin.csi.alibabacloud.com/zone".to_owned(), "cn-hangzhou-b".to_owned());
    assert_eq!(answers[0], Ok(Some(zonal.accessible_from([label]))));
    assert_eq!(answers[1], Ok(Some(Topology::new(Some("cn-hangzhou".to_owned()), [""; 0]))));
    assert_eq!(answers[2], Ok(None));
    assert!(matches!(&answers[3], Err(Error::Invalid(why)) if why.contains("\"vol-1\"")));
    assert_eq!(host.requests().len(), 1);
}

#[test]
fn an_empty_list_of_disks_proves_nothing_without_the_right() {
    let host = disks();
    assert_eq!(host.run(|| Alibaba::get_topology(&volume("d-3"))), Ok(None));
    assert_eq!(host.requests().len(), 2);
    let blind = settings().answers(|request| match asked(request, "DryRun") {
        Some(_) => refused(403, "Forbidden.RAM"),
        None => answer(200, r#"{ "Disks": { "Disk": [] } }"#),
    });
    assert!(matches!(blind.run(|| Alibaba::get_topology(&volume("d-3"))), Err(Error::Denied(_))));
}
