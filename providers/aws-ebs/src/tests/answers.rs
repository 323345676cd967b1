//! Answers as AWS's own description of EC2 has them, which `tests/aws/answers.py` has written.

use aerostat_sdk::testing::answer;
use aws_api::testing::action;
use serde_json::Value;

use super::{Host, host};
use crate::api::instances;
use crate::api::volumes::{self, EbsAttachment, EbsVolume};

/// EC2 with these answers.
fn cloud() -> Host {
    let written: Value = serde_json::from_str(include_str!("../../../../tests/aws/answers.json")).unwrap();
    host(move |request| {
        let name = match action(request) {
            "DescribeInstances" => "instances",
            "DescribeVolumes" => "volumes",
            "DescribeVolumesModifications" => "volume-changes",
            other => panic!("{other}"),
        };
        answer(200, written["answers"][name].as_str().unwrap())
    })
}

#[test]
fn a_volume_is_read_with_all_that_a_claim_needs() {
    let found = cloud().run(|| volumes::by_ids(&["vol-1"])).unwrap();
    let since = "2026-08-20T09:30:12.000Z";
    let attachment = EbsAttachment {
        instance: "i-1".to_owned(),
        device: "/dev/xvdaa".to_owned(),
        state: "attaching".to_owned(),
        since: since.to_owned(),
    };
    assert_eq!(attachment.age(1_787_218_212 + 90), 90);
    let tags = [("CSIVolumeName", "pvc-1"), ("Name", "a & b")].map(|(key, it)| (key.to_owned(), it.to_owned()));
    let expected = EbsVolume {
        id: "vol-1".to_owned(),
        zone: "us-east-1b".to_owned(),
        gibibytes: 8,
        state: "in-use".to_owned(),
        attachments: vec![attachment],
        tags: tags.into(),
    };
    assert_eq!(found, [expected]);
}

#[test]
fn the_last_change_of_a_volume_is_read() {
    let last = cloud().run(|| volumes::modification("vol-1")).unwrap().unwrap();
    assert_eq!((&*last.state, &*last.since, &*last.why), ("optimizing", "2026-08-20T10:30:12.000Z", ""));
}

#[test]
fn devices_of_an_instance_are_read() {
    let devices = cloud().run(|| instances::devices("i-0123456789abcdef0")).unwrap().unwrap();
    assert!(devices.iter().eq(["/dev/xvda"]), "{devices:?}");
}
