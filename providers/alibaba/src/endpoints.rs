//! The endpoints: what their requests do, and which actions of RAM they need.

use aerostat_sdk::{Effect, Endpoint, OperationPlace};

use crate::api::{AcsProduct, ECS, NLB, SLB, VPC};

/// The region that stands for any before one is configured.
const EXAMPLE: &str = "cn-hangzhou";

/// Machines, their network interfaces, disks, and security groups.
pub(crate) fn ecs(region: Option<&str>) -> Endpoint {
    const GROUP: (&str, &[&str]) = ("SecurityGroupId", &["sg-*"]);
    let reads = [
        "DescribeInstances",
        "DescribeNetworkInterfaces",
        "DescribeDisks",
        "DescribeSecurityGroups",
        "DescribeSecurityGroupAttribute",
    ];
    let creation = ["ClientToken", "Description", "Tag.*.Key", "Tag.*.Value"];
    let of_creation: [(&str, &[&str]); 3] =
        [("SecurityGroupName", &["k8s-nlb-*"]), ("SecurityGroupType", &["enterprise"]), ("VpcId", &["vpc-*"])];
    let interface: [(&str, &[&str]); 2] = [("NetworkInterfaceId", &["eni-*"]), ("SourceDestCheck", &["false"])];
    let rules: [AcsRule<'_>; 5] = [
        (Effect::Update, &["ModifyNetworkInterfaceAttribute"], &[], &interface),
        (Effect::Write, &["CreateSecurityGroup"], &creation, &of_creation),
        (Effect::Update, &["AuthorizeSecurityGroup"], &["Permissions.*"], &[GROUP]),
        (Effect::Detach, &["RevokeSecurityGroup"], &["Permissions.*"], &[GROUP]),
        (Effect::Delete, &["DeleteSecurityGroup"], &[], &[GROUP]),
    ];
    let purpose = "machines, their network interfaces, disks, and security groups";
    allowing(reading(endpoint(ECS, purpose, region), ECS, &reads), ECS, &rules)
}

/// Classic Load Balancers.
pub(crate) fn slb(region: Option<&str>) -> Endpoint {
    const BALANCER: (&str, &[&str]) = ("LoadBalancerId", &["lb-*"]);
    const GROUP: (&str, &[&str]) = ("VServerGroupId", &["rsp-*"]);
    const LIST: (&str, &[&str]) = ("AclId", &["acl-*"]);
    const DOMAIN: (&str, &[&str]) = ("DomainExtensionId", &["de-*"]);
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
        "DescribeAccessControlLists",
        "DescribeAccessControlListAttribute",
        "DescribeDomainExtensions",
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
    let with_cookie = [&listener[..], &["Cookie"]].concat();
    let rules: [AcsRule<'_>; 16] = [
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
                "CreateLoadBalancerTCPListener",
                "CreateLoadBalancerUDPListener",
                "SetLoadBalancerTCPListenerAttribute",
                "SetLoadBalancerUDPListenerAttribute",
            ],
            &listener,
            &of_listener,
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
            &with_cookie,
            &of_listener,
        ),
        (
            Effect::Update,
            &["CreateDomainExtension", "SetDomainExtensionAttribute"],
            &["Domain", "ListenerPort", "ServerCertificateId"],
            &[BALANCER, DOMAIN],
        ),
        (Effect::Update, &["StartLoadBalancerListener"], &["ListenerPort", "ListenerProtocol"], &[BALANCER]),
        (Effect::Update, &["CreateVServerGroup"], &["BackendServers"], &[BALANCER, ("VServerGroupName", &["k8s/*"])]),
        (Effect::Update, &["AddVServerGroupBackendServers", "SetVServerGroupAttribute"], &["BackendServers"], &[GROUP]),
        (
            Effect::Detach,
            &[
                "DeleteDomainExtension",
                "DeleteLoadBalancerListener",
                "DeleteVServerGroup",
                "RemoveVServerGroupBackendServers",
            ],
            &["BackendServers", "ListenerPort", "ListenerProtocol"],
            &[BALANCER, GROUP, DOMAIN],
        ),
        (Effect::Delete, &["DeleteLoadBalancer"], &[], &[BALANCER]),
        (
            Effect::Write,
            &["CreateAccessControlList"],
            &["AddressIPVersion", "Tag.*.Key", "Tag.*.Value"],
            &[("AclName", &["k8s-*"])],
        ),
        (Effect::Update, &["AddAccessControlListEntry"], &["AclEntrys"], &[LIST]),
        (Effect::Detach, &["RemoveAccessControlListEntry"], &["AclEntrys"], &[LIST]),
        (Effect::Delete, &["DeleteAccessControlList"], &[], &[LIST]),
    ];
    allowing(reading(endpoint(SLB, "Classic Load Balancers", region), SLB, &reads), SLB, &rules)
}

/// Network Load Balancers.
pub(crate) fn nlb(region: Option<&str>) -> Endpoint {
    const BALANCER: (&str, &[&str]) = ("LoadBalancerId", &["nlb-*"]);
    const GROUP: (&str, &[&str]) = ("ServerGroupId", &["sgp-*"]);
    const LISTENER: (&str, &[&str]) = ("ListenerId", &["lsn-*"]);
    const LISTENING: [&str; 14] = [
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
    let reads = [
        "GetLoadBalancerAttribute",
        "ListAsynJobs",
        "ListListenerCertificates",
        "ListListeners",
        "ListLoadBalancers",
        "ListServerGroups",
        "ListServerGroupServers",
    ];
    let creation = [
        "AddressIpVersion",
        "AddressType",
        "ClientToken",
        "DeletionProtectionConfig.Enabled",
        "LoadBalancerName",
        "ModificationProtectionConfig.*",
        "ResourceGroupId",
        "Tag.*.Key",
        "Tag.*.Value",
        "ZoneMappings.*.AllocationId",
        "ZoneMappings.*.PrivateIPv4Address",
        "ZoneMappings.*.ZoneId",
    ];
    let switches: [(&str, &[&str]); 2] = [("VpcId", &["vpc-*"]), ("ZoneMappings.*.VSwitchId", &["vsw-*"])];
    let attributes = [
        "AddressType",
        "CrossZoneEnabled",
        "DeletionProtectionEnabled",
        "LoadBalancerName",
        "ModificationProtectionReason",
        "ModificationProtectionStatus",
    ];
    let sending = [
        "AnyPortEnabled",
        "ClientToken",
        "ConnectionDrain*",
        "HealthCheckConfig.*",
        "PreserveClientIpEnabled",
        "Protocol",
        "Scheduler",
        "Tag.*.Key",
        "Tag.*.Value",
    ];
    let group_name: [(&str, &[&str]); 2] = [("ServerGroupName", &["k8s.*"]), switches[0]];
    let servers = ["Servers.*.Description", "Servers.*.Port", "Servers.*.ServerId", "Servers.*.Weight"];
    let of_servers: [(&str, &[&str]); 2] = [GROUP, ("Servers.*.ServerType", &["Ecs"])];
    let membership = [BALANCER, ("SecurityGroupIds.*", &["sg-*"][..]), ("BandwidthPackageId", &["cbwp-*"])];
    let tagged = [("ResourceId.1", &["nlb-*"][..]), ("ResourceType", &["loadbalancer"])];
    let rules: [AcsRule<'_>; 12] = [
        (Effect::Write, &["CreateLoadBalancer"], &creation, &switches),
        (
            Effect::Update,
            &[
                "DisableLoadBalancerIpv6Internet",
                "EnableLoadBalancerIpv6Internet",
                "UpdateLoadBalancerAddressTypeConfig",
                "UpdateLoadBalancerAttribute",
                "UpdateLoadBalancerProtection",
            ],
            &attributes,
            &[BALANCER],
        ),
        (
            Effect::Update,
            &["AttachCommonBandwidthPackageToLoadBalancer", "LoadBalancerJoinSecurityGroup"],
            &[],
            &membership,
        ),
        (
            Effect::Detach,
            &["DetachCommonBandwidthPackageFromLoadBalancer", "LoadBalancerLeaveSecurityGroup"],
            &[],
            &membership,
        ),
        (Effect::Update, &["TagResources"], &["Tag.*.Key", "Tag.*.Value"], &tagged),
        (Effect::Detach, &["UntagResources"], &["TagKey.*"], &tagged),
        (Effect::Update, &["CreateListener"], &LISTENING, &[BALANCER, GROUP]),
        (
            Effect::Update,
            &["AssociateAdditionalCertificatesWithListener", "StartListener", "UpdateListenerAttribute"],
            &[&LISTENING[..], &["AdditionalCertificateIds.*"]].concat(),
            &[LISTENER, GROUP],
        ),
        (Effect::Write, &["CreateServerGroup"], &sending, &group_name),
        (
            Effect::Update,
            &["AddServersToServerGroup", "UpdateServerGroupAttribute", "UpdateServerGroupServersAttribute"],
            &[&sending[2..7], &servers].concat(),
            &of_servers,
        ),
        (
            Effect::Detach,
            &["DeleteListener", "DisassociateAdditionalCertificatesWithListener", "RemoveServersFromServerGroup"],
            &[&servers[..], &["AdditionalCertificateIds.*"]].concat(),
            &[&of_servers[..], &[LISTENER]].concat(),
        ),
        (Effect::Delete, &["DeleteLoadBalancer", "DeleteServerGroup"], &[], &[BALANCER, GROUP]),
    ];
    allowing(reading(endpoint(NLB, "Network Load Balancers", region), NLB, &reads), NLB, &rules)
}

/// Allows operations that write, rule by rule.
fn allowing(start: Endpoint, product: AcsProduct, rules: &[AcsRule<'_>]) -> Endpoint {
    rules.iter().fold(start, |endpoint, (effect, operations, names, values)| {
        let actions: Vec<_> = operations.iter().map(|it| product.ram_action(it)).collect();
        let endpoint =
            endpoint.allow_operations(*effect, operations.iter().copied(), actions.iter().map(String::as_str));
        let endpoint = if names.is_empty() { endpoint } else { endpoint.only(names.iter().copied()) };
        values.iter().fold(endpoint, |endpoint, (name, patterns)| endpoint.only_values(name, patterns.iter().copied()))
    })
}

/// A rule: the effect of operations, their names, the names in them, and those with patterns of values.
type AcsRule<'a> = (Effect, &'a [&'a str], &'a [&'a str], &'a [(&'a str, &'a [&'a str])]);

/// The network of the cluster, and its route table.
pub(crate) fn vpc(region: Option<&str>, table: Option<&str>) -> Endpoint {
    let reads = ["DescribeVpcAttribute", "DescribeRouteTableList", "DescribeRouteEntryList", "DescribeEipAddresses"];
    let entry = |name: &str| format!("RouteEntries.*.{name}");
    let tables = [table.unwrap_or("vtb-*")];
    let fields = ["DstCidrBlock", "NextHop", "NextHopType", "Description"].map(entry);
    let endpoint = reading(
        endpoint(VPC, "the network of the cluster, its route table, and elastic addresses", region),
        VPC,
        &reads,
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
