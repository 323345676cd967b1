//! Rules of nodes' groups for Network Load Balancers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use aerostat_sdk::testing::{Host, Request, answer};
use aerostat_sdk::{Error, Node, Result, SortedMap, SortedSet};

use super::nodes::{self, NlbNetwork};
use super::{IngressRule, Peers, RuleProtocol};
use crate::instance::GROUPS;
use crate::settings::ClusterMarks;
use crate::tests::{action, filter, host, refused, sent, value};

/// The rules of groups with the cluster's tag: protocol, port, range, description.
type Groups = SortedMap<&'static str, Vec<(&'static str, u16, &'static str, &'static str)>>;

fn cloud(groups: Groups) -> Host {
    cloud_without("", groups)
}

/// A cloud in which another Service ends as soon as a rule is revoked: its rules have this description.
fn cloud_without(other: &'static str, groups: Groups) -> Host {
    cloud_beside(other, None, groups)
}

/// The same cloud, in which another Service adds this rule before the first that is added.
fn cloud_beside(
    other: &'static str,
    added: Option<(&'static str, u16, &'static str, &'static str)>,
    groups: Groups,
) -> Host {
    let added = Cell::new(added);
    let groups = Rc::new(RefCell::new(groups));
    host(move |request| {
        let text = |name: &str, value: &str| format!("<{name}>{value}</{name}>");
        match action(request) {
            "DescribeSecurityGroups" => {
                let permission = |(protocol, port, range, description): &(&str, u16, &str, &str)| {
                    let to = if *protocol == "icmp" { 4 } else { *port };
                    let ports = text("fromPort", &port.to_string()) + &text("toPort", &to.to_string());
                    let peer = text("cidrIp", range) + &text("description", description);
                    text("item", &(text("ipProtocol", protocol) + &ports + &text("ipRanges", &text("item", &peer))))
                };
                let tag = text("tagSet", &text("item", "<key>kubernetes.io/cluster/prod</key><value>owned</value>"));
                let groups = groups.borrow();
                let asked = filter(request, "group-id");
                let shown = groups.iter().filter(|(id, _)| asked.is_empty() || asked.contains(*id));
                let group = |(id, rules): (&&str, &Vec<_>)| {
                    let rules: String = rules.iter().map(permission).collect();
                    text("item", &(text("groupId", id) + &text("ipPermissions", &rules) + &tag))
                };
                let groups: String = shown.map(group).collect();
                answer(200, text("R", &text("securityGroupInfo", &groups)))
            }
            "AuthorizeSecurityGroupIngress" => match added.take() {
                Some(rule) => {
                    groups.borrow_mut().get_mut(value(request, "GroupId").unwrap()).unwrap().push(rule);
                    refused(400, "InvalidPermission.Duplicate")
                }
                None => answer(200, "<R/>"),
            },
            "RevokeSecurityGroupIngress" => {
                let (group, revoked) = (value(request, "GroupId").unwrap(), rules_in(request));
                let mut groups = groups.borrow_mut();
                let rules = groups.get_mut(group).unwrap();
                rules.retain(|(protocol, port, range, description)| {
                    let is_revoked = revoked.iter().any(|it| *it == format!("{protocol} {port} {range} {description}"));
                    !is_revoked && *description != other
                });
                answer(200, "<R/>")
            }
            other => panic!("{other} {:?}", value(request, "GroupId")),
        }
    })
}

fn rule(protocol: RuleProtocol, port: u16, ranges: &[&str], description: &str) -> IngressRule {
    let ranges = ranges.iter().map(|it| (*it).to_owned()).collect();
    IngressRule {
        protocol,
        ports: Some((port, port)),
        peers: Peers::Ranges(ranges),
        description: description.to_owned(),
    }
}

/// Clients and health checks of load balancer `a`, and path MTU discovery.
fn rules(ranges: &[&str]) -> Vec<IngressRule> {
    let all: Vec<_> = ranges.iter().map(|it| (*it).to_owned()).collect();
    vec![
        rule(RuleProtocol::Tcp, 30_080, ranges, &nodes::client("a")),
        rule(RuleProtocol::Tcp, 10_256, &["10.1.0.0/24"], &nodes::health("a")),
        IngressRule::path_mtu(&all, nodes::mtu()).unwrap(),
    ]
}

const CLIENT_A: &str = "kubernetes.io/rule/nlb/client=a";
const HEALTH_A: &str = "kubernetes.io/rule/nlb/health=a";
const CLIENT_B: &str = "kubernetes.io/rule/nlb/client=b";
const MTU: &str = "kubernetes.io/rule/nlb/mtu";

/// The rules that [`rules`] leave for 10.0.0.0/8.
fn of_a() -> Vec<(&'static str, u16, &'static str, &'static str)> {
    vec![
        ("tcp", 30_080, "10.0.0.0/8", CLIENT_A),
        ("tcp", 10_256, "10.1.0.0/24", HEALTH_A),
        ("icmp", 3, "10.0.0.0/8", MTU),
    ]
}

fn on<T>(host: &Host, call: impl FnOnce(NlbNetwork<'_>) -> Result<T>) -> Result<T> {
    host.run(|| {
        let cluster = ClusterMarks::read()?;
        call(NlbNetwork { cluster: &cluster, name: "a", shared_port: 10_256 })
    })
}

/// Nodes of which the last list has told the group.
fn in_group(id: &str) -> Vec<Node> {
    let mut node = Node::named("n").with_provider_id("aws:///us-east-1a/i-1");
    node.extra.push((GROUPS.to_owned(), id.to_owned()));
    vec![node]
}

fn others(names: &[&str]) -> SortedSet<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

fn sync(host: &Host, group: &str, ranges: &[&str], others: &[&str]) -> Vec<String> {
    let others = self::others(others);
    on(host, |it| nodes::sync(it, &in_group(group), &rules(ranges), || Ok(others))).unwrap();
    writes(host)
}

/// The rules in a request, each with its description: "tcp 30080 10.0.0.0/8 of a".
fn rules_in(request: &Request) -> Vec<String> {
    let mut rules = Vec::new();
    for rule in 1.. {
        let of = |name: &str| value(request, &format!("IpPermissions.{rule}.{name}"));
        let Some(protocol) = of("IpProtocol") else { break };
        for peer in 1.. {
            let Some(range) = of(&format!("IpRanges.{peer}.CidrIp")) else { break };
            let (port, description) = (of("FromPort").unwrap(), of(&format!("IpRanges.{peer}.Description")));
            rules.push(format!("{protocol} {port} {range} {}", description.unwrap_or_default()));
        }
    }
    rules
}

/// The writes: "Authorize sg-1 tcp 30080 10.0.0.0/8".
fn writes(host: &Host) -> Vec<String> {
    let mut writes = Vec::new();
    for request in host.sent() {
        let Some(action) = action(&request).strip_suffix("SecurityGroupIngress") else { continue };
        for rule in 1.. {
            let of = |name: &str| value(&request, &format!("IpPermissions.{rule}.{name}"));
            let Some(protocol) = of("IpProtocol") else { break };
            let ranges = (1..).map_while(|it| of(&format!("IpRanges.{it}.CidrIp"))).collect::<Vec<_>>().join(",");
            let (group, port) = (value(&request, "GroupId").unwrap(), of("FromPort").unwrap());
            writes.push(format!("{action} {group} {protocol} {port} {ranges}"));
        }
    }
    writes
}

#[test]
fn aws_038_a_new_range_is_one_request() {
    let host = cloud([("sg-1", of_a())].into());
    let writes = sync(&host, "sg-1", &["10.0.0.0/8", "11.0.0.0/8"], &[]);
    assert_eq!(writes, ["Authorize sg-1 icmp 3 11.0.0.0/8", "Authorize sg-1 tcp 30080 11.0.0.0/8"]);
    assert_eq!(sent(&host).len(), 2, "one read, and one write");
    let host = cloud([("sg-1", of_a())].into());
    assert_eq!(sync(&host, "sg-1", &["10.0.0.0/8"], &[]), [""; 0]);
    assert_eq!(sent(&host).len(), 1, "{:?}", sent(&host));
}

#[test]
fn rules_are_written_with_descriptions() {
    let host = cloud([("sg-1", Vec::new())].into());
    sync(&host, "sg-1", &["10.0.0.0/8", "2001:db8::/32"], &[]);
    let rule = |number: u8, protocol: &str, from: u16, to: u16| {
        let it = format!("IpPermissions.{number}");
        format!("{it}.IpProtocol={protocol} {it}.FromPort={from} {it}.ToPort={to} {it}")
    };
    let ranges = |description: &str, number: u8| {
        format!(
            ".IpRanges.1.CidrIp=10.0.0.0/8 IpPermissions.{number}.IpRanges.1.Description={description} \
             IpPermissions.{number}.Ipv6Ranges.1.CidrIpv6=2001:db8::/32 \
             IpPermissions.{number}.Ipv6Ranges.1.Description={description}"
        )
    };
    let health =
        ".IpRanges.1.CidrIp=10.1.0.0/24 IpPermissions.2.IpRanges.1.Description=kubernetes.io/rule/nlb/health=a";
    let expected = [
        "Action=AuthorizeSecurityGroupIngress GroupId=sg-1".to_owned(),
        rule(1, "icmp", 3, 4) + &format!(".IpRanges.1.CidrIp=10.0.0.0/8 IpPermissions.1.IpRanges.1.Description={MTU}"),
        rule(2, "tcp", 10_256, 10_256) + health,
        rule(3, "tcp", 30_080, 30_080) + &ranges(CLIENT_A, 3),
    ];
    assert_eq!(sent(&host)[1], expected.join(" "));
}

#[test]
fn a_group_without_nodes_lets_nobody_in_any_more() {
    let host = cloud([("sg-1", of_a()), ("sg-2", of_a())].into());
    let writes = sync(&host, "sg-1", &["10.0.0.0/8"], &[]);
    let expected =
        ["Revoke sg-2 icmp 3 10.0.0.0/8", "Revoke sg-2 tcp 10256 10.1.0.0/24", "Revoke sg-2 tcp 30080 10.0.0.0/8"];
    assert_eq!(writes, expected);
}

#[test]
fn rules_of_other_services_stay() {
    let mut both = of_a();
    both.push(("tcp", 30_081, "12.0.0.0/8", CLIENT_B));
    both.push(("icmp", 3, "12.0.0.0/8", MTU));
    both.push(("tcp", 22, "0.0.0.0/0", "a person's"));
    let host = cloud([("sg-1", both)].into());
    // Nobody else has to be listed: the group says whose ranges they are.
    assert_eq!(sync(&host, "sg-1", &["10.0.0.0/8"], &[]), [""; 0]);
}

#[test]
fn a_shared_rule_goes_with_its_last_load_balancer() {
    let revoke = |groups: Groups, others: Result<SortedSet<String>>| {
        let host = cloud(groups);
        let revoked = on(&host, |it| nodes::revoke(it, &[30_080, 10_256].into(), || others));
        (revoked, writes(&host))
    };
    let of_a = || Groups::from([("sg-1", of_a())]);
    let own = "Revoke sg-1 tcp 30080 10.0.0.0/8".to_owned();
    let shared = ["Revoke sg-1 icmp 3 10.0.0.0/8", "Revoke sg-1 tcp 10256 10.1.0.0/24"].map(str::to_owned);
    let all = [&shared[..], std::slice::from_ref(&own)].concat();
    assert_eq!(revoke(of_a(), Ok(others(&[]))), (Ok(()), all));
    // Of one that has just been made no rules are there yet.
    assert_eq!(revoke(of_a(), Ok(others(&["b"]))), (Ok(()), vec![own.clone()]));
    // One whose clients come from elsewhere may still be checked at kube-proxy's port.
    let mut both = of_a();
    both.get_or_default("sg-1").push(("tcp", 30_081, "12.0.0.0/8", CLIENT_B));
    assert_eq!(revoke(both, Ok(others(&["b"]))), (Ok(()), vec![shared[0].clone(), own.clone()]));
    let mut same = of_a();
    same.get_or_default("sg-1").push(("tcp", 30_081, "10.0.0.0/8", CLIENT_B));
    assert_eq!(revoke(same, Ok(others(&["b"]))), (Ok(()), vec![own]));
    let error = Error::unavailable("the list was cut");
    assert_eq!(revoke(of_a(), Err(error.clone())), (Err(error), Vec::new()), "nothing is guessed");
}

#[test]
fn a_shared_rule_goes_with_two_that_go_at_once() {
    let mut both = of_a();
    both.push(("tcp", 30_081, "10.0.0.0/8", CLIENT_B));
    let host = cloud_without(CLIENT_B, [("sg-1", both)].into());
    on(&host, |it| nodes::revoke(it, &SortedSet::new(), || Ok(others(&[])))).unwrap();
    let first = ["Revoke sg-1 tcp 10256 10.1.0.0/24", "Revoke sg-1 tcp 30080 10.0.0.0/8"];
    assert_eq!(writes(&host), [&first[..], &["Revoke sg-1 icmp 3 10.0.0.0/8"]].concat());
}

#[test]
fn a_shared_rule_that_another_has_added_is_no_failure() {
    let mtu = of_a().into_iter().find(|it| it.0 == "icmp").unwrap();
    let host = cloud_beside("", Some(mtu), [("sg-1", Vec::new())].into());
    let others = ["Authorize sg-1 tcp 10256 10.1.0.0/24", "Authorize sg-1 tcp 30080 10.0.0.0/8"];
    let all = [&["Authorize sg-1 icmp 3 10.0.0.0/8"], &others[..]].concat();
    assert_eq!(sync(&host, "sg-1", &["10.0.0.0/8"], &[]), [all, others.to_vec()].concat());
}

#[test]
fn a_shared_rule_of_one_that_is_gone_goes_too() {
    let left = vec![
        ("tcp", 10_256, "10.1.0.0/24", "kubernetes.io/rule/nlb/health=gone"),
        ("tcp", 30_081, "1.0.0.0/8", CLIENT_B),
    ];
    let host = cloud([("sg-1", left)].into());
    on(&host, |it| nodes::revoke(it, &SortedSet::new(), || Ok(others(&[])))).unwrap();
    assert_eq!(writes(&host), ["Revoke sg-1 tcp 10256 10.1.0.0/24"]);
}
