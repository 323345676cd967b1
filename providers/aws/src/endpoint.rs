//! What requests of the provider do, and which actions of IAM they need.

use aerostat_sdk::{Effect, Endpoint};

use crate::api::{Api, EC2, ELB};

const READS: [&str; 8] = [
    "DescribeAvailabilityZones",
    "DescribeInstanceTopology",
    "DescribeInstances",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
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

fn endpoint(api: Api, purpose: &str, example: &str) -> Endpoint {
    Endpoint::new(api.endpoint, purpose, example).operation_parameter("Action").parameter("Version", api.version)
}

/// Allows operations. The action that IAM asks for has the operation's name.
fn allow(endpoint: Endpoint, api: Api, effect: Effect, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| format!("{}:{it}", api.service)).collect();
    endpoint.allow_operations(effect, operations.iter().copied(), actions.iter().map(String::as_str))
}
