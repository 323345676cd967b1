//! Requests of the provider: what they do, what they carry, and which actions of IAM they need.

use aerostat_sdk::{Effect, Endpoint};
use aws_api::{ChangeOperation, EC2, INSTANCES, changes, endpoint, reads};

const READS: [&str; 4] = ["DescribeInstances", "DescribeVolumes", "DescribeVolumesModifications", "DescribeVpcs"];

const VOLUMES: (&str, &[&str]) = ("VolumeId", &["vol-*"]);

/// The operations that change volumes. What began with a snapshot, or is forced off an instance, is none of them.
const CHANGES: [ChangeOperation<'static>; 5] = [
    ChangeOperation {
        effect: Effect::Write,
        operation: "CreateVolume",
        only: &[
            "AvailabilityZone",
            "ClientToken",
            "Encrypted",
            "Iops",
            "KmsKeyId",
            "Size",
            "TagSpecification.1.Tag.*.Key",
            "TagSpecification.1.Tag.*.Value",
            "Throughput",
        ],
        values: &[
            ("TagSpecification.1.ResourceType", &["volume"]),
            ("VolumeType", &["gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"]),
        ],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "AttachVolume",
        only: &[],
        values: &[("Device", &["/dev/sd*", "/dev/xvd*"]), ("InstanceId", INSTANCES), VOLUMES],
    },
    // Nothing takes it back.
    ChangeOperation { effect: Effect::Write, operation: "ModifyVolume", only: &["Size"], values: &[VOLUMES] },
    ChangeOperation {
        effect: Effect::Detach,
        operation: "DetachVolume",
        only: &[],
        values: &[("InstanceId", INSTANCES), VOLUMES],
    },
    ChangeOperation { effect: Effect::Delete, operation: "DeleteVolume", only: &[], values: &[VOLUMES] },
];

/// The endpoint of EC2.
pub(crate) fn ec2() -> Endpoint {
    let endpoint = endpoint(EC2, "Amazon EC2", "https://ec2.eu-central-1.amazonaws.com");
    changes(reads(endpoint, EC2, &READS), EC2, &CHANGES)
}
