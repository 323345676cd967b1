//! The security group of a load balancer: it lets the load balancer's subnet in, and stands on the ports of its nodes.

use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Change, Error, LoadBalancer, Protocol, Result, log};

use super::desired::{DesiredBalancer, OVN, family_of, node_address};
use super::names;
use crate::api::neutron::groups::{self, GroupRule, RuleTraffic};
use crate::api::neutron::{self, ServerPort};

/// The most ports that one call gives a group, or takes it from: the host counts requests.
const MOST: usize = 30;
/// The most of what one call takes away: by default the host lets ten leave.
const MOST_REMOVALS: usize = 8;

/// The facts that decide about a security group.
pub(crate) struct NodeGroup<'a> {
    /// The Service.
    pub(crate) service: &'a LoadBalancer,
    /// The load balancer that it asks for.
    pub(crate) desired: &'a DesiredBalancer,
    /// The driver.
    pub(crate) driver: &'a str,
    /// The subnet from which nodes are reached.
    pub(crate) member_subnet: Option<&'a str>,
}

impl NodeGroup<'_> {
    /// Makes the group, its rules, and puts it on the ports of the nodes.
    ///
    /// # Errors
    ///
    /// Whatever Neutron answered.
    pub(crate) fn ensure(&self, warnings: &mut Warnings) -> Result<Change<()>> {
        let Some(subnet) = self.member_subnet else {
            let why = "no security group is made: set loadBalancers.memberSubnetID, or annotation member-subnet-id, to the nodes' subnet";
            warnings.add("LoadBalancerSecurityGroupSkipped", why);
            return Ok(Change::Done(()));
        };
        let name = names::security_group(&self.service.owner);
        let group = match find(self.service)? {
            Some(id) => id,
            None => groups::make(&name, &names::group_description(&self.service.owner))?.id,
        };
        let network = neutron::subnet(subnet)?.cidr;
        let rules = groups::rules(&group)?;
        let wanted = wanted(self.service, self.desired, self.driver, &network);
        for missing in wanted.iter().filter(|it| !rules.iter().any(|rule| is_same(rule, it))) {
            groups::make_rule(&group, missing)?;
        }
        let unwanted: Vec<_> = rules.iter().filter(|rule| !wanted.iter().any(|it| is_same(rule, it))).collect();
        for rule in unwanted.iter().take(MOST_REMOVALS) {
            groups::delete_rule(&rule.id)?;
        }
        if unwanted.len() > MOST_REMOVALS {
            return Ok(Change::Busy(format!("security group {name} has more rules to lose")));
        }
        self.cover(&group, subnet, warnings)
    }

    /// Puts the group on the nodes' ports in the subnet, and takes it from those that are no nodes' any more.
    fn cover(&self, group: &str, subnet: &str, warnings: &mut Warnings) -> Result<Change<()>> {
        let (ids, unknown) = server_ids(self.service);
        if !unknown.is_empty() {
            let nodes = aerostat_sdk::nodes::named(&unknown);
            let why =
                format!("security groups are not put on the ports of nodes whose server is not known yet: {nodes}");
            log::info(&why, &[]);
        }
        let addresses: Vec<_> =
            self.service.nodes.iter().filter_map(|it| node_address(it, self.desired.family())).collect();
        let is_member = |port: &ServerPort| {
            let is_at = |it: &neutron::FixedIp| it.subnet_id == subnet && addresses.contains(&&*it.ip_address);
            port.fixed_ips.iter().any(is_at)
        };
        let ports = neutron::ports_of(&ids)?;
        let lacks = |port: &&ServerPort| {
            is_member(port)
                && port.port_security_enabled != Some(false)
                && !port.security_groups.iter().any(|it| it == group)
        };
        let mut left = MOST;
        let mut refused = None;
        for port in ports.iter().filter(lacks) {
            if left == 0 {
                return Ok(Change::Busy("more ports of nodes get the security group".to_owned()));
            }
            left -= 1;
            let all: Vec<_> = port.security_groups.iter().map(String::as_str).chain([group]).collect();
            match neutron::set_groups(port, &all) {
                Ok(Change::Done(())) => {}
                Ok(busy @ Change::Busy(_)) => return Ok(busy),
                // One port that cannot have it takes nothing from the others.
                Err(error @ (Error::Invalid(_) | Error::Denied(_))) => refused = Some((port.id.clone(), error)),
                Err(error) => return Err(error),
            }
        }
        if let Some((port, error)) = refused {
            warnings.add(
                "LoadBalancerSecurityGroupRefused",
                format_args!("port {port} gets no security group: {}", error.why()),
            );
        }
        if !unknown.is_empty() {
            return Ok(Change::Done(()));
        }
        let is_node = |port: &ServerPort| ports.iter().any(|it| it.id == port.id) && is_member(port);
        let holders = neutron::ports_with_group(group)?;
        let former: Vec<_> = holders.into_iter().filter(|it| !is_node(it)).collect();
        uncover(&former, group)
    }
}

/// Deletes the security group of a Service, if there is one, and takes it from ports first.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn remove(service: &LoadBalancer) -> Result<Change<()>> {
    let Some(group) = find(service)? else { return Ok(Change::Done(())) };
    let ports = neutron::ports_with_group(&group)?;
    uncover(&ports, &group)?.and_then(|()| groups::delete(&group))
}

/// Takes a group from ports.
fn uncover(ports: &[ServerPort], group: &str) -> Result<Change<()>> {
    for port in ports.iter().take(MOST_REMOVALS) {
        let others: Vec<_> = port.security_groups.iter().map(String::as_str).filter(|it| *it != group).collect();
        if let busy @ Change::Busy(_) = neutron::set_groups(port, &others)? {
            return Ok(busy);
        }
    }
    if ports.len() > MOST_REMOVALS {
        return Ok(Change::Busy("more ports lose the security group".to_owned()));
    }
    Ok(Change::Done(()))
}

/// The id of a Service's security group: its name holds the Service's UID.
fn find(service: &LoadBalancer) -> Result<Option<String>> {
    let name = names::security_group(&service.owner);
    let found = if service.is_listed() { groups::all()? } else { groups::named(&name)? };
    Ok(found.into_iter().find(|it| it.name == name).map(|it| it.id))
}

/// The ids of the servers behind nodes, and the names of nodes whose server is not known.
fn server_ids(service: &LoadBalancer) -> (Vec<&str>, Vec<&str>) {
    let mut known = (Vec::new(), Vec::new());
    for node in &service.nodes {
        let id = node.provider_id.as_deref().and_then(|it| it.rsplit('/').next()).filter(|it| !it.is_empty());
        match id {
            Some(id) => known.0.push(id),
            None => known.1.push(node.name.as_str()),
        }
    }
    known
}

/// The rules that the group has.
fn wanted(service: &LoadBalancer, desired: &DesiredBalancer, driver: &str, network: &str) -> Vec<RuleTraffic> {
    let rule = |protocol: Protocol, port: u16, from: &str| RuleTraffic {
        direction: "ingress".to_owned(),
        ethertype: match family_of(from) {
            Some(aerostat_sdk::IpFamily::Ipv6) => "IPv6".to_owned(),
            _ => "IPv4".to_owned(),
        },
        protocol: Some(protocol.as_str().to_ascii_lowercase()),
        port_range_min: Some(port),
        port_range_max: Some(port),
        remote_ip_prefix: Some(from.to_owned()),
    };
    // A load balancer that is no proxy passes the clients' own addresses on.
    let from: Vec<&str> =
        if driver == OVN { desired.ranges.iter().map(String::as_str).collect() } else { vec![network] };
    let mut rules = Vec::new();
    if let aerostat_sdk::ExternalTrafficPolicy::Local(port) = service.external_traffic_policy
        && port != 0
    {
        rules.push(rule(Protocol::Tcp, port, network));
    }
    for port in &desired.listeners {
        for from in &from {
            rules.extend(port.node_port.map(|node_port| rule(port.transport, node_port, from)));
        }
    }
    let mut once: Vec<RuleTraffic> = Vec::new();
    for rule in rules {
        if !once.contains(&rule) {
            once.push(rule);
        }
    }
    once
}

/// Whether a rule lets in what it should.
fn is_same(rule: &GroupRule, wanted: &RuleTraffic) -> bool {
    rule.traffic == *wanted
}
