//! What requests of the provider do, and which actions of IAM they need.

use aerostat_sdk::{Effect, Endpoint};

use crate::api::{Api, EC2, ELB, ELBV2};

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

const WRITES: [&str; 6] = [
    "AuthorizeSecurityGroupIngress",
    "CreateRoute",
    "CreateSecurityGroup",
    "CreateTags",
    "ModifyInstanceAttribute",
    "ReplaceRoute",
];

const DELETIONS: [&str; 3] = ["DeleteRoute", "DeleteSecurityGroup", "RevokeSecurityGroupIngress"];

const ELB_READS: [&str; 3] = ["DescribeLoadBalancerAttributes", "DescribeLoadBalancers", "DescribeTags"];

const ELB_WRITES: [&str; 13] = [
    "AddTags",
    "ApplySecurityGroupsToLoadBalancer",
    "AttachLoadBalancerToSubnets",
    "ConfigureHealthCheck",
    "CreateLoadBalancer",
    "CreateLoadBalancerListeners",
    "CreateLoadBalancerPolicy",
    "DetachLoadBalancerFromSubnets",
    "ModifyLoadBalancerAttributes",
    "RegisterInstancesWithLoadBalancer",
    "SetLoadBalancerListenerSSLCertificate",
    "SetLoadBalancerPoliciesForBackendServer",
    "SetLoadBalancerPoliciesOfListener",
];

const ELB_DELETIONS: [&str; 3] =
    ["DeleteLoadBalancer", "DeleteLoadBalancerListeners", "DeregisterInstancesFromLoadBalancer"];

const ELBV2_READS: [&str; 7] = [
    "DescribeListeners",
    "DescribeLoadBalancerAttributes",
    "DescribeLoadBalancers",
    "DescribeTags",
    "DescribeTargetGroupAttributes",
    "DescribeTargetGroups",
    "DescribeTargetHealth",
];

const ELBV2_WRITES: [&str; 11] = [
    "AddTags",
    "CreateListener",
    "CreateLoadBalancer",
    "CreateTargetGroup",
    "ModifyListener",
    "ModifyLoadBalancerAttributes",
    "ModifyTargetGroup",
    "ModifyTargetGroupAttributes",
    "RegisterTargets",
    "SetIpAddressType",
    "SetSecurityGroups",
];

const ELBV2_DELETIONS: [&str; 4] = ["DeleteListener", "DeleteLoadBalancer", "DeleteTargetGroup", "DeregisterTargets"];

/// The endpoint of EC2.
pub(crate) fn ec2() -> Endpoint {
    let rules = [(Effect::Read, &READS[..]), (Effect::Write, &WRITES), (Effect::Delete, &DELETIONS)];
    let endpoint = endpoint(EC2, "Amazon EC2", "https://ec2.eu-central-1.amazonaws.com");
    rules.into_iter().fold(endpoint, |it, (effect, operations)| allow(it, EC2, effect, operations))
}

/// The endpoint of Classic Load Balancers.
pub(crate) fn elb() -> Endpoint {
    let rules = [(Effect::Read, &ELB_READS[..]), (Effect::Write, &ELB_WRITES), (Effect::Delete, &ELB_DELETIONS)];
    let purpose = "Elastic Load Balancing, for Classic Load Balancers";
    let endpoint = endpoint(ELB, purpose, "https://elasticloadbalancing.eu-central-1.amazonaws.com");
    rules.into_iter().fold(endpoint, |it, (effect, operations)| allow(it, ELB, effect, operations))
}

/// The endpoint of Network Load Balancers: the same host, in another version.
pub(crate) fn elbv2() -> Endpoint {
    let rules = [(Effect::Read, &ELBV2_READS[..]), (Effect::Write, &ELBV2_WRITES), (Effect::Delete, &ELBV2_DELETIONS)];
    let purpose = "Elastic Load Balancing, for Network Load Balancers";
    let endpoint = endpoint(ELBV2, purpose, "https://elasticloadbalancing.eu-central-1.amazonaws.com");
    rules.into_iter().fold(endpoint, |it, (effect, operations)| allow(it, ELBV2, effect, operations))
}

fn endpoint(api: Api, purpose: &str, example: &str) -> Endpoint {
    Endpoint::new(api.endpoint, purpose, example).operation_parameter("Action").parameter("Version", api.version)
}

/// Allows operations. The action that IAM asks for has the operation's name.
fn allow(endpoint: Endpoint, api: Api, effect: Effect, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| format!("{}:{it}", api.service)).collect();
    endpoint.allow_operations(effect, operations.iter().copied(), actions.iter().map(String::as_str))
}
