//! Answers as AWS's own description has them, which `tests/aws/answers.py` has written.

use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Change, SortedSet};
use serde_json::Value;

use super::NAME;
use crate::api::ec2::security_groups::{self, IpPermission, Peer, RuleKey};
use crate::api::elb::load_balancers;
use crate::api::elb::model::{
    ClassicAttributes, ClassicHealthCheck, ClassicListener, ClassicLoadBalancer, ClassicProtocol, LiveListener,
};
use crate::settings::ClusterMarks;
use crate::tests::{action, host};

/// AWS with these answers.
fn cloud() -> Host {
    let written = include_str!("../../../../../../tests/aws/answers-classic.json");
    let written: Value = serde_json::from_str(written).unwrap();
    host(move |request| {
        let name = match action(request) {
            "DescribeSecurityGroups" => "groups",
            "CreateSecurityGroup" => "group-created",
            "DescribeLoadBalancers" => "load-balancers",
            "DescribeTags" => "tags",
            "DescribeLoadBalancerAttributes" => "attributes",
            other => panic!("{other}"),
        };
        answer(200, written["answers"][name].as_str().unwrap())
    })
}

fn set(items: &[&str]) -> SortedSet<String> {
    items.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn a_load_balancer_is_read_with_all_that_is_compared() {
    let page = cloud().run(|| load_balancers::page(None)).unwrap();
    assert_eq!(page.next.as_deref(), Some("m+/="));
    let listener = |port, protocol, instance_port, instance_protocol, certificate: Option<&str>, policies: &[&str]| {
        let certificate = certificate.map(str::to_owned);
        let listener = ClassicListener { port, protocol, instance_port, instance_protocol, certificate };
        (port, LiveListener { listener, policies: set(policies) })
    };
    let (tls, proxy) = ("k8s-SSLNegotiationPolicy-p", "k8s-proxyprotocol-enabled");
    let expected = ClassicLoadBalancer {
        name: NAME.to_owned(),
        dns_name: Some(format!("{NAME}-1.us-east-1.elb.amazonaws.com")),
        is_internal: true,
        listeners: [
            listener(443, ClassicProtocol::Https, 30_443, ClassicProtocol::Http, Some("arn:c"), &[tls]),
            listener(80, ClassicProtocol::Tcp, 30_080, ClassicProtocol::Tcp, None, &[]),
        ]
        .into(),
        backends: [(30_080, set(&[proxy]))].into(),
        policies: set(&[tls, proxy]),
        subnets: set(&["subnet-1", "subnet-2"]),
        groups: set(&["sg-1", "sg-2"]),
        instances: set(&["i-1", "i-2"]),
        health: Some(ClassicHealthCheck {
            target: "HTTP:10256/healthz".to_owned(),
            interval: 10,
            timeout: 5,
            unhealthy: 6,
            healthy: 2,
        }),
    };
    assert_eq!(page.load_balancers, [expected]);
}

#[test]
fn tags_and_attributes_are_read() {
    let tags = cloud().run(|| load_balancers::tags(&[NAME])).unwrap();
    let expected = [("k".to_owned(), String::new()), ("kubernetes.io/service-name".to_owned(), "a/b & c".to_owned())];
    assert_eq!(tags, [(NAME.to_owned(), expected.into())].into());
    let attributes = cloud().run(|| load_balancers::attributes(NAME)).unwrap();
    let expected = ClassicAttributes {
        cross_zone: true,
        log_enabled: true,
        log_interval: Some(5),
        log_bucket: Some("b".to_owned()),
        log_prefix: Some("p".to_owned()),
        draining_enabled: false,
        draining_timeout: Some(300),
        idle_timeout: Some(60),
    };
    assert_eq!(attributes, expected);
}

#[test]
fn a_list_that_leads_to_itself_is_no_list() {
    let all = cloud().run(load_balancers::all);
    assert!(matches!(&all, Err(refusal) if refusal.why().ends_with("the list does not end")), "{all:?}");
}

#[test]
fn a_group_is_read_rule_by_rule() {
    let groups = cloud().run(|| security_groups::by_ids(&["sg-1"])).unwrap();
    let permission = |protocol: &str, ports: Option<(i32, i32)>, peer, description: &str| {
        let (from, to) = ports.unzip();
        let key = RuleKey { protocol: protocol.to_owned(), from, to, peer };
        IpPermission { key, description: description.to_owned() }
    };
    let tcp = |peer, description| permission("tcp", Some((80, 81)), peer, description);
    let expected = SortedSet::from([
        tcp(Peer::Ipv4("10.0.0.0/8".to_owned()), "a & b"),
        tcp(Peer::Ipv4("11.0.0.0/8".to_owned()), ""),
        tcp(Peer::Ipv6("2001:db8::/32".to_owned()), ""),
        tcp(Peer::PrefixList("pl-1".to_owned()), ""),
        permission("icmp", Some((3, 4)), Peer::Ipv4("0.0.0.0/0".to_owned()), ""),
        permission("-1", None, Peer::Group("sg-2".to_owned()), "d"),
    ]);
    assert_eq!((&*groups[0].id, &groups[0].name), ("sg-1", &format!("k8s-elb-{NAME}")));
    assert_eq!(groups[0].permissions, expected);
    let made = cloud().run(|| security_groups::create(&ClusterMarks::read().unwrap(), "n", "d", &[].into()));
    assert_eq!(made, Ok(Change::Done("sg-1".to_owned())));
}
