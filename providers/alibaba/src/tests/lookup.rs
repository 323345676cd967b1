//! The instance of a node, and the project's identity.

use aerostat_sdk::{Address, Error, Instance, Instances, Node, Provider, Result, State};

use super::*;
use crate::Alibaba;

fn with_id(provider_id: &str) -> Node {
    Node::named("node-1").with_provider_id(provider_id)
}

fn get(host: &Host, node: &Node) -> Result<Option<Instance>> {
    host.run(|| Alibaba::get(node))
}

fn expected() -> Instance {
    Instance::new("node-1", "cn-hangzhou.i-bp1")
        .machine_type("ecs.g7.large")
        .zone("cn-hangzhou-b")
        .region("cn-hangzhou")
        .addresses([
            Address::external_ip("198.51.100.1"),
            Address::external_ip("198.51.100.2"),
            Address::internal_ip("10.0.0.1"),
        ])
        .label("node.alibabacloud.com/instance-charge-type", "PostPaid")
        .label("node.alibabacloud.com/spot-strategy", "NoSpot")
        .label("node.alibabacloud.com/nodepool-id", "np1")
}

/// The answer about the one instance, changed.
fn changed(change: impl FnOnce(&mut Value)) -> Instance {
    let mut machines = Machines::of([1]);
    change(&mut machines.instances[0]);
    get(&machines.host(), &with_id("cn-hangzhou.i-bp1")).unwrap().unwrap()
}

#[test]
fn alibaba_002_and_003_and_012_instances_are_found_by_their_ids() {
    let host = Machines::of([1, 10]).host();
    for id in ["cn-hangzhou.i-bp1", "alicloud://cn-hangzhou.i-bp1"] {
        assert_eq!(get(&host, &with_id(id)), Ok(Some(expected())), "{id}");
        assert_eq!(host.run(|| Alibaba::canonical_id(id)).as_deref(), Ok("cn-hangzhou.i-bp1"));
    }
    let expected = "POST ecs /?RegionId=cn-hangzhou&InstanceIds=[\"i-bp1\"]&MaxResults=100";
    assert_eq!(host.requests(), [expected, expected]);
}

#[test]
fn alibaba_004_ids_of_other_clouds_ask_nothing() {
    for id in ["aws:///z/i-1", "cn-beijing.i-1", "i-bp1", "e01-cn-abc"] {
        let refused = get(&settings(), &with_id(id));
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(id)), "{refused:?}");
    }
}

#[test]
fn alibaba_005_machines_outside_of_ecs_exist_unasked() {
    let host = settings();
    let mut lingjun = with_id("e01-cn-abc");
    lingjun.labels = vec![("alibabacloud.com/lingjun-worker".to_owned(), "true".to_owned())];
    for node in [with_id("ack-hybrid://x"), lingjun] {
        let found = get(&host, &node).unwrap().unwrap();
        assert_eq!(found.provider_id, node.provider_id);
        assert!(found.addresses.is_empty() && found.labels.is_empty() && found.state == State::Running, "{found:?}");
    }
}

#[test]
fn alibaba_006_stopped_instances_are_those_that_have_stopped() {
    assert_eq!(changed(|it| it["Status"] = json!("Stopped")).state, State::Stopped);
    for status in ["Pending", "Starting", "Running", "Stopping", ""] {
        assert_eq!(changed(|it| it["Status"] = json!(status)).state, State::Running, "{status}");
    }
}

#[test]
fn alibaba_007_an_instance_that_others_outlive_is_gone() {
    let host = Machines::of([1, 10]).host();
    let nodes = ["cn-hangzhou.i-bp1", "cn-hangzhou.i-bp2", "cn-hangzhou.i-bp10"].map(with_id);
    let answers = host.run(|| Alibaba::get_many(&nodes));
    let found: Vec<_> = answers.into_iter().map(|it| it.unwrap().and_then(|it| it.provider_id)).collect();
    assert_eq!(found, [Some("cn-hangzhou.i-bp1".to_owned()), None, Some("cn-hangzhou.i-bp10".to_owned())]);
    assert_eq!(host.requests().len(), 1);
}

#[test]
fn alibaba_007_ids_are_compared_whole() {
    let host = Machines::of([10]).host();
    assert_eq!(get(&host, &with_id("cn-hangzhou.i-bp1")), Ok(None), "the API shows i-bp10 for it");
}

#[test]
fn alibaba_008_an_empty_answer_proves_nothing_without_the_right() {
    let blind = Machines { is_blind: true, ..Machines::of([1]) }.host();
    let refused = get(&blind, &with_id("cn-hangzhou.i-bp1")).unwrap_err();
    assert!(
        matches!(&refused, Error::Denied(why) if why.contains("Forbidden.RAM") && why.contains("ecs:DescribeInstances"))
    );
    assert!(matches!(blind.run(|| Alibaba::list(None, 100)), Err(Error::Denied(_))));
    assert!(matches!(get(&blind, &Node::named("node-1")), Err(Error::Denied(_))));
    let empty = Machines::default().host();
    assert_eq!(get(&empty, &with_id("cn-hangzhou.i-bp1")), Ok(None));
    assert_eq!(asked(&empty.sent()[1], "DryRun"), Some("true"));
    let silent = settings().answers(|_| answer(200, r#"{ "Instances": { "Instance": [] } }"#));
    assert!(matches!(get(&silent, &with_id("cn-hangzhou.i-bp1")), Err(Error::Unavailable(_))));
}

#[test]
fn alibaba_010_nodes_without_ids_are_found_by_their_addresses() {
    let host = Machines::of([1, 2, 3]).host();
    let mut node = Node::named("anything");
    node.addresses = vec![Address::hostname("anything"), Address::internal_ip("10.0.0.2")];
    let nodes = [node.clone(), Node::named("cn-hangzhou.10.0.0.3"), Node::named("cn-hangzhou.10.0.0.9")];
    let answers = host.run(|| Alibaba::get_many(&nodes));
    let found: Vec<_> = answers.into_iter().map(|it| it.unwrap().and_then(|it| it.provider_id)).collect();
    assert_eq!(found, [Some("cn-hangzhou.i-bp2".to_owned()), Some("cn-hangzhou.i-bp3".to_owned()), None]);
    let [asked_once] = &host.sent()[..] else { panic!("one request for all") };
    assert_eq!(asked(asked_once, "PrivateIpAddresses"), Some(r#"["10.0.0.2","10.0.0.3","10.0.0.9"]"#));
    assert_eq!(asked(asked_once, "VpcId"), Some("vpc-1"));

    let mut twins = Machines::of([1, 2]);
    twins.instances[1]["VpcAttributes"] = twins.instances[0]["VpcAttributes"].clone();
    let host = twins.host();
    node.addresses = vec![Address::internal_ip("10.0.0.1")];
    let refused = get(&host, &node).unwrap_err();
    assert!(refused.why().contains("i-bp1 and i-bp2 both have the address 10.0.0.1"), "{refused:?}");
    assert_eq!(host.events()[0].reason, "InstanceLookupFailed");
}

#[test]
fn nodes_without_addresses_are_found_by_their_names() {
    let host = Machines::of(0..150).host();
    for name in ["node-149", "node-7"] {
        assert!(get(&host, &Node::named(name)).unwrap().is_some(), "{name}");
    }
    assert_eq!(get(&host, &Node::named("node")), Ok(None));
    let mut twins = Machines::of([1, 2]);
    twins.instances[1]["HostName"] = json!("node-1");
    let refused = get(&twins.host(), &Node::named("node-1")).unwrap_err();
    assert!(refused.why().contains("both have its name"), "{refused:?}");
}

#[test]
fn alibaba_011_ipv6_addresses_are_told_if_the_operator_says_so() {
    let machines = Machines::of([1]);
    let host = settings().setting("dualStack", "true").answers(move |request| machines.answer(request));
    let found = get(&host, &with_id("cn-hangzhou.i-bp1")).unwrap().unwrap();
    assert_eq!(found.addresses.last(), Some(&Address::internal_ip("2001:db8::1")));
    assert_eq!(found.addresses.len(), 4, "that of another interface is not the node's");
}

#[test]
fn identity_is_the_account_of_the_vpc() {
    let vpc = |body: Value| {
        settings().answers(move |request| {
            assert_eq!(
                (&*request.endpoint, action(request), asked(request, "VpcId")),
                ("vpc", "DescribeVpcAttribute", Some("vpc-1"))
            );
            answer(200, body.to_string())
        })
    };
    let host = vpc(json!({ "VpcId": "vpc-1", "OwnerId": 1234567890123456_u64 }));
    let expected = "account 1234567890123456, region cn-hangzhou, vpc-1";
    assert_eq!(host.run(Alibaba::identity), Ok(Some(expected.to_owned())));
    let missing = [vpc(json!({})), settings().answers(|_| refused(404, "InvalidVpcId.NotFound"))];
    for host in missing {
        assert!(matches!(host.run(Alibaba::identity), Err(Error::Denied(why)) if why.contains("has no VPC vpc-1")));
    }
}
