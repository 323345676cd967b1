//! The endpoints: what their requests do, and which actions of RAM they need.

use aerostat_sdk::{Effect, Endpoint, OperationPlace};

use crate::api::{AcsProduct, ECS, SLB, VPC};

/// The region that stands for any before one is configured.
const EXAMPLE: &str = "cn-hangzhou";

/// Machines, their network interfaces, and disks.
pub(crate) fn ecs(region: Option<&str>) -> Endpoint {
    const FORWARD: &str = "ModifyNetworkInterfaceAttribute";
    let reads = ["DescribeInstances", "DescribeNetworkInterfaces", "DescribeDisks"];
    reading(endpoint(ECS, "machines, their network interfaces, and disks", region), ECS, &reads)
        .allow_operations(Effect::Update, [FORWARD], [&*ECS.ram_action(FORWARD)])
        .only_values("NetworkInterfaceId", ["eni-*"])
        .only_values("SourceDestCheck", ["false"])
}

/// Classic Load Balancers.
pub(crate) fn slb(region: Option<&str>) -> Endpoint {
    const BALANCER: (&str, &[&str]) = ("LoadBalancerId", &["lb-*"]);
    const GROUP: (&str, &[&str]) = ("VServerGroupId", &["rsp-*"]);
    const CHECKS: [&str; 4] = ["HealthCheck*", "healthCheckInterval", "HealthyThreshold", "UnhealthyThreshold"];
    const LISTENER: [&str; 21] = [
        "AclId",
        "AclStatus",
        "AclType",
        "Bandwidth",
        "ConnectionDrain*",
        "CookieTimeout",
        "Description",
        "EnableHttp2",
        "EstablishedTimeout",
        "ForwardPort",
        "IdleTimeout",
        "ListenerForward",
        "ListenerPort",
        "PersistenceTimeout",
        "ProxyProtocolV2Enabled",
        "RequestTimeout",
        "Scheduler",
        "ServerCertificateId",
        "StickySession*",
        "TLSCipherPolicy",
        "XForwardedFor_*",
    ];
    let reads = [
        "DescribeLoadBalancers",
        "DescribeLoadBalancerAttribute",
        "DescribeLoadBalancerListeners",
        "DescribeVServerGroups",
        "DescribeVServerGroupAttribute",
    ];
    let creation = [
        "Address",
        "AddressIPVersion",
        "AddressType",
        "Bandwidth",
        "ClientToken",
        "DeleteProtection",
        "InstanceChargeType",
        "InternetChargeType",
        "LoadBalancerName",
        "LoadBalancerSpec",
        "MasterZoneId",
        "ModificationProtection*",
        "ResourceGroupId",
        "SlaveZoneId",
        "Tag.*.Key",
        "Tag.*.Value",
    ];
    let attributes = [
        "Bandwidth",
        "DeleteProtection",
        "InternetChargeType",
        "LoadBalancerName",
        "LoadBalancerSpec",
        "ModificationProtection*",
    ];
    let tags = ["Tag.*.Key", "Tag.*.Value"];
    let resource = [("ResourceId.1", &["lb-*"][..]), ("ResourceType", &["instance"])];
    let network = [("VSwitchId", &["vsw-*"][..]), ("VpcId", &["vpc-*"])];
    let listener: Vec<&str> = CHECKS.iter().chain(&LISTENER).copied().collect();
    let of_listener = [BALANCER, GROUP, ("VServerGroup", &["on"])];
    let rules: [SlbRule<'_>; 10] = [
        (Effect::Write, &["CreateLoadBalancer"], &creation, &network),
        (
            Effect::Update,
            &[
                "ModifyLoadBalancerInstanceSpec",
                "ModifyLoadBalancerInternetSpec",
                "SetLoadBalancerDeleteProtection",
                "SetLoadBalancerModificationProtection",
                "SetLoadBalancerName",
            ],
            &attributes,
            &[BALANCER],
        ),
        (Effect::Update, &["TagResources"], &tags, &resource),
        (Effect::Detach, &["UntagResources"], &["TagKey.*"], &resource),
        (
            Effect::Update,
            &[
                "CreateLoadBalancerHTTPListener",
                "CreateLoadBalancerHTTPSListener",
                "CreateLoadBalancerTCPListener",
                "CreateLoadBalancerUDPListener",
                "SetLoadBalancerHTTPListenerAttribute",
                "SetLoadBalancerHTTPSListenerAttribute",
                "SetLoadBalancerTCPListenerAttribute",
                "SetLoadBalancerUDPListenerAttribute",
            ],
            &listener,
            &of_listener,
        ),
        (Effect::Update, &["StartLoadBalancerListener"], &["ListenerPort", "ListenerProtocol"], &[BALANCER]),
        (Effect::Update, &["CreateVServerGroup"], &["BackendServers"], &[BALANCER, ("VServerGroupName", &["k8s/*"])]),
        (Effect::Update, &["AddVServerGroupBackendServers", "SetVServerGroupAttribute"], &["BackendServers"], &[GROUP]),
        (
            Effect::Detach,
            &["DeleteLoadBalancerListener", "DeleteVServerGroup", "RemoveVServerGroupBackendServers"],
            &["BackendServers", "ListenerPort", "ListenerProtocol"],
            &[BALANCER, GROUP],
        ),
        (Effect::Delete, &["DeleteLoadBalancer"], &[], &[BALANCER]),
    ];
    let start = reading(endpoint(SLB, "Classic Load Balancers", region), SLB, &reads);
    rules.into_iter().fold(start, |endpoint, (effect, operations, names, values)| {
        let actions: Vec<_> = operations.iter().map(|it| SLB.ram_action(it)).collect();
        let endpoint =
            endpoint.allow_operations(effect, operations.iter().copied(), actions.iter().map(String::as_str));
        let endpoint = endpoint.only(names.iter().copied());
        values.iter().fold(endpoint, |endpoint, (name, patterns)| endpoint.only_values(name, patterns.iter().copied()))
    })
}

/// What operations do, their names, the names in them, and those with patterns of values.
type SlbRule<'a> = (Effect, &'a [&'a str], &'a [&'a str], &'a [(&'a str, &'a [&'a str])]);

/// The network of the cluster, and its route table.
pub(crate) fn vpc(region: Option<&str>, table: Option<&str>) -> Endpoint {
    let reads = ["DescribeVpcAttribute", "DescribeRouteTableList", "DescribeRouteEntryList"];
    let entry = |name: &str| format!("RouteEntries.*.{name}");
    let tables = [table.unwrap_or("vtb-*")];
    let fields = ["DstCidrBlock", "NextHop", "NextHopType", "Description"].map(entry);
    let endpoint = reading(endpoint(VPC, "the network of the cluster, and its route table", region), VPC, &reads);
    let (create, delete) = ("CreateRouteEntries", "DeleteRouteEntries");
    endpoint
        .allow_operations(Effect::Update, [create], [&*VPC.ram_action(create)])
        .only(fields.iter().map(String::as_str))
        .only_values(&entry("RouteTableId"), tables)
        .allow_operations(Effect::Detach, [delete], [&*VPC.ram_action(delete)])
        .only([&*entry("RouteEntryId")])
        .only_values(&entry("RouteTableId"), tables)
}

fn endpoint(product: AcsProduct, purpose: &str, region: Option<&str>) -> Endpoint {
    let region = region.unwrap_or(EXAMPLE);
    let example = format!("https://{}.{region}.aliyuncs.com", product.endpoint);
    let endpoint = Endpoint::new(product.endpoint, purpose, example).parameter(AcsProduct::REGION, region);
    Endpoint { operation: Some(OperationPlace::Header(AcsProduct::ACTION.to_owned())), ..endpoint }
}

/// Allows operations that read, with whatever they carry.
fn reading(endpoint: Endpoint, product: AcsProduct, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| product.ram_action(it)).collect();
    endpoint.allow_operations(Effect::Read, operations.iter().copied(), actions.iter().map(String::as_str))
}
