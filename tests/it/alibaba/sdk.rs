//! The vendor's own clients drive the simulator: the official SDKs of ECS, Classic and Network Load Balancers, and VPC, which sign each request.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::alibaba::{AccessKey, KEY_ID, KEY_SECRET, ROUTE_TABLE, Recorded, Simulator, VPC, machine_id};
use tests::published::{Served, alibaba};
use tests::sdk::VendorClient;

const CLIENT: VendorClient = VendorClient("alibaba");
const REGION: &str = "cn-hangzhou";

/// A simulator that clients reach by plain HTTP, with three machines, and its URL.
pub(crate) async fn served() -> (Simulator, String) {
    let Served { url, simulator } = alibaba::serve(0, Some(Duration::ZERO)).await.unwrap();
    simulator.with(|world| (1..=3).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    (simulator, url)
}

fn call(product: &str, action: &str, parameters: Value) -> Value {
    let mut parameters = parameters;
    parameters["RegionId"] = json!(REGION);
    json!({ "product": product, "action": action, "parameters": parameters })
}

/// The field of the answer to the call with this number.
fn of(call: usize, key: &str) -> Value {
    json!({ "of": call, "key": key })
}

/// Calls all of these, which have to go well but for those with these numbers and codes.
async fn called(url: &str, calls: &[Value], refused: &[(usize, &str)]) -> Vec<Value> {
    let done = CLIENT.call(&[url, KEY_ID, KEY_SECRET], calls).await;
    for (at, (call, became)) in calls.iter().zip(&done).enumerate() {
        let code = refused.iter().find(|(it, _)| *it == at).map(|(_, code)| *code);
        assert_eq!(became["error"]["code"].as_str(), code, "{at}: {call}: {became}");
    }
    assert_eq!(done.len(), calls.len());
    done
}

fn tags() -> Value {
    json!([{ "Key": "kubernetes.do.not.delete", "Value": "a1" }, { "Key": "ack.aliyun.com", "Value": "c1" }])
}

#[tokio::test]
async fn the_vendors_client_reads_what_a_cluster_stands_on() {
    let (cloud, url) = served().await;
    let disk = cloud.with(|world| world.add_disk("cn-hangzhou-g"));
    let ids = json!([machine_id(1), machine_id(3)]).to_string();
    let entries = |hop: u64| {
        json!([{
            "RouteTableId": ROUTE_TABLE, "DstCidrBlock": "10.244.1.0/24", "NextHop": machine_id(hop), "NextHopType": "Instance",
            "Description": "ours",
        }])
    };
    let calls = [
        call("ecs", "DescribeInstances", json!({ "VpcId": VPC, "MaxResults": 2 })),
        call("ecs", "DescribeInstances", json!({ "VpcId": VPC, "MaxResults": 2, "NextToken": of(0, "NextToken") })),
        call("ecs", "DescribeInstances", json!({ "InstanceIds": ids, "MaxResults": 100 })),
        call("ecs", "DescribeInstances", json!({ "DryRun": true })),
        call(
            "ecs",
            "DescribeNetworkInterfaces",
            json!({ "NetworkInterfaceId": ["eni-1", "eni-2"], "MaxResults": 100 }),
        ),
        call(
            "ecs",
            "ModifyNetworkInterfaceAttribute",
            json!({ "NetworkInterfaceId": "eni-1", "SourceDestCheck": false }),
        ),
        call("ecs", "DescribeDisks", json!({ "DiskIds": json!([disk]).to_string() })),
        call("vpc", "DescribeVpcAttribute", json!({ "VpcId": VPC })),
        call("vpc", "DescribeRouteTableList", json!({ "VpcId": VPC, "PageSize": 50 })),
        call("vpc", "DescribeVSwitches", json!({ "VpcId": VPC })),
        call("vpc", "CreateRouteEntries", json!({ "RouteEntries": entries(1) })),
        call("vpc", "CreateRouteEntries", json!({ "RouteEntries": entries(2) })),
        call(
            "vpc",
            "DescribeRouteEntryList",
            json!({ "RouteTableId": ROUTE_TABLE, "RouteEntryType": "Custom", "MaxResult": 500 }),
        ),
        call("vpc", "DescribeVpcAttribute", json!({ "VpcId": "vpc-of-nobody" })),
    ];
    let done = called(&url, &calls, &[(3, "DryRunOperation"), (13, "InvalidVpcId.NotFound")]).await;
    let names = |at: usize| -> Vec<&str> {
        let all = done[at]["ok"]["Instances"]["Instance"].as_array().unwrap();
        all.iter().map(|it| it["InstanceName"].as_str().unwrap()).collect()
    };
    assert_eq!((names(0), names(1), names(2)), (vec!["web-1", "web-2"], vec!["web-3"], vec!["web-1", "web-3"]));
    assert_eq!(done[4]["ok"]["NetworkInterfaceSets"]["NetworkInterfaceSet"].as_array().unwrap().len(), 2);
    assert_eq!(done[6]["ok"]["Disks"]["Disk"][0]["ZoneId"], "cn-hangzhou-g");
    assert_eq!(done[7]["ok"]["OwnerId"], 1_234_567_890_123_456_u64);
    assert_eq!(done[11]["ok"]["FailedRouteEntries"][0]["FailedCode"], "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE");
    let route = &done[12]["ok"]["RouteEntrys"]["RouteEntry"][0];
    assert_eq!(
        (&route["NextHops"]["NextHop"][0]["NextHopId"], &route["Status"]),
        (&json!(machine_id(1)), &json!("Available"))
    );
    cloud.assert_valid();
}

#[tokio::test]
async fn the_vendors_client_makes_a_classic_load_balancer() {
    let (cloud, url) = served().await;
    let servers = |all: &[u64]| {
        let server = |it: &u64| json!({ "ServerId": machine_id(*it), "Port": 30_080, "Weight": 100, "Type": "ecs" });
        json!(all.iter().map(server).collect::<Vec<_>>()).to_string()
    };
    let listener = |more: Value| {
        let mut all = json!({ "LoadBalancerId": of(0, "LoadBalancerId"), "ListenerPort": 80 });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let group = || json!({ "VServerGroupId": of(1, "VServerGroupId") });
    let with = |mut all: Value, name: &str, value: Value| {
        all[name] = value;
        all
    };
    let tcp = json!({ "Bandwidth": -1, "VServerGroupId": of(1, "VServerGroupId"), "Description": "k8s/80/web", "Scheduler": "rr" });
    let own = json!([{ "TagKey": "kubernetes.do.not.delete", "TagValue": "a1" }]).to_string();
    let creation = json!({ "LoadBalancerName": "a1", "AddressType": "internet", "ClientToken": "once", "DeleteProtection": "on", "Tag": tags() });
    let calls = [
        call("slb", "CreateLoadBalancer", creation.clone()),
        call(
            "slb",
            "CreateVServerGroup",
            json!({
                "LoadBalancerId": of(0, "LoadBalancerId"), "VServerGroupName": "k8s/30080/web", "BackendServers": servers(&[1]),
            }),
        ),
        call("slb", "AddVServerGroupBackendServers", with(group(), "BackendServers", json!(servers(&[2, 3])))),
        call("slb", "CreateLoadBalancerTCPListener", listener(tcp.clone())),
        call("slb", "StartLoadBalancerListener", listener(json!({ "ListenerProtocol": "tcp" }))),
        call("slb", "CreateLoadBalancerTCPListener", listener(tcp)),
        call(
            "slb",
            "SetLoadBalancerTCPListenerAttribute",
            listener(json!({ "HealthCheckType": "http", "HealthCheckURI": "/healthz" })),
        ),
        call(
            "slb",
            "DescribeLoadBalancerListeners",
            json!({ "LoadBalancerId": [of(0, "LoadBalancerId")], "MaxResults": 100 }),
        ),
        call("slb", "RemoveVServerGroupBackendServers", with(group(), "BackendServers", json!(servers(&[2])))),
        call("slb", "DescribeVServerGroupAttribute", group()),
        call("slb", "DescribeLoadBalancers", json!({ "Tags": own, "PageSize": 100 })),
        call("slb", "CreateLoadBalancer", creation),
        call("slb", "DeleteVServerGroup", group()),
        call("slb", "DeleteLoadBalancer", json!({ "LoadBalancerId": of(0, "LoadBalancerId") })),
        call(
            "slb",
            "SetLoadBalancerDeleteProtection",
            json!({ "LoadBalancerId": of(0, "LoadBalancerId"), "DeleteProtection": "off" }),
        ),
        call("slb", "CreateAccessControlList", json!({ "AclName": "k8s-web", "Tag": tags() })),
        call(
            "slb",
            "AddAccessControlListEntry",
            json!({
                "AclId": of(15, "AclId"), "AclEntrys": json!([{ "entry": "10.0.0.0/8", "comment": "ours" }]).to_string(),
            }),
        ),
        call("slb", "DescribeAccessControlListAttribute", json!({ "AclId": of(15, "AclId") })),
        call("slb", "DeleteLoadBalancer", json!({ "LoadBalancerId": of(0, "LoadBalancerId") })),
        call("slb", "DescribeLoadBalancerAttribute", json!({ "LoadBalancerId": of(0, "LoadBalancerId") })),
    ];
    let refused = [
        (5, "ListenerAlreadyExists"),
        (12, "RspoolVipExist"),
        (13, "OperationDenied.DeleteProtectionIsOn"),
        (19, "InvalidLoadBalancerId.NotFound"),
    ];
    let done = called(&url, &calls, &refused).await;
    let shown = &done[7]["ok"]["Listeners"][0];
    assert_eq!(
        (&shown["Status"], &shown["TCPListenerConfig"]["HealthCheckURI"]),
        (&json!("running"), &json!("/healthz"))
    );
    let left = done[9]["ok"]["BackendServers"]["BackendServer"].as_array().unwrap();
    assert_eq!(
        left.iter().map(|it| it["ServerId"].as_str().unwrap()).collect::<Vec<_>>(),
        [machine_id(1), machine_id(3)]
    );
    assert_eq!(done[10]["ok"]["TotalCount"], 1);
    assert_eq!(done[11]["ok"]["LoadBalancerId"], done[0]["ok"]["LoadBalancerId"], "the token is the same");
    assert_eq!(done[17]["ok"]["AclEntrys"]["AclEntry"][0]["AclEntryIP"], "10.0.0.0/8");
    cloud.assert_valid();
}

#[tokio::test]
async fn the_vendors_client_gives_domains_certificates() {
    let (cloud, url) = served().await;
    let at = |port: u16, more: Value| {
        let mut all = json!({ "LoadBalancerId": of(0, "LoadBalancerId"), "ListenerPort": port });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let domain = |certificate: &str| json!({ "Domain": "a.example.com", "ServerCertificateId": certificate });
    let own = |more: Value| {
        let mut all = json!({ "DomainExtensionId": of(3, "DomainExtensionId") });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let https = json!({ "VServerGroupId": of(1, "VServerGroupId"), "ServerCertificateId": "c", "Bandwidth": -1, "StickySession": "off", "HealthCheck": "off" });
    let calls = [
        call("slb", "CreateLoadBalancer", json!({ "LoadBalancerName": "a1", "AddressType": "internet" })),
        call(
            "slb",
            "CreateVServerGroup",
            json!({ "LoadBalancerId": of(0, "LoadBalancerId"), "VServerGroupName": "k8s/30443/web" }),
        ),
        call("slb", "CreateLoadBalancerHTTPSListener", at(443, https)),
        call("slb", "CreateDomainExtension", at(443, domain("c1"))),
        call("slb", "CreateDomainExtension", at(443, domain("c2"))),
        call("slb", "CreateDomainExtension", at(80, domain("c1"))),
        call("slb", "SetDomainExtensionAttribute", own(json!({ "ServerCertificateId": "c2" }))),
        call("slb", "DescribeDomainExtensions", at(443, json!({}))),
        call("slb", "DeleteDomainExtension", own(json!({}))),
        call("slb", "DeleteDomainExtension", own(json!({}))),
        call("slb", "DescribeDomainExtensions", at(443, json!({}))),
    ];
    let refused = [(4, "InvalidParameter"), (5, "ListenerNotFound"), (9, "InvalidParameter.DomainExtensionId")];
    let done = called(&url, &calls, &refused).await;
    let shown = |number: usize| done[number]["ok"]["DomainExtensions"]["DomainExtension"].as_array().unwrap().clone();
    assert_eq!((&shown(7)[0]["Domain"], &shown(7)[0]["ServerCertificateId"]), (&json!("a.example.com"), &json!("c2")));
    assert_eq!(shown(10), [Value::Null; 0]);
    cloud.assert_valid();
}

#[tokio::test]
async fn the_vendors_client_makes_a_network_load_balancer() {
    let (cloud, url) = served().await;
    let zones = json!([{ "ZoneId": "cn-hangzhou-b", "VSwitchId": "vsw-b" }, { "ZoneId": "cn-hangzhou-g", "VSwitchId": "vsw-g" }]);
    let balancer = |more: Value| {
        let mut all = json!({ "LoadBalancerId": of(0, "LoadbalancerId") });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let server = |it: u64| json!({ "ServerId": machine_id(it), "ServerType": "Ecs", "Port": 30_080, "Weight": 100 });
    let servers = json!({ "ServerGroupId": of(2, "ServerGroupId"), "Servers": [server(1), server(2)] });
    let permission = json!([{ "Policy": "accept", "Priority": "1", "IpProtocol": "All", "PortRange": "-1/-1", "SourceCidrIp": "10.0.0.0/8" }]);
    let calls = [
        call(
            "nlb",
            "CreateLoadBalancer",
            json!({
                "AddressType": "Internet", "VpcId": VPC, "ZoneMappings": zones, "LoadBalancerName": "a1", "Tag": tags(), "ClientToken": "once",
                "DeletionProtectionConfig": { "Enabled": true },
            }),
        ),
        call("nlb", "GetLoadBalancerAttribute", balancer(json!({}))),
        call(
            "nlb",
            "CreateServerGroup",
            json!({
                "ServerGroupName": "k8s.30080.TCP.web", "VpcId": VPC, "Protocol": "TCP", "Tag": tags(),
                "HealthCheckConfig": { "HealthCheckEnabled": true, "HealthCheckConnectPort": 31_000 },
            }),
        ),
        call("nlb", "AddServersToServerGroup", servers.clone()),
        call("nlb", "ListAsynJobs", json!({ "JobIds": [of(2, "JobId"), of(3, "JobId")] })),
        call(
            "nlb",
            "CreateListener",
            balancer(json!({
                "ListenerPort": 80, "ListenerProtocol": "TCP", "ServerGroupId": of(2, "ServerGroupId"),
            })),
        ),
        call("nlb", "GetJobStatus", json!({ "JobId": of(5, "JobId") })),
        call("nlb", "ListListeners", json!({ "LoadBalancerIds": [of(0, "LoadbalancerId")], "MaxResults": 100 })),
        call("nlb", "ListServerGroups", json!({ "Tag": tags(), "MaxResults": 100 })),
        call("nlb", "ListServerGroupServers", json!({ "ServerGroupId": of(2, "ServerGroupId") })),
        call(
            "ecs",
            "CreateSecurityGroup",
            json!({ "SecurityGroupName": "k8s-nlb-a1", "SecurityGroupType": "enterprise", "VpcId": VPC, "Tag": tags() }),
        ),
        call(
            "ecs",
            "AuthorizeSecurityGroup",
            json!({ "SecurityGroupId": of(10, "SecurityGroupId"), "Permissions": permission }),
        ),
        call(
            "nlb",
            "LoadBalancerJoinSecurityGroup",
            balancer(json!({ "SecurityGroupIds": [of(10, "SecurityGroupId")] })),
        ),
        call(
            "ecs",
            "DescribeSecurityGroupAttribute",
            json!({ "SecurityGroupId": of(10, "SecurityGroupId"), "Direction": "ingress" }),
        ),
        call("ecs", "DeleteSecurityGroup", json!({ "SecurityGroupId": of(10, "SecurityGroupId") })),
        call("nlb", "DeleteServerGroup", json!({ "ServerGroupId": of(2, "ServerGroupId") })),
        call("nlb", "DeleteLoadBalancer", balancer(json!({}))),
        call("nlb", "UpdateLoadBalancerProtection", balancer(json!({ "DeletionProtectionEnabled": false }))),
        call(
            "nlb",
            "RemoveServersFromServerGroup",
            json!({
                "ServerGroupId": of(2, "ServerGroupId"), "Servers": [{ "ServerId": machine_id(1), "ServerType": "Ecs", "Port": 30_080 }],
            }),
        ),
        call("nlb", "DeleteLoadBalancer", balancer(json!({}))),
        call("nlb", "ListLoadBalancers", json!({ "Tag": tags(), "MaxResults": 100 })),
        call("nlb", "DeleteServerGroup", json!({ "ServerGroupId": of(2, "ServerGroupId") })),
        call("nlb", "AddServersToServerGroup", servers),
    ];
    let refused = [
        (14, "DependencyViolation"),
        (15, "ResourceInUse.serverGroup"),
        (16, "OperationDenied.DeletionProtection"),
        (22, "ResourceNotFound.serverGroup"),
    ];
    let done = called(&url, &calls, &refused).await;
    assert_eq!(done[1]["ok"]["LoadBalancerStatus"], "Active");
    let jobs = done[4]["ok"]["Jobs"].as_array().unwrap().iter();
    let states: Vec<&str> = jobs.map(|it| it["Status"].as_str().unwrap()).collect();
    assert_eq!((states, &done[6]["ok"]["Status"]), (vec!["Succeeded"; 2], &json!("Succeeded")));
    assert_eq!(done[7]["ok"]["Listeners"][0]["ListenerStatus"], "Running");
    assert_eq!(done[8]["ok"]["ServerGroups"][0]["HealthCheck"]["HealthCheckConnectPort"], 31_000);
    assert_eq!(done[9]["ok"]["Servers"].as_array().unwrap().len(), 2);
    assert_eq!(done[13]["ok"]["Permissions"]["Permission"][0]["SourceCidrIp"], "10.0.0.0/8");
    assert_eq!(done[20]["ok"]["LoadBalancers"], json!([]));
    cloud.assert_valid();
}

#[tokio::test]
async fn signatures_of_the_vendors_client_are_judged() {
    let (cloud, url) = served().await;
    let session = cloud.ram().begin_session();
    let AccessKey { id, secret, session: token, .. } = &session;
    let token = token.as_deref().unwrap();
    let calls = [call("vpc", "DescribeVpcAttribute", json!({ "VpcId": VPC }))];
    for (arguments, code) in [
        (&[&*url, KEY_ID, KEY_SECRET][..], None),
        (&[&url, id, secret, token], None),
        (&[&url, KEY_ID, "another"], Some("SignatureDoesNotMatch")),
        (&[&url, "LTAInobody", KEY_SECRET], Some("InvalidAccessKeyId.NotFound")),
        (&[&url, id, secret, "another"], Some("InvalidSecurityToken.Malformed")),
        (&[&url, id, secret], Some("InvalidSecurityToken.Malformed")),
    ] {
        let done = CLIENT.call(arguments, &calls).await;
        assert_eq!(done[0]["error"]["code"].as_str(), code, "{arguments:?}: {done:?}");
    }
    cloud.ram().end_sessions();
    let done = CLIENT.call(&[&url, id, secret, token], &calls).await;
    assert_eq!(done[0]["error"]["code"], "InvalidSecurityToken.Expired");
    let is_named = |it: &Recorded| it.path == "/vpc/DescribeVpcAttribute";
    assert!(cloud.requests().iter().all(is_named));
    cloud.assert_valid();
}
