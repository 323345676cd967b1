//! Security groups: those that a Network Load Balancer has, and the rules by which nodes let it in.

use aerostat_sdk::{Change, Error, IpFamily, Result, SortedSet};

use super::desired::{DesiredNlb, TRAFFIC_PORT};
use super::names;
use crate::api::ec2::security_groups::{self as api, SecurityGroup};
use crate::api::ec2::subnets::Subnet;
use crate::api::elbv2::load_balancers;
use crate::inventory;
use crate::load_balancer::annotations::SECURITY_GROUPS;
use crate::load_balancer::call::ServiceCall;
use crate::load_balancer::marks::Ownership;
use crate::load_balancer::preflight;
use crate::load_balancer::security_groups::{IngressRule, Peers, RuleProtocol, nodes, own};
use crate::settings::{ClusterMarks, NetworkGroups};
use crate::tags::OWNED;

/// The description of a load balancer's own group, as the vendor's controller writes it.
const DESCRIPTION: &str = "[k8s] Managed SecurityGroup for LoadBalancer";

/// The security groups that a load balancer should have.
pub(super) struct Groups {
    pub(super) ids: Vec<String>,
    /// The one that is its own, whose rules are written.
    own: Option<SecurityGroup>,
}

/// The groups of a load balancer that is made, or that has these; `None`, if it keeps what it has: one that was made
/// without can never get any. Its own is made, if it is missing.
///
/// # Errors
///
/// `invalid`, if another's group has the name; whatever EC2 answered.
pub(super) fn wanted(call: &ServiceCall<'_>, live: Option<&SortedSet<String>>) -> Result<Change<Option<Groups>>> {
    if call.settings.network_groups == NetworkGroups::None || live.is_some_and(SortedSet::is_empty) {
        return Ok(Change::Done(None));
    }
    if let Some(ids) = call.annotations.read(&SECURITY_GROUPS)? {
        return Ok(Change::Done(Some(Groups { ids, own: None })));
    }
    let (cluster, name) = (&call.settings.cluster, names::security_group(&call.service.owner));
    let group = match own::find(cluster, &name)? {
        Some(group) if is_own(call, &group) => group,
        Some(group) => {
            return Err(Error::invalid(format_args!(
                "security group {} has the name {name}, and cannot be proven to be this Service's: it is not touched",
                group.id
            )));
        }
        None => match own::create(cluster, &name, DESCRIPTION, &call.marks.tags())? {
            Change::Done(group) => group,
            Change::Busy(why) => return Ok(Change::Busy(why)),
        },
    };
    Ok(Change::Done(Some(Groups { ids: vec![group.id.clone()], own: Some(group) })))
}

/// Writes the rules of the load balancer's own group, and lets it have its groups.
///
/// # Errors
///
/// Whatever AWS answered.
pub(super) fn write(
    call: &ServiceCall<'_>,
    wanted: &Groups,
    desired: &DesiredNlb,
    ranges: &[String],
    live: (&str, &SortedSet<String>),
) -> Result<Change<()>> {
    if let Some(group) = &wanted.own {
        own::sync(group, &own_rules(desired, ranges))?;
    }
    let (arn, has) = live;
    let ids: SortedSet<&String> = wanted.ids.iter().collect();
    if !ids.iter().copied().eq(has) {
        load_balancers::set_groups(arn, &wanted.ids)?;
    }
    // Another's groups took the place of its own.
    if wanted.own.is_none() { delete_own(call) } else { Ok(Change::Done(())) }
}

/// Deletes the security groups that were made for the Service's load balancer: by their tags, or by the name, which
/// holds the UID. Busy, as long as network interfaces of the load balancer have them.
///
/// # Errors
///
/// Whatever EC2 answered.
pub(super) fn delete_own(call: &ServiceCall<'_>) -> Result<Change<()>> {
    let prefix = names::prefix(&call.service.owner);
    for group in api::tagged(&call.settings.cluster)? {
        if group.name.starts_with(&prefix)
            && is_own(call, &group)
            && let busy @ Change::Busy(_) = own::delete(&group.id)?
        {
            return Ok(busy);
        }
    }
    Ok(Change::Done(()))
}

/// Whether a group is the Service's own. That of the vendor's controller has no tag of the Service: its name, which
/// holds the Service's UID, and the cluster's tag say it.
fn is_own(call: &ServiceCall<'_>, group: &SecurityGroup) -> bool {
    let cluster = &call.settings.cluster;
    let is_owned = |(key, value): (&String, &String)| {
        cluster.owns(key, value) && (key == ClusterMarks::LEGACY_TAG || value == OWNED)
    };
    match call.marks.ownership(&group.tags) {
        Ownership::Marked => true,
        Ownership::ByName | Ownership::Nobody => {
            group.name == names::security_group(&call.service.owner) && group.tags.iter().any(is_owned)
        }
        Ownership::Other(_) => false,
    }
}

/// Lets the load balancer into the nodes: its clients at the node ports, and its health checks, which come from its
/// subnets.
///
/// # Errors
///
/// Whatever EC2 answered.
pub(super) fn admit(call: &ServiceCall<'_>, desired: &DesiredNlb, ranges: &[String], subnets: &[Subnet]) -> Result<()> {
    let name = &call.service.name;
    let rules = node_rules(name, desired, ranges, subnets);
    nodes::sync(network(call), &call.service.nodes, &rules, || inventory::other_networks(&call.settings, name))
}

/// Lets the load balancer into the nodes no longer.
///
/// # Errors
///
/// Whatever EC2 answered.
pub(super) fn refuse(call: &ServiceCall<'_>) -> Result<()> {
    if call.settings.keep_node_groups {
        return Ok(());
    }
    let ports = call.service.ports.iter().filter_map(|it| it.node_port).collect();
    nodes::revoke(network(call), &ports, || inventory::other_networks(&call.settings, &call.service.name))
}

fn network<'a>(call: &'a ServiceCall<'_>) -> nodes::NlbNetwork<'a> {
    let settings = &call.settings;
    nodes::NlbNetwork { cluster: &settings.cluster, name: &call.service.name, shared_port: settings.probe_port }
}

/// The families in which clients come.
pub(super) fn families(is_dual_stack: bool) -> &'static [IpFamily] {
    if is_dual_stack { &[IpFamily::Ipv4, IpFamily::Ipv6] } else { &[IpFamily::Ipv4] }
}

/// From where clients come, as the Service asks for it.
///
/// # Errors
///
/// As [`preflight::source_ranges`].
pub(super) fn ranges(call: &ServiceCall<'_>, is_dual_stack: bool) -> Result<Vec<String>> {
    preflight::source_ranges(call, families(is_dual_stack))
}

fn protocol(desired: &DesiredNlb) -> RuleProtocol {
    // What carries TLS is TCP to a security group.
    if desired.listeners.iter().any(|it| it.protocol == "UDP") { RuleProtocol::Udp } else { RuleProtocol::Tcp }
}

fn rule(protocol: RuleProtocol, port: u16, ranges: &[String], description: &str) -> IngressRule {
    let (peers, description) = (Peers::Ranges(ranges.to_vec()), description.to_owned());
    IngressRule { protocol, ports: Some((port, port)), peers, description }
}

/// The rules of the load balancer's own group: clients may come to its listeners.
fn own_rules(desired: &DesiredNlb, ranges: &[String]) -> Vec<IngressRule> {
    let listeners = desired.listeners.iter().map(|it| rule(protocol(desired), it.port, ranges, ""));
    listeners.chain(IngressRule::path_mtu(ranges, "")).collect()
}

/// The rules of nodes' groups. Nodes see the clients' addresses, but for those of IPv6 clients at IPv4 nodes: there
/// they see the load balancer's own.
fn node_rules(name: &str, desired: &DesiredNlb, ranges: &[String], subnets: &[Subnet]) -> Vec<IngressRule> {
    let groups = || desired.listeners.iter().map(|it| &it.group);
    let own: Vec<String> = subnets.iter().flat_map(|it| it.ipv4.iter().chain(&it.ipv6)).cloned().collect();
    let own_ipv4: Vec<String> = own.iter().filter(|it| !it.contains(':')).cloned().collect();
    let is_translated = ranges.iter().any(|it| it.contains(':')) && groups().any(|it| !it.is_ipv6);
    let covers = |ranges: &[String]| ranges.iter().any(|it| it == "0.0.0.0/0");
    let mut clients = ranges.to_vec();
    if is_translated && !covers(ranges) {
        clients.extend(own_ipv4.iter().filter(|it| !ranges.contains(it)).cloned());
    }
    let client = nodes::client(name);
    let client_ports: SortedSet<u16> = groups().map(|it| it.port).collect();
    let health_ports: SortedSet<u16> = groups().map(health_port).collect();
    let is_ipv6 = groups().any(|it| it.is_ipv6);
    let checks: &[String] = if is_ipv6 { &own } else { &own_ipv4 };
    let is_covered =
        covers(ranges) && !is_ipv6 && protocol(desired) == RuleProtocol::Tcp && health_ports == client_ports;
    let mut rules: Vec<_> = client_ports.iter().map(|it| rule(protocol(desired), *it, &clients, &client)).collect();
    if !is_covered {
        let health = nodes::health(name);
        rules.extend(health_ports.iter().map(|it| rule(RuleProtocol::Tcp, *it, checks, &health)));
    }
    if !client_ports.is_empty() {
        rules.extend(IngressRule::path_mtu(&clients, nodes::mtu()));
    }
    rules
}

fn health_port(group: &super::desired::DesiredGroup) -> u16 {
    match &*group.health.port {
        TRAFFIC_PORT => group.port,
        port => port.parse().unwrap_or(group.port),
    }
}

#[cfg(test)]
mod tests;
