//! The rules of security groups.

use super::super::desired::{DesiredGroup, DesiredListener};
use super::*;
use crate::api::elbv2::Attributes;
use crate::api::elbv2::target_groups::TargetHealth;

fn desired(protocol: &'static str, health_port: &str, is_ipv6: bool) -> DesiredNlb {
    let health = TargetHealth { port: health_port.to_owned(), ..TargetHealth::default() };
    let plain = if protocol == "UDP" { "UDP" } else { "TCP" };
    let group = DesiredGroup { name: String::new(), protocol: plain, port: 30_080, is_ipv6, health };
    let listener = DesiredListener { port: 80, protocol, policy: None, certificate: None, group };
    let (attributes, group_attributes) = (Attributes::new(), Attributes::new());
    DesiredNlb { is_internal: false, listeners: vec![listener], attributes, group_attributes }
}

/// The rules of nodes, a line each.
fn rules(desired: &DesiredNlb, ranges: &[&str]) -> Vec<String> {
    let subnet =
        Subnet { ipv4: Some("10.0.1.0/24".to_owned()), ipv6: vec!["2001:db8::/64".to_owned()], ..Subnet::default() };
    let ranges: Vec<_> = ranges.iter().map(|it| (*it).to_owned()).collect();
    let line = |rule: IngressRule| {
        let Peers::Ranges(ranges) = rule.peers else { panic!("{rule:?}") };
        let kind = rule.description.trim_start_matches("kubernetes.io/rule/nlb/").split('=').next().unwrap().to_owned();
        format!("{kind} {:?} {} {}", rule.protocol, rule.ports.unwrap().0, ranges.join(","))
    };
    node_rules("a1", desired, &ranges, &[subnet]).into_iter().map(line).collect()
}

#[test]
fn health_checks_are_let_in_where_clients_are_not() {
    let everywhere = ["0.0.0.0/0"];
    let covered = ["client Tcp 30080 0.0.0.0/0", "mtu Icmp 3 0.0.0.0/0"];
    assert_eq!(rules(&desired("TCP", "traffic-port", false), &everywhere), covered);
    assert_eq!(rules(&desired("TLS", "traffic-port", false), &everywhere), covered, "TLS is TCP");
    let other_port = ["client Tcp 30080 0.0.0.0/0", "health Tcp 10256 10.0.1.0/24", "mtu Icmp 3 0.0.0.0/0"];
    assert_eq!(rules(&desired("TCP", "10256", false), &everywhere), other_port);
    let udp = ["client Udp 30080 0.0.0.0/0", "health Tcp 30080 10.0.1.0/24", "mtu Icmp 3 0.0.0.0/0"];
    assert_eq!(rules(&desired("UDP", "traffic-port", false), &everywhere), udp, "checks are by TCP");
}

#[test]
fn clients_of_both_families_are_let_in() {
    let both = ["10.0.0.0/8", "2001:db8:7::/48"];
    let translated = [
        "client Tcp 30080 10.0.0.0/8,2001:db8:7::/48,10.0.1.0/24",
        "health Tcp 30080 10.0.1.0/24",
        "mtu Icmp 3 10.0.0.0/8,10.0.1.0/24",
    ];
    assert_eq!(rules(&desired("TCP", "traffic-port", false), &both), translated, "nodes see IPv6 clients by IPv4");
    let ipv6 = ["client Tcp 30080 ::/0", "health Tcp 30080 10.0.1.0/24,2001:db8::/64"];
    assert_eq!(rules(&desired("TCP", "traffic-port", true), &["::/0"]), ipv6);
}

#[test]
fn the_own_group_lets_clients_come_to_listeners() {
    let own = own_rules(&desired("TLS", "traffic-port", false), &["0.0.0.0/0".to_owned()]);
    let expected = rule(RuleProtocol::Tcp, 80, &["0.0.0.0/0".to_owned()], "");
    assert_eq!(own, [expected, IngressRule::path_mtu(&["0.0.0.0/0".to_owned()], "").unwrap()]);
}

#[test]
fn without_ports_nothing_is_let_in() {
    let none = DesiredNlb { listeners: Vec::new(), ..desired("TCP", "traffic-port", false) };
    assert_eq!(rules(&none, &["10.0.0.0/8"]), [""; 0]);
}
