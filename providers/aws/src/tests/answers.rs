//! Answers as AWS's own description of EC2 has them, which `tests/aws/answers.py` has written.

use aerostat_sdk::testing::answer;
use aerostat_sdk::{
    Address, Instance, Instances, Page, PersistentVolumes, Provider, Route, RouteOwnership, RouteState, Routes,
    Topology, Volume,
};
use serde_json::Value;

use crate::api::ec2::subnets::{self, Subnet};
use crate::api::elbv2::listeners::{self, Listener};
use crate::api::elbv2::load_balancers::{self, AnyLoadBalancer};
use crate::api::elbv2::tags;
use crate::api::elbv2::target_groups::{self, TargetGroup, TargetHealth};

use super::{Host, action, get, host, node};
use crate::Aws;

/// EC2 with these answers.
fn cloud() -> Host {
    let written: Value = serde_json::from_str(include_str!("../../../../tests/aws/answers.json")).unwrap();
    host(move |request| {
        let name = match action(request) {
            "DescribeInstances" => "instances",
            "DescribeNetworkInterfaces" => "interfaces",
            "DescribeInstanceTopology" => "topology",
            "DescribeAvailabilityZones" => "zones",
            "DescribeVpcs" => "vpc",
            "DescribeRouteTables" => "route-tables",
            "DescribeVolumes" => "volumes",
            "DescribeSubnets" => "subnets",
            "DescribeLoadBalancers" => "load-balancers",
            "DescribeListeners" => "listeners",
            "DescribeTargetGroups" => "target-groups",
            "DescribeTags" => "tags",
            "DescribeTargetHealth" => "target-health",
            "DescribeLoadBalancerAttributes" => "attributes",
            "DescribeTargetGroupAttributes" => "group-attributes",
            other => panic!("{other}"),
        };
        answer(200, written["answers"][name].as_str().unwrap())
    })
}

#[test]
fn an_instance_is_read_with_all_that_a_node_needs() {
    let expected = Instance::new("ip-10-0-0-1.ec2.internal", "aws:///us-east-1a/i-0123456789abcdef0")
        .machine_type("p5.48xlarge")
        .zone("us-east-1a")
        .region("us-east-1")
        .addresses(["2001:db8::1", "10.0.0.1", "10.0.0.2", "10.0.1.1"].map(Address::internal_ip))
        .addresses([
            Address::external_ip("3.3.3.3"),
            Address::internal_dns("ip-10-0-0-1.ec2.internal"),
            Address::hostname("ip-10-0-0-1.ec2.internal"),
            Address::external_dns("ec2-3-3-3-3.compute-1.amazonaws.com"),
        ])
        .label("topology.k8s.aws/zone-id", "use1-az6")
        .label("topology.k8s.aws/network-node-layer-1", "nn-1")
        .label("topology.k8s.aws/network-node-layer-2", "nn-2")
        .label("topology.k8s.aws/network-node-layer-3", "nn-3")
        .extra("security-groups", "sg-1");
    let host = cloud().setting("nodeIPFamilies", "ipv6,ipv4");
    let page = host.run(|| <Aws as Instances>::list(None, 1_000));
    assert_eq!(page, Ok(Page::new(vec![expected], Some("key:eyJ2IjoiMiJ9".to_owned()))));
}

#[test]
fn a_pod_of_fargate_is_read() {
    let expected = Instance::new("n", "aws:///us-east-1a/fargate-10.0.0.9")
        .zone("us-east-1a")
        .region("us-east-1")
        .addresses([Address::internal_ip("10.0.0.9"), Address::internal_dns("ip-10-0-0-9.ec2.internal")])
        .label("topology.k8s.aws/zone-id", "use1-az6");
    assert_eq!(get(&cloud(), &node("aws:///us-east-1a/fargate-10.0.0.9")), Ok(Some(expected)));
}

#[test]
fn zones_and_the_account_are_read() {
    let zones = cloud().run(|| crate::api::ec2::zones::ids("us-east-1")).unwrap();
    let expected = [("us-east-1a", "use1-az6"), ("us-east-1b", "use1-az1")];
    assert_eq!(zones, expected.map(|(name, id)| (name.to_owned(), id.to_owned())).into());
    let identity = "account 123456789012, region us-east-1, vpc-1".to_owned();
    assert_eq!(cloud().run(Aws::identity), Ok(Some(identity)));
}

#[test]
fn routes_of_every_kind_are_read() {
    let foreign = |destination: &str, state| {
        let route = Route::new(destination, "").ownership(RouteOwnership::Foreign).state(state);
        Route { next_hop: None, ..route }
    };
    let dead = Route { next_hop: None, ..Route::new("10.4.2.0/24", "").state(RouteState::Blackhole) };
    let expected = [
        foreign("10.0.0.0/16", RouteState::Active),
        Route::new("10.4.1.0/24", "i-1"),
        dead,
        foreign("10.4.3.0/24", RouteState::Blackhole),
    ];
    assert_eq!(cloud().run(|| <Aws as Routes>::list(None, 1_000)).unwrap().routes, expected);
}

#[test]
fn a_volume_is_read() {
    let volume = Volume {
        name: "pv".to_owned(),
        source: "ebs.csi.aws.com".to_owned(),
        handle: "vol-1".to_owned(),
        attributes: Vec::new(),
        extra: Vec::new(),
    };
    let place = Topology::new(Some("us-east-1".to_owned()), ["us-east-1b"]);
    assert_eq!(cloud().run(|| Aws::get_topology(&volume)), Ok(Some(place)));
}

const ARN: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:";

#[test]
fn a_network_load_balancer_is_read() {
    let page = cloud().run(|| load_balancers::page(None)).unwrap();
    let balancer = AnyLoadBalancer {
        arn: format!("{ARN}loadbalancer/net/a1/50dc6c495c0c9188"),
        name: "a1".to_owned(),
        dns_name: "a1-50dc6c495c0c9188.elb.us-east-1.amazonaws.com".to_owned(),
        kind: "network".to_owned(),
        scheme: "internet-facing".to_owned(),
        address_type: "dualstack".to_owned(),
        state: "provisioning".to_owned(),
        reason: "It takes a while".to_owned(),
        vpc: "vpc-1".to_owned(),
        subnets: ["subnet-1", "subnet-2"].map(str::to_owned).into(),
        groups: ["sg-1", "sg-2"].map(str::to_owned).into(),
    };
    assert_eq!((page.items, page.next.as_deref()), (vec![balancer], Some("m+/=")));
    let attributes = cloud().run(|| load_balancers::attributes("arn")).unwrap();
    let expected = [("access_logs.s3.prefix", ""), ("load_balancing.cross_zone.enabled", "true")];
    assert!(attributes.iter().map(|(key, value)| (&**key, &**value)).eq(expected), "{attributes:?}");
    let tags = cloud().run(|| tags::of(&["arn"])).unwrap();
    let texts: Vec<_> = tags.values().map(|it| it.get("kubernetes.io/service-name").map(String::as_str)).collect();
    assert_eq!(texts, [Some("a/b & c"), None]);
}

#[test]
fn listeners_and_target_groups_are_read() {
    let group = format!("{ARN}targetgroup/k8s-default-web-0123456789/73e2d6bc24d8a067");
    let listener = Listener {
        arn: format!("{ARN}listener/net/a1/50dc6c495c0c9188/f2f7dc8efc522ab2"),
        port: 443,
        protocol: "TLS".to_owned(),
        policy: Some("ELBSecurityPolicy-2016-08".to_owned()),
        certificates: vec!["arn:aws:acm:us-east-1:123456789012:certificate/1".to_owned()],
        target_group: Some(group.clone()),
    };
    assert_eq!(cloud().run(|| listeners::of("arn")), Ok(vec![listener]));
    let expected = TargetGroup {
        arn: group,
        name: "k8s-default-web-0123456789".to_owned(),
        protocol: "TCP".to_owned(),
        port: 30_080,
        target_type: "instance".to_owned(),
        address_type: "ipv4".to_owned(),
        vpc: "vpc-1".to_owned(),
        health: TargetHealth {
            protocol: "HTTP".to_owned(),
            port: "31000".to_owned(),
            path: Some("/healthz".to_owned()),
            interval: 10,
            timeout: Some(6),
            healthy: 2,
            unhealthy: 3,
        },
        balancers: vec![format!("{ARN}loadbalancer/net/a1/50dc6c495c0c9188")],
    };
    assert_eq!(cloud().run(target_groups::all), Ok(vec![expected]));
    let targets = cloud().run(|| target_groups::targets("arn"));
    assert_eq!(targets, Ok([("i-1".to_owned(), 30_080)].into()), "i-2 is on its way out");
    let attributes = cloud().run(|| target_groups::attributes("arn"));
    assert_eq!(attributes, Ok([("preserve_client_ip.enabled".to_owned(), "false".to_owned())].into()));
}

#[test]
fn a_subnet_is_read() {
    let subnet = Subnet {
        id: "subnet-1".to_owned(),
        zone: "us-east-1a".to_owned(),
        ipv4: Some("10.0.1.0/24".to_owned()),
        ipv6: vec!["2001:db8:1::/64".to_owned()],
        tags: vec![("kubernetes.io/role/elb".to_owned(), "1".to_owned())],
    };
    assert_eq!(cloud().run(|| subnets::of_vpc("vpc-1")), Ok(vec![subnet]));
}
