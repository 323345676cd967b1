//! The endpoints: what their requests do, and which actions of RAM they need.

use aerostat_sdk::{Effect, Endpoint, OperationPlace};

use crate::api::{AcsProduct, ECS, NLB, SLB, VPC};

/// The region that stands for any before one is configured.
const EXAMPLE: &str = "cn-hangzhou";

/// Machines, their network interfaces, disks, and security groups.
pub(crate) fn ecs(region: Option<&str>) -> Endpoint {
    const GROUP: AcsValue = ("SecurityGroupId", &["sg-*"]);
    const READS: &[&str] = &[
        "DescribeInstances",
        "DescribeNetworkInterfaces",
        "DescribeDisks",
        "DescribeSecurityGroups",
        "DescribeSecurityGroupAttribute",
    ];
    const CREATION: &[&str] = &["ClientToken", "Description", "Tag.*.Key", "Tag.*.Value"];
    const OF_CREATION: &[AcsValue] =
        &[("SecurityGroupName", &["k8s-nlb-*"]), ("SecurityGroupType", &["enterprise"]), ("VpcId", &["vpc-*"])];
    const INTERFACE: &[AcsValue] = &[("NetworkInterfaceId", &["eni-*"]), ("SourceDestCheck", &["false"])];
    const RULES: [AcsRule; 5] = [
        (Effect::Update, &["ModifyNetworkInterfaceAttribute"], &[], INTERFACE),
        (Effect::Write, &["CreateSecurityGroup"], &[CREATION], OF_CREATION),
        (Effect::Update, &["AuthorizeSecurityGroup"], &[&["Permissions.*"]], &[GROUP]),
        (Effect::Detach, &["RevokeSecurityGroup"], &[&["Permissions.*"]], &[GROUP]),
        (Effect::Delete, &["DeleteSecurityGroup"], &[], &[GROUP]),
    ];
    let purpose = "machines, their network interfaces, disks, and security groups";
    allowing(reading(endpoint(ECS, purpose, region), ECS, READS), ECS, &RULES)
}

/// Classic Load Balancers.
pub(crate) fn slb(region: Option<&str>) -> Endpoint {
    const BALANCER: AcsValue = ("LoadBalancerId", &["lb-*"]);
    const GROUP: AcsValue = ("VServerGroupId", &["rsp-*"]);
    const LIST: AcsValue = ("AclId", &["acl-*"]);
    const DOMAIN: AcsValue = ("DomainExtensionId", &["de-*"]);
    const CHECKS: &[&str] = &["HealthCheck*", "healthCheckInterval", "HealthyThreshold", "UnhealthyThreshold"];
    const LISTENING: &[&str] = &[
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
    const READS: &[&str] = &[
        "DescribeLoadBalancers",
        "DescribeLoadBalancerAttribute",
        "DescribeLoadBalancerListeners",
        "DescribeVServerGroups",
        "DescribeVServerGroupAttribute",
        "DescribeAccessControlLists",
        "DescribeAccessControlListAttribute",
        "DescribeDomainExtensions",
    ];
    const CREATION: &[&str] = &[
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
    const ATTRIBUTES: &[&str] = &[
        "Bandwidth",
        "DeleteProtection",
        "InternetChargeType",
        "LoadBalancerName",
        "LoadBalancerSpec",
        "ModificationProtection*",
    ];
    const TAGS: &[&str] = &["Tag.*.Key", "Tag.*.Value"];
    const RESOURCE: &[AcsValue] = &[("ResourceId.1", &["lb-*"]), ("ResourceType", &["instance"])];
    const NETWORK: &[AcsValue] = &[("VSwitchId", &["vsw-*"]), ("VpcId", &["vpc-*"])];
    const OF_LISTENER: &[AcsValue] = &[BALANCER, GROUP, ("VServerGroup", &["on"])];
    const RULES: [AcsRule; 16] = [
        (Effect::Write, &["CreateLoadBalancer"], &[CREATION], NETWORK),
        (
            Effect::Update,
            &[
                "ModifyLoadBalancerInstanceSpec",
                "ModifyLoadBalancerInternetSpec",
                "SetLoadBalancerDeleteProtection",
                "SetLoadBalancerModificationProtection",
                "SetLoadBalancerName",
            ],
            &[ATTRIBUTES],
            &[BALANCER],
        ),
        (Effect::Update, &["TagResources"], &[TAGS], RESOURCE),
        (Effect::Detach, &["UntagResources"], &[&["TagKey.*"]], RESOURCE),
        (
            Effect::Update,
            &[
                "CreateLoadBalancerTCPListener",
                "CreateLoadBalancerUDPListener",
                "SetLoadBalancerTCPListenerAttribute",
                "SetLoadBalancerUDPListenerAttribute",
            ],
            &[CHECKS, LISTENING],
            OF_LISTENER,
        ),
        // The host refuses the name Cookie everywhere but here.
        (
            Effect::Update,
            &[
                "CreateLoadBalancerHTTPListener",
                "CreateLoadBalancerHTTPSListener",
                "SetLoadBalancerHTTPListenerAttribute",
                "SetLoadBalancerHTTPSListenerAttribute",
            ],
            &[CHECKS, LISTENING, &["Cookie"]],
            OF_LISTENER,
        ),
        (
            Effect::Update,
            &["CreateDomainExtension", "SetDomainExtensionAttribute"],
            &[&["Domain", "ListenerPort", "ServerCertificateId"]],
            &[BALANCER, DOMAIN],
        ),
        (Effect::Update, &["StartLoadBalancerListener"], &[&["ListenerPort", "ListenerProtocol"]], &[BALANCER]),
        (
            Effect::Update,
            &["CreateVServerGroup"],
            &[&["BackendServers"]],
            &[BALANCER, ("VServerGroupName", &["k8s/*"])],
        ),
        (
            Effect::Update,
            &["AddVServerGroupBackendServers", "SetVServerGroupAttribute"],
            &[&["BackendServers"]],
            &[GROUP],
        ),
        (
            Effect::Detach,
            &[
                "DeleteDomainExtension",
                "DeleteLoadBalancerListener",
                "DeleteVServerGroup",
                "RemoveVServerGroupBackendServers",
            ],
            &[&["BackendServers", "ListenerPort", "ListenerProtocol"]],
            &[BALANCER, GROUP, DOMAIN],
        ),
        (Effect::Delete, &["DeleteLoadBalancer"], &[], &[BALANCER]),
        (Effect::Write, &["CreateAccessControlList"], &[&["AddressIPVersion"], TAGS], &[("AclName", &["k8s-*"])]),
        (Effect::Update, &["AddAccessControlListEntry"], &[&["AclEntrys"]], &[LIST]),
        (Effect::Detach, &["RemoveAccessControlListEntry"], &[&["AclEntrys"]], &[LIST]),
        (Effect::Delete, &["DeleteAccessControlList"], &[], &[LIST]),
    ];
    allowing(reading(endpoint(SLB, "Classic Load Balancers", region), SLB, READS), SLB, &RULES)
}

/// Network Load Balancers.
pub(crate) fn nlb(region: Option<&str>) -> Endpoint {
    const BALANCER: AcsValue = ("LoadBalancerId", &["nlb-*"]);
    const GROUP: AcsValue = ("ServerGroupId", &["sgp-*"]);
    const LISTENER: AcsValue = ("ListenerId", &["lsn-*"]);
    const LISTENING: &[&str] = &[
        "AlpnEnabled",
        "AlpnPolicy",
        "CaCertificateIds.*",
        "CaEnabled",
        "CertificateIds.*",
        "ClientToken",
        "Cps",
        "IdleTimeout",
        "ListenerDescription",
        "ListenerPort",
        "ListenerProtocol",
        "ProxyProtocolEnabled",
        "ProxyProtocolV2Config",
        "SecurityPolicyId",
    ];
    const READS: &[&str] = &[
        "GetLoadBalancerAttribute",
        "ListAsynJobs",
        "ListListenerCertificates",
        "ListListeners",
        "ListLoadBalancers",
        "ListServerGroups",
        "ListServerGroupServers",
    ];
    const CREATION: &[&str] = &[
        "AddressIpVersion",
        "AddressType",
        "ClientToken",
        "DeletionProtectionConfig.Enabled",
        "LoadBalancerName",
        "ModificationProtectionConfig.*",
        "ResourceGroupId",
        "Tag.*.Key",
        "Tag.*.Value",
    ];
    const ZONES: &[&str] =
        &["ZoneMappings.*.AllocationId", "ZoneMappings.*.PrivateIPv4Address", "ZoneMappings.*.ZoneId"];
    const SWITCH: AcsValue = ("ZoneMappings.*.VSwitchId", &["vsw-*"]);
    const NETWORK: &[AcsValue] = &[("VpcId", &["vpc-*"]), SWITCH];
    const ATTRIBUTES: &[&str] = &[
        "AddressType",
        "CrossZoneEnabled",
        "DeletionProtectionEnabled",
        "LoadBalancerName",
        "ModificationProtectionReason",
        "ModificationProtectionStatus",
    ];
    const SENDING: &[&str] =
        &["ConnectionDrain*", "HealthCheckConfig.*", "PreserveClientIpEnabled", "Protocol", "Scheduler"];
    const TAGS: &[&str] = &["Tag.*.Key", "Tag.*.Value"];
    const GROUP_NAME: &[AcsValue] = &[("ServerGroupName", &["k8s.*"]), ("VpcId", &["vpc-*"])];
    const SERVERS: &[&str] = &["Servers.*.Description", "Servers.*.Port", "Servers.*.ServerId", "Servers.*.Weight"];
    const INSTANCES: AcsValue = ("Servers.*.ServerType", &["Ecs"]);
    const MEMBERSHIP: &[AcsValue] = &[BALANCER, ("SecurityGroupIds.*", &["sg-*"]), ("BandwidthPackageId", &["cbwp-*"])];
    const TAGGED: &[AcsValue] = &[("ResourceId.1", &["nlb-*"]), ("ResourceType", &["loadbalancer"])];
    const RULES: [AcsRule; 13] = [
        (Effect::Write, &["CreateLoadBalancer"], &[CREATION, ZONES], NETWORK),
        (Effect::Update, &["UpdateLoadBalancerZones"], &[ZONES], &[BALANCER, SWITCH]),
        (
            Effect::Update,
            &[
                "DisableLoadBalancerIpv6Internet",
                "EnableLoadBalancerIpv6Internet",
                "UpdateLoadBalancerAddressTypeConfig",
                "UpdateLoadBalancerAttribute",
                "UpdateLoadBalancerProtection",
            ],
            &[ATTRIBUTES],
            &[BALANCER],
        ),
        (
            Effect::Update,
            &["AttachCommonBandwidthPackageToLoadBalancer", "LoadBalancerJoinSecurityGroup"],
            &[],
            MEMBERSHIP,
        ),
        (
            Effect::Detach,
            &["DetachCommonBandwidthPackageFromLoadBalancer", "LoadBalancerLeaveSecurityGroup"],
            &[],
            MEMBERSHIP,
        ),
        (Effect::Update, &["TagResources"], &[TAGS], TAGGED),
        (Effect::Detach, &["UntagResources"], &[&["TagKey.*"]], TAGGED),
        (Effect::Update, &["CreateListener"], &[LISTENING], &[BALANCER, GROUP]),
        (
            Effect::Update,
            &["AssociateAdditionalCertificatesWithListener", "StartListener", "UpdateListenerAttribute"],
            &[LISTENING, &["AdditionalCertificateIds.*"]],
            &[LISTENER, GROUP],
        ),
        (Effect::Write, &["CreateServerGroup"], &[&["AnyPortEnabled", "ClientToken"], SENDING, TAGS], GROUP_NAME),
        (
            Effect::Update,
            &["AddServersToServerGroup", "UpdateServerGroupAttribute", "UpdateServerGroupServersAttribute"],
            &[SENDING, SERVERS],
            &[GROUP, INSTANCES],
        ),
        (
            Effect::Detach,
            &["DeleteListener", "DisassociateAdditionalCertificatesWithListener", "RemoveServersFromServerGroup"],
            &[SERVERS, &["AdditionalCertificateIds.*"]],
            &[GROUP, INSTANCES, LISTENER],
        ),
        (Effect::Delete, &["DeleteLoadBalancer", "DeleteServerGroup"], &[], &[BALANCER, GROUP]),
    ];
    allowing(reading(endpoint(NLB, "Network Load Balancers", region), NLB, READS), NLB, &RULES)
}

/// Allows operations that write, rule by rule.
fn allowing(start: Endpoint, product: AcsProduct, rules: &[AcsRule]) -> Endpoint {
    rules.iter().fold(start, |endpoint, (effect, operations, names, values)| {
        let actions: Vec<_> = operations.iter().map(|it| product.ram_action(it)).collect();
        let endpoint =
            endpoint.allow_operations(*effect, operations.iter().copied(), actions.iter().map(String::as_str));
        let endpoint =
            if names.is_empty() { endpoint } else { endpoint.only(names.iter().flat_map(|it| it.iter().copied())) };
        values.iter().fold(endpoint, |endpoint, (name, patterns)| endpoint.only_values(name, patterns.iter().copied()))
    })
}

/// A name in requests, and the patterns of its values.
type AcsValue = (&'static str, &'static [&'static str]);

/// A rule: the effect of operations, their names, lists of the names in them, and those with patterns of values. Constant, so that a module has it
/// as data.
type AcsRule = (Effect, &'static [&'static str], &'static [&'static [&'static str]], &'static [AcsValue]);

/// The network of the cluster, and its route table.
pub(crate) fn vpc(region: Option<&str>, table: Option<&str>) -> Endpoint {
    const READS: &[&str] =
        &["DescribeVpcAttribute", "DescribeRouteTableList", "DescribeRouteEntryList", "DescribeEipAddresses"];
    let entry = |name: &str| format!("RouteEntries.*.{name}");
    let tables = [table.unwrap_or("vtb-*")];
    let fields = ["DstCidrBlock", "NextHop", "NextHopType", "Description"].map(entry);
    let endpoint = reading(
        endpoint(VPC, "the network of the cluster, its route table, and elastic addresses", region),
        VPC,
        READS,
    );
    let (create, delete) = ("CreateRouteEntries", "DeleteRouteEntries");
    endpoint
        .allow_operations(Effect::Update, [create], [&*VPC.ram_action(create)])
        .only(fields.iter().map(String::as_str))
        .only_values(&entry("RouteTableId"), tables)
        .allow_operations(Effect::Detach, [delete], [&*VPC.ram_action(delete)])
        .only([&*entry("RouteEntryId"), &*entry("DstCidrBlock")])
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
