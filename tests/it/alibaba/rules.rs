//! The simulator's rules, with the vendor's own clients: what is refused, what takes time, and what fails.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_LENGTH};
use serde_json::{Value, json};
use tests::clouds::alibaba::{KEY_ID, KEY_SECRET, ROUTE_TABLE, Recorded, Simulator, Taking, VPC, machine_id};
use tests::published::{Served, alibaba};
use tests::sdk::VendorClient;
use tests::simulator::Authorization;

/// A simulator where changes take an hour, with machines, and its URL.
async fn slow() -> (Simulator, String) {
    let Served { url, simulator } = alibaba::serve(0, Some(Duration::from_secs(3_600))).await.unwrap();
    simulator.with(|world| (1..=3).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    (simulator, url)
}

/// The codes with which these calls of a product were refused, or what was answered.
async fn called(url: &str, product: &str, calls: &[(&str, Value)]) -> Vec<Result<Value, String>> {
    let call = |(action, parameters): &(&str, Value)| {
        let mut parameters = parameters.clone();
        parameters["RegionId"] = json!("cn-hangzhou");
        json!({ "product": product, "action": action, "parameters": parameters })
    };
    let calls: Vec<Value> = calls.iter().map(call).collect();
    let done = VendorClient("alibaba").call(&[url, KEY_ID, KEY_SECRET], &calls).await;
    let result = |became: &Value| match became["error"]["code"].as_str() {
        Some(code) => Err(code.to_owned()),
        None => Ok(became["ok"].clone()),
    };
    done.iter().map(result).collect()
}

/// The code with which the simulator refuses a request that it has had, sent again byte for byte.
async fn refused_again(cloud: &Simulator, url: &str, earlier: &Recorded) -> String {
    let Authorization::Judged(authorization) = &earlier.authorization else { panic!("{earlier} is not signed") };
    let mut headers = earlier.headers.clone();
    headers.remove(CONTENT_LENGTH);
    headers.insert(AUTHORIZATION, authorization.parse().unwrap());
    let request = cloud.client(&["http/1.1"]).post(format!("{url}{}", earlier.target)).headers(headers);
    let answer = request.body(earlier.body.clone()).send().await.unwrap();
    let body: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    body["Code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_signed_request_is_good_once_and_for_a_while() {
    let (cloud, url) = slow().await;
    let done = called(&url, "vpc", &[("DescribeVpcAttribute", json!({ "VpcId": VPC }))]).await;
    assert_eq!(done[0].as_ref().unwrap()["VpcId"], VPC);
    let earlier = cloud.requests().pop().unwrap();
    assert_eq!(refused_again(&cloud, &url, &earlier).await, "SignatureNonceUsed");
    cloud.ram().set_clock_ahead(Duration::from_secs(20 * 60));
    assert_eq!(refused_again(&cloud, &url, &earlier).await, "InvalidTimeStamp.Expired");
    cloud.ram().set_clock_ahead(Duration::ZERO);
    let mut other = earlier.clone();
    other.target = "/?VpcId=vpc-2".to_owned();
    assert_eq!(refused_again(&cloud, &url, &other).await, "SignatureDoesNotMatch");
}

/// Cases: alibaba 8
#[tokio::test]
async fn machines_that_nobody_may_see_are_an_empty_list() {
    let (cloud, url) = slow().await;
    cloud.ram().deny("ecs:DescribeInstances");
    cloud.ram().deny("ecs:CreateSecurityGroup");
    let group = json!({ "SecurityGroupName": "k8s-nlb-a1", "VpcId": VPC });
    let calls = [
        ("DescribeInstances", json!({ "VpcId": VPC })),
        ("DescribeInstances", json!({ "VpcId": VPC, "DryRun": true })),
        ("CreateSecurityGroup", group),
    ];
    let done = called(&url, "ecs", &calls).await;
    assert_eq!(done[0].as_ref().unwrap()["Instances"]["Instance"], json!([]));
    assert_eq!((&done[1], &done[2]), (&Err("Forbidden.RAM".to_owned()), &Err("Forbidden.RAM".to_owned())));
}

#[tokio::test]
async fn a_route_table_takes_one_change_at_a_time() {
    let (cloud, url) = slow().await;
    cloud.behave(|it| it.most_routes = 2);
    let entries = |all: &[(u64, u64)]| {
        let entry = |(network, hop): &(u64, u64)| {
            json!({
                "RouteTableId": ROUTE_TABLE, "DstCidrBlock": format!("10.244.{network}.0/24"), "NextHop": machine_id(*hop),
                "NextHopType": "Instance",
            })
        };
        json!({ "RouteEntries": all.iter().map(entry).collect::<Vec<_>>() })
    };
    let table = json!({ "RouteTableId": ROUTE_TABLE, "MaxResult": 500 });
    let calls = [
        ("CreateRouteEntries", entries(&[(1, 1), (1, 2), (2, 9), (2, 2), (3, 3)])),
        ("DescribeRouteEntryList", table.clone()),
        ("CreateRouteEntries", entries(&[(4, 1)])),
    ];
    let done = called(&url, "vpc", &calls).await;
    let failed = done[0].as_ref().unwrap()["FailedRouteEntries"].as_array().unwrap();
    let codes: Vec<&str> = failed.iter().map(|it| it["FailedCode"].as_str().unwrap()).collect();
    let expected =
        ["VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE", "VPC_ROUTE_ENTRY_NEXT_HOP_NOT_EXIST", "QuotaExceeded.RouteEntry"];
    assert_eq!(codes, expected);
    assert_eq!(done[1].as_ref().unwrap()["RouteEntrys"]["RouteEntry"][0]["Status"], "Pending");
    assert_eq!(done[2], Err("TaskConflict".to_owned()));
    cloud.advance(Duration::from_secs(3_600));
    let done = called(&url, "vpc", &calls[1..2]).await;
    assert_eq!(done[0].as_ref().unwrap()["RouteEntrys"]["RouteEntry"][0]["Status"], "Available");
}

#[tokio::test]
async fn a_network_load_balancer_is_at_work_until_its_job_ends() {
    let (cloud, url) = slow().await;
    cloud.behave(|it| (it.creation, it.failing) = (Taking::Reads(1), vec!["DeleteServerGroup".to_owned()]));
    let id = cloud.with(|world| world.put_network_balancer(json!({ "LoadBalancerName": "a1" })));
    let group = cloud.with(|world| world.put_network_group(json!({ "ServerGroupName": "k8s.1" })));
    let one = json!({ "ServerId": machine_id(1), "ServerType": "Ecs", "Port": 80 });
    let servers = json!({ "ServerGroupId": group, "Servers": [one] });
    let card = json!({ "ServerId": machine_id(1), "ServerType": "Eni", "Port": 80 });
    let listener =
        json!({ "LoadBalancerId": id, "ListenerPort": 80, "ListenerProtocol": "TCP", "ServerGroupId": group });
    let calls = [
        ("CreateListener", listener),
        ("GetLoadBalancerAttribute", json!({ "LoadBalancerId": id })),
        ("DeleteLoadBalancer", json!({ "LoadBalancerId": id })),
        ("RemoveServersFromServerGroup", json!({ "ServerGroupId": group, "Servers": [card] })),
        ("AddServersToServerGroup", servers.clone()),
        ("AddServersToServerGroup", servers),
        ("ListServerGroupServers", json!({ "ServerGroupId": group })),
    ];
    let done = called(&url, "nlb", &calls).await;
    assert_eq!(done[1].as_ref().unwrap()["LoadBalancerStatus"], "Configuring");
    assert_eq!(done[2], Err("IncorrectStatus.loadBalancer".to_owned()));
    assert_eq!(done[3], Err("ResourceNotFound.BackendServer".to_owned()));
    assert_eq!(done[5], Err("IncorrectStatus.serverGroup".to_owned()));
    assert_eq!(done[6].as_ref().unwrap()["Servers"][0]["Status"], "Adding");
    let job = done[0].as_ref().unwrap()["JobId"].clone();
    cloud.advance(Duration::from_secs(3_600));
    cloud.with(|world| world.take_network_away(&id));
    let calls = [
        ("GetJobStatus", json!({ "JobId": job })),
        ("ListServerGroupServers", json!({ "ServerGroupId": group })),
        ("DeleteServerGroup", json!({ "ServerGroupId": group })),
    ];
    let done = called(&url, "nlb", &calls).await;
    assert_eq!(done[0].as_ref().unwrap()["Status"], "Succeeded");
    assert_eq!(done[1].as_ref().unwrap()["Servers"][0]["Status"], "Available");
    let job = done[2].as_ref().unwrap()["JobId"].clone();
    cloud.advance(Duration::from_secs(3_600));
    let done = called(&url, "nlb", &[("GetJobStatus", json!({ "JobId": job })), ("ListServerGroups", json!({}))]).await;
    assert_eq!(done[0].as_ref().unwrap()["Status"], "Failed");
    assert_eq!(done[1].as_ref().unwrap()["TotalCount"], 1, "what failed has changed nothing");
}

#[tokio::test]
async fn zones_of_a_network_load_balancer_are_given_whole() {
    let (cloud, url) = slow().await;
    let zone = |zone: &str, switch: &str| json!({ "ZoneId": format!("cn-hangzhou-{zone}"), "VSwitchId": format!("vsw-{switch}") });
    let (b, g, h) = (zone("b", "b"), zone("g", "g"), zone("h", "h"));
    let id = cloud.with(|world| {
        world.put_switch("vsw-h", "cn-hangzhou-h", "10.2.0.0/16");
        world.put_network_balancer(json!({ "LoadBalancerName": "a1", "ZoneMappings": [b, g] }))
    });
    let update = |zones: &[&Value]| ("UpdateLoadBalancerZones", json!({ "LoadBalancerId": id, "ZoneMappings": zones }));
    let shown = [("GetLoadBalancerAttribute", json!({ "LoadBalancerId": id }))];
    let (other, none) = (zone("g", "h"), zone("i", "i"));
    let calls = [
        update(&[&b]),
        update(&[&b, &b]),
        update(&[&b, &other]),
        update(&[&b, &none]),
        update(&[&b, &h]),
        update(&[&b, &g]),
    ];
    let done = called(&url, "nlb", &calls).await;
    let refused: Vec<Option<&str>> = done.iter().map(|it| it.as_ref().err().map(String::as_str)).collect();
    let (few, unknown) = (Some("InvalidParameter"), Some("ResourceNotFound.vSwitch"));
    assert_eq!(refused, [few, few, unknown, unknown, None, Some("IncorrectStatus.loadBalancer")]);
    let zones = |done: &[Result<Value, String>]| -> Vec<Value> {
        let all = done[0].as_ref().unwrap()["ZoneMappings"].as_array().unwrap().iter();
        all.map(|it| json!({ "ZoneId": it["ZoneId"], "VSwitchId": it["VSwitchId"] })).collect()
    };
    assert_eq!(zones(&called(&url, "nlb", &shown).await), [b.clone(), g], "its job is not over");
    cloud.advance(Duration::from_secs(3_600));
    assert_eq!(zones(&called(&url, "nlb", &shown).await), [b, h], "a zone that is not given goes");
}
