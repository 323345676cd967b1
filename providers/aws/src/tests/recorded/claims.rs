//! The calls of volumes of claims.

use super::Call;
use crate::api::ec2::instances;
use crate::api::ec2::volumes::{self, EbsSpec};
use crate::settings::ClusterMarks;

/// A call that sends each recorded request, by the name of the recording.
pub(super) const CALLS: [Call; 10] = [
    ("volume-by-id", |host| drop(host.run(|| volumes::exists("vol-1")))),
    ("volumes-by-name", |host| drop(host.run(|| volumes::named("pvc-1")))),
    ("volumes-of-the-cluster", |host| {
        drop(host.run(|| volumes::page(&ClusterMarks::read().unwrap(), Some("m+/="), 1_000)));
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
