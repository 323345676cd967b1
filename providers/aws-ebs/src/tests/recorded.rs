//! Requests beside those of AWS's official SDK, which `tests/aws/record.py` has recorded for the same calls.

use aerostat_sdk::Provider as _;
use aerostat_sdk::testing::answer;
use aws_api::ClusterSettings;
use aws_api::testing::{SdkCall, check_recorded};

use super::host;
use crate::Ebs;
use crate::api::instances;
use crate::api::volumes::{self, EbsSpec};

/// A call that sends each recorded request, by the name of the recording.
const CALLS: [SdkCall; 12] = [
    ("vpc", |host| drop(host.run(Ebs::identity))),
    ("volumes-by-id", |host| drop(host.run(|| volumes::by_ids(&["vol-1", "vol-2"])))),
    ("volume-by-id", |host| drop(host.run(|| volumes::exists("vol-1")))),
    ("volumes-by-name", |host| drop(host.run(|| volumes::named("pvc-1")))),
    ("volumes-of-the-cluster", |host| {
        drop(host.run(|| volumes::page(&ClusterSettings::read().unwrap(), Some("m+/="), 1_000)));
    }),
    ("volume-created", |host| {
        let tags = [("a", "b c/+=@"), ("k", "")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let spec = EbsSpec {
            token: "t",
            zone: "us-east-1a",
            gibibytes: 10,
            kind: "io2",
            iops: Some(500),
            throughput: Some(125),
            is_encrypted: true,
            key: Some("arn:k"),
            tags: &tags,
        };
        drop(host.run(|| volumes::create(&spec)));
    }),
    ("volume-deleted", |host| drop(host.run(|| volumes::delete("vol-1")))),
    ("volume-attached", |host| drop(host.run(|| volumes::attach("vol-1", "i-1", "/dev/xvdaa")))),
    ("volume-detached", |host| drop(host.run(|| volumes::detach("vol-1", "i-1")))),
    ("volume-enlarged", |host| drop(host.run(|| volumes::expand("vol-1", 12)))),
    ("volume-changes", |host| drop(host.run(|| volumes::modification("vol-1")))),
    ("devices", |host| drop(host.run(|| instances::devices("i-1")))),
];

#[test]
fn requests_are_those_of_the_official_sdk() {
    check_recorded(include_str!("../../../../tests/aws/requests-volumes.json"), &CALLS, || {
        host(|_| answer(200, "<R/>"))
    });
}
