//! Steps between values.

use super::*;
use crate::api::elbv2::load_balancers::AnyLoadBalancer;

const BALANCER: &str = "arn:lb";

fn group_of(name: &str, port: u16) -> DesiredGroup {
    let health = TargetHealth {
        protocol: "TCP".to_owned(),
        port: "traffic-port".to_owned(),
        path: None,
        interval: 30,
        timeout: None,
        healthy: 3,
        unhealthy: 3,
    };
    DesiredGroup { name: name.to_owned(), protocol: "TCP", port, is_ipv6: false, health }
}

fn wanted(port: u16, name: &str) -> DesiredListener {
    DesiredListener { port, protocol: "TCP", policy: None, certificate: None, group: group_of(name, 30_000 + port) }
}

fn shown(wanted: &DesiredListener, ownership: Ownership) -> live::LiveGroup {
    let DesiredGroup { name, protocol, port, health, .. } = wanted.group.clone();
    let shown = TargetGroup {
        arn: format!("arn:{name}"),
        name,
        protocol: protocol.to_owned(),
        port,
        target_type: "instance".to_owned(),
        address_type: "ipv4".to_owned(),
        vpc: "vpc-1".to_owned(),
        health: TargetHealth { timeout: Some(10), ..health },
        balancers: vec![BALANCER.to_owned()],
    };
    live::LiveGroup { shown, ownership, is_attached: true }
}

fn live(listeners: &[(u16, &str)], groups: Vec<live::LiveGroup>) -> Live {
    let listener = |(port, to): &(u16, &str)| LiveListener {
        arn: format!("arn:{port}"),
        port: *port,
        protocol: "TCP".to_owned(),
        target_group: Some(format!("arn:{to}")),
        ..LiveListener::default()
    };
    Live {
        balancer: AnyLoadBalancer { arn: BALANCER.to_owned(), vpc: "vpc-1".to_owned(), ..AnyLoadBalancer::default() },
        ownership: Ownership::ByName,
        listeners: listeners.iter().map(listener).collect(),
        groups,
        attributes: Attributes::new(),
        tags: SortedMap::new(),
    }
}

fn found<'a>(wanted: &DesiredListener, live: &'a Live) -> Option<&'a str> {
    group(wanted, live).unwrap().map(|it| &*it.name)
}

#[test]
fn the_group_of_a_listener_is_kept_whatever_its_name() {
    let wanted = wanted(80, "new-name");
    let old = DesiredListener {
        group: DesiredGroup { name: "old-name".to_owned(), ..wanted.group.clone() },
        ..wanted.clone()
    };
    let with = |ownership| live(&[(80, "old-name")], vec![shown(&old, ownership)]);
    assert_eq!(found(&wanted, &with(Ownership::ByName)), Some("old-name"));
    assert_eq!(found(&wanted, &with(Ownership::Nobody)), Some("old-name"), "its load balancer says whose it is");
    assert_eq!(found(&wanted, &with(Ownership::Other("x".to_owned()))), None);
    let mut other = with(Ownership::Marked);
    other.groups[0].shown.health.interval = 10;
    assert_eq!(found(&wanted, &other), None, "it cannot be changed");
}

#[test]
fn a_group_that_was_made_before_is_found_by_its_name() {
    let wanted = wanted(80, "web");
    let mut made = live(&[], vec![shown(&wanted, Ownership::Marked)]);
    made.groups[0].is_attached = false;
    made.groups[0].shown.balancers.clear();
    assert_eq!(found(&wanted, &made), Some("web"));
    made.groups[0].shown.balancers.push("arn:another".to_owned());
    assert!(group(&wanted, &made).is_err(), "another load balancer sends to it");
    made.groups[0].shown.balancers.clear();
    made.groups[0].shown.vpc = "vpc-2".to_owned();
    assert!(group(&wanted, &made).is_err(), "it is in another network");
    made.groups[0].shown.vpc = "vpc-1".to_owned();
    made.groups[0].ownership = Ownership::Nobody;
    assert!(group(&wanted, &made).is_err(), "nothing says whose it is");
}

#[test]
fn a_change_of_checks_has_the_fields_that_differ() {
    let desired = group_of("web", 30_080).health;
    let live = TargetHealth { timeout: Some(10), path: Some("/".to_owned()), ..desired.clone() };
    assert_eq!(health_change(&live, &desired), ChecksChange::default());
    let http = TargetHealth { path: Some("/a".to_owned()), timeout: Some(5), ..desired.clone() };
    let change = ChecksChange { path: Some("/a".to_owned()), timeout: Some(5), ..ChecksChange::default() };
    assert_eq!(health_change(&live, &http), change);
    let change = ChecksChange { healthy: Some(3), unhealthy: Some(2), ..ChecksChange::default() };
    assert_eq!(health_change(&live, &TargetHealth { unhealthy: 2, ..desired }), change);
}

#[test]
fn attributes_that_are_not_shown_are_off() {
    let of = |pairs: &[(&str, &str)]| -> Attributes {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let off = of(&[(CROSS_ZONE_ENABLED, "false"), (LOGS_ENABLED, "false"), ("access_logs.s3.prefix", "")]);
    assert_eq!(changed_attributes(&off, &Attributes::new()), Attributes::new());
    let attribute = of(&[("proxy_protocol_v2.enabled", "false")]);
    assert_eq!(changed_attributes(&attribute, &Attributes::new()), attribute, "of a group they are set as asked for");
    assert_eq!(changed_attributes(&off, &of(&[(CROSS_ZONE_ENABLED, "true")])), of(&[(CROSS_ZONE_ENABLED, "false")]));
}

#[test]
fn left_over_groups_are_deleted_only_with_proof() {
    let old = wanted(81, "old");
    let deletable = |ownership, is_attached, elsewhere: bool| {
        let mut group = shown(&old, ownership);
        group.is_attached = is_attached;
        group.shown.balancers = if elsewhere { vec!["arn:another".to_owned()] } else { Vec::new() };
        is_deletable(&group)
    };
    assert!(deletable(Ownership::Marked, false, false));
    assert!(deletable(Ownership::ByName, true, false));
    assert!(!deletable(Ownership::Marked, false, true), "another load balancer sends to it");
    assert!(!deletable(Ownership::ByName, false, false), "names alone");
    assert!(!deletable(Ownership::Nobody, true, false) && !deletable(Ownership::Other(String::new()), true, false));
}

#[test]
fn targets_are_registered_before_others_go() {
    let live = [("i-1".to_owned(), 1), ("i-2".to_owned(), 1)].into();
    let steps: Vec<_> = target_steps("arn", &live, &["i-2".to_owned(), "i-3".to_owned()].into(), 1).collect();
    let add = NlbStep::Register { to: TargetGroupRef::There("arn".to_owned()), targets: vec![("i-3".to_owned(), 1)] };
    let remove = NlbStep::Deregister { arn: "arn".to_owned(), targets: vec![("i-1".to_owned(), 1)] };
    assert_eq!(steps, [add, remove]);
}
