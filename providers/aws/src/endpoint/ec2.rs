//! Requests to EC2.

use aerostat_sdk::{Effect, Endpoint};
use aws_api::{ChangeOperation, INSTANCES, changes, endpoint, reads};

use super::rules::{GROUPS, Own};
use crate::api::EC2;
use crate::settings::ClusterMarks;
use crate::tags::{CLUSTER_UID, SERVICE_NAME, SERVICE_UID};

const READS: [&str; 9] = [
    "DescribeAvailabilityZones",
    "DescribeInstanceTopology",
    "DescribeInstances",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeVolumes",
    "DescribeVpcs",
];

/// The endpoint of EC2.
pub(crate) fn ec2(own: &Own) -> Endpoint {
    let endpoint = endpoint(EC2, "Amazon EC2", "https://ec2.eu-central-1.amazonaws.com");
    let endpoint = reads(endpoint, EC2, &READS);
    let marks = [&*own.tag, ClusterMarks::LEGACY_TAG, SERVICE_NAME, CLUSTER_UID, SERVICE_UID];
    let (table, vpc) = ([&*own.table], [&*own.vpc]);
    let route = [("InstanceId", INSTANCES), ("RouteTableId", &table)];
    let operations = [
        // Networks: some ports, never all protocols.
        ChangeOperation {
            effect: Effect::Update,
            operation: "AuthorizeSecurityGroupIngress",
            only: &[
                "IpPermissions.*.FromPort",
                "IpPermissions.*.IpRanges.*.CidrIp",
                "IpPermissions.*.IpRanges.*.Description",
                "IpPermissions.*.Ipv6Ranges.*.CidrIpv6",
                "IpPermissions.*.Ipv6Ranges.*.Description",
                "IpPermissions.*.ToPort",
            ],
            values: &[("GroupId", GROUPS), ("IpPermissions.*.IpProtocol", &["tcp", "udp", "icmp"])],
        },
        // Members of a group: all that comes from them.
        ChangeOperation {
            effect: Effect::Update,
            operation: "AuthorizeSecurityGroupIngress",
            only: &["IpPermissions.*.FromPort", "IpPermissions.*.Groups.*.Description", "IpPermissions.*.ToPort"],
            values: &[
                ("GroupId", GROUPS),
                ("IpPermissions.*.Groups.*.GroupId", GROUPS),
                ("IpPermissions.*.IpProtocol", &["tcp", "udp", "-1"]),
            ],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "CreateRoute",
            only: &["DestinationCidrBlock"],
            values: &route,
        },
        ChangeOperation {
            effect: Effect::Write,
            operation: "CreateSecurityGroup",
            only: &["GroupDescription", "TagSpecification.1.Tag.*.Key", "TagSpecification.1.Tag.*.Value"],
            values: &[
                ("GroupName", &["k8s-*"]),
                ("TagSpecification.1.ResourceType", &["security-group"]),
                ("VpcId", &vpc),
            ],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "CreateTags",
            only: &["Tag.*.Value"],
            values: &[("ResourceId.1", GROUPS), ("Tag.*.Key", &marks)],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "ModifyInstanceAttribute",
            only: &[],
            values: &[("InstanceId", INSTANCES), ("SourceDestCheck.Value", &["false"])],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "ReplaceRoute",
            only: &["DestinationCidrBlock"],
            values: &route,
        },
        ChangeOperation {
            effect: Effect::Detach,
            operation: "DeleteRoute",
            only: &["DestinationCidrBlock"],
            values: &[("RouteTableId", &table)],
        },
        ChangeOperation {
            effect: Effect::Delete,
            operation: "DeleteSecurityGroup",
            only: &[],
            values: &[("GroupId", GROUPS)],
        },
        ChangeOperation {
            effect: Effect::Detach,
            operation: "RevokeSecurityGroupIngress",
            only: &["IpPermissions.*"],
            values: &[("GroupId", GROUPS)],
        },
    ];
    changes(endpoint, EC2, &operations)
}
