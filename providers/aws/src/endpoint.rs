//! What requests of the provider do, and which actions of IAM they need.

use aerostat_sdk::{Effect, Endpoint};

use crate::api::{Api, EC2};

const READS: [&str; 7] = [
    "DescribeAvailabilityZones",
    "DescribeInstanceTopology",
    "DescribeInstances",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeVolumes",
    "DescribeVpcs",
];

const WRITES: [&str; 3] = ["CreateRoute", "ModifyInstanceAttribute", "ReplaceRoute"];

const DELETIONS: [&str; 1] = ["DeleteRoute"];

/// The endpoint of EC2.
pub(crate) fn ec2() -> Endpoint {
    let rules = [(Effect::Read, &READS[..]), (Effect::Write, &WRITES), (Effect::Delete, &DELETIONS)];
    let endpoint = endpoint(EC2, "Amazon EC2", "https://ec2.eu-central-1.amazonaws.com");
    rules.into_iter().fold(endpoint, |it, (effect, operations)| allow(it, EC2, effect, operations))
}

fn endpoint(api: Api, purpose: &str, example: &str) -> Endpoint {
    Endpoint::new(api.endpoint, purpose, example).operation_parameter("Action").parameter("Version", api.version)
}

/// Allows operations. The action that IAM asks for has the operation's name.
fn allow(endpoint: Endpoint, api: Api, effect: Effect, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| format!("{}:{it}", api.service)).collect();
    endpoint.allow_operations(effect, operations.iter().copied(), actions.iter().map(String::as_str))
}
