//! Requests for Network Load Balancers: the same host as for Classic ones, in another version.

use aerostat_sdk::{Effect, Endpoint};
use aws_api::{ChangeOperation, INSTANCES, changes, endpoint, reads};

use super::rules::{GROUPS, Own, SUBNETS};
use crate::api::ELBV2;

const READS: [&str; 7] = [
    "DescribeListeners",
    "DescribeLoadBalancerAttributes",
    "DescribeLoadBalancers",
    "DescribeTags",
    "DescribeTargetGroupAttributes",
    "DescribeTargetGroups",
    "DescribeTargetHealth",
];

const BALANCERS: &[&str] = &["arn:*:loadbalancer/net/*"];
const LISTENERS: &[&str] = &["arn:*:listener/net/*"];
const TARGETS: &[&str] = &["arn:*:targetgroup/k8s-*"];
/// All of them.
const OWN: &[&str] = &["arn:*:loadbalancer/net/*", "arn:*:targetgroup/k8s-*"];

const BALANCER: (&str, &[&str]) = ("LoadBalancerArn", BALANCERS);
const LISTENER: (&str, &[&str]) = ("ListenerArn", LISTENERS);
const TARGET_GROUP: (&str, &[&str]) = ("TargetGroupArn", TARGETS);
/// A listener sends to a target group, and does nothing else.
const FORWARDS: [(&str, &[&str]); 2] =
    [("DefaultActions.member.1.TargetGroupArn", TARGETS), ("DefaultActions.member.1.Type", &["forward"])];
const REGISTERED: (&str, &[&str]) = ("Targets.member.*.Id", INSTANCES);

/// The endpoint of Network Load Balancers.
pub(crate) fn elbv2(own: &Own) -> Endpoint {
    let purpose = "Elastic Load Balancing, for Network Load Balancers";
    let endpoint = endpoint(ELBV2, purpose, "https://elasticloadbalancing.eu-central-1.amazonaws.com");
    let endpoint = reads(endpoint, ELBV2, &READS);
    let vpc = [&*own.vpc];
    let operations = [
        ChangeOperation {
            effect: Effect::Update,
            operation: "AddTags",
            only: &["Tags.member.*.Key", "Tags.member.*.Value"],
            values: &[("ResourceArns.member.*", OWN)],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "CreateListener",
            only: &[
                "Certificates.member.1.CertificateArn",
                "Port",
                "Protocol",
                "SslPolicy",
                "Tags.member.*.Key",
                "Tags.member.*.Value",
            ],
            values: &[FORWARDS[0], FORWARDS[1], BALANCER],
        },
        ChangeOperation {
            effect: Effect::Write,
            operation: "CreateLoadBalancer",
            only: &[
                "EnablePrefixForIpv6SourceNat",
                "IpAddressType",
                "Name",
                "SubnetMappings.member.*.PrivateIPv4Address",
                "Tags.member.*.Key",
                "Tags.member.*.Value",
            ],
            values: &[
                ("Scheme", &["internal"]),
                ("SecurityGroups.member.*", GROUPS),
                ("SubnetMappings.member.*.AllocationId", &["eipalloc-*"]),
                ("SubnetMappings.member.*.SubnetId", SUBNETS),
                ("Type", &["network"]),
            ],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "CreateTargetGroup",
            only: &[
                "HealthCheck*",
                "HealthyThresholdCount",
                "IpAddressType",
                "Port",
                "Protocol",
                "Tags.member.*.Key",
                "Tags.member.*.Value",
                "UnhealthyThresholdCount",
            ],
            values: &[("Name", &["k8s-*"]), ("TargetType", &["instance"]), ("VpcId", &vpc)],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "ModifyListener",
            only: &["Certificates.member.1.CertificateArn", "Protocol", "SslPolicy"],
            values: &[FORWARDS[0], FORWARDS[1], LISTENER],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "ModifyLoadBalancerAttributes",
            only: &["Attributes.member.*.Key", "Attributes.member.*.Value"],
            values: &[BALANCER],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "ModifyTargetGroup",
            only: &["HealthCheck*", "HealthyThresholdCount", "UnhealthyThresholdCount"],
            values: &[TARGET_GROUP],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "ModifyTargetGroupAttributes",
            only: &["Attributes.member.*.Key", "Attributes.member.*.Value"],
            values: &[TARGET_GROUP],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "RegisterTargets",
            only: &["Targets.member.*.Port"],
            values: &[TARGET_GROUP, REGISTERED],
        },
        ChangeOperation {
            effect: Effect::Update,
            operation: "SetIpAddressType",
            only: &["IpAddressType"],
            values: &[BALANCER],
        },
        ChangeOperation {
            effect: Effect::Detach,
            operation: "SetSecurityGroups",
            only: &[],
            values: &[BALANCER, ("SecurityGroups.member.*", GROUPS)],
        },
        ChangeOperation { effect: Effect::Detach, operation: "DeleteListener", only: &[], values: &[LISTENER] },
        ChangeOperation { effect: Effect::Delete, operation: "DeleteLoadBalancer", only: &[], values: &[BALANCER] },
        ChangeOperation { effect: Effect::Detach, operation: "DeleteTargetGroup", only: &[], values: &[TARGET_GROUP] },
        ChangeOperation {
            effect: Effect::Detach,
            operation: "DeregisterTargets",
            only: &["Targets.member.*.Port"],
            values: &[TARGET_GROUP, REGISTERED],
        },
    ];
    changes(endpoint, ELBV2, &operations)
}
