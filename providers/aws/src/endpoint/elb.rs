//! Requests for Classic Load Balancers.

use aerostat_sdk::{Effect, Endpoint};
use aws_api::{ChangeOperation, INSTANCES, changes, endpoint, reads};

use super::rules::{GROUPS, SUBNETS};
use crate::api::ELB;

const READS: [&str; 3] = ["DescribeLoadBalancerAttributes", "DescribeLoadBalancers", "DescribeTags"];

const NAME: &str = "LoadBalancerName";

const CHANGES: [ChangeOperation<'_>; 16] = [
    ChangeOperation {
        effect: Effect::Update,
        operation: "AddTags",
        only: &["LoadBalancerNames.member.1", "Tags.member.*.Key", "Tags.member.*.Value"],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Detach,
        operation: "ApplySecurityGroupsToLoadBalancer",
        only: &[NAME],
        values: &[("SecurityGroups.member.*", GROUPS)],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "AttachLoadBalancerToSubnets",
        only: &[NAME],
        values: &[("Subnets.member.*", SUBNETS)],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "ConfigureHealthCheck",
        only: &["HealthCheck.*", NAME],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Write,
        operation: "CreateLoadBalancer",
        only: &["Listeners.member.*", NAME, "Tags.member.*.Key", "Tags.member.*.Value"],
        values: &[("Scheme", &["internal"]), ("SecurityGroups.member.*", GROUPS), ("Subnets.member.*", SUBNETS)],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "CreateLoadBalancerListeners",
        only: &["Listeners.member.*", NAME],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "CreateLoadBalancerPolicy",
        only: &[NAME, "PolicyAttributes.member.1.*", "PolicyName"],
        values: &[("PolicyTypeName", &["ProxyProtocolPolicyType", "SSLNegotiationPolicyType"])],
    },
    ChangeOperation {
        effect: Effect::Detach,
        operation: "DetachLoadBalancerFromSubnets",
        only: &[NAME],
        values: &[("Subnets.member.*", SUBNETS)],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "ModifyLoadBalancerAttributes",
        only: &["LoadBalancerAttributes.*", NAME],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "RegisterInstancesWithLoadBalancer",
        only: &[NAME],
        values: &[("Instances.member.*.InstanceId", INSTANCES)],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "SetLoadBalancerListenerSSLCertificate",
        only: &[NAME, "LoadBalancerPort", "SSLCertificateId"],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "SetLoadBalancerPoliciesForBackendServer",
        only: &["InstancePort", NAME, "PolicyNames", "PolicyNames.member.*"],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Update,
        operation: "SetLoadBalancerPoliciesOfListener",
        only: &[NAME, "LoadBalancerPort", "PolicyNames", "PolicyNames.member.*"],
        values: &[],
    },
    ChangeOperation { effect: Effect::Delete, operation: "DeleteLoadBalancer", only: &[NAME], values: &[] },
    ChangeOperation {
        effect: Effect::Detach,
        operation: "DeleteLoadBalancerListeners",
        only: &[NAME, "LoadBalancerPorts.member.*"],
        values: &[],
    },
    ChangeOperation {
        effect: Effect::Detach,
        operation: "DeregisterInstancesFromLoadBalancer",
        only: &[NAME],
        values: &[("Instances.member.*.InstanceId", INSTANCES)],
    },
];

/// The endpoint of Classic Load Balancers.
pub(crate) fn elb() -> Endpoint {
    let purpose = "Elastic Load Balancing, for Classic Load Balancers";
    let endpoint = endpoint(ELB, purpose, "https://elasticloadbalancing.eu-central-1.amazonaws.com");
    let endpoint = reads(endpoint, ELB, &READS);
    changes(endpoint, ELB, &CHANGES)
}
