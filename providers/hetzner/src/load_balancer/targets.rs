//! Which machines take traffic, and how they are reached.

use std::net::IpAddr;

use aerostat_sdk::events::Warnings;
use aerostat_sdk::nodes::named;
use aerostat_sdk::{AddressKind, IpFamily, Node, SortedMap};

use crate::api::load_balancers::{LoadBalancer as Live, Target, To};
use crate::dedicated::SERVER_IP;
use crate::machine::Machine;
use crate::server::{PRIVATE, PUBLIC};

const WITHOUT_ROBOT: &str = "setting robot.enabled is not true, and dedicated servers are";

/// The machines behind the nodes, by how they are reached. Each has the name of its node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct MachineTargets {
    pub(super) nodes: SortedMap<To, String>,
    /// Whether cloud servers are reached through the private network.
    pub(super) use_private_ip: bool,
}

/// Why nodes take no traffic.
#[derive(Default)]
struct Skipped<'a>(SortedMap<(&'static str, &'static str), Vec<&'a str>>);

impl MachineTargets {
    /// Those of `nodes` that can be reached.
    pub(super) fn of(nodes: &[Node], use_private_ip: bool, robot: bool, warnings: &mut Warnings) -> Self {
        let mut targets = Vec::new();
        let mut skipped = Skipped::default();
        for node in nodes {
            match target(node, use_private_ip, robot) {
                Ok(to) => targets.push((to, node.name.clone())),
                Err(reason) => skipped.0.get_or_default(reason).push(&node.name),
            }
        }
        skipped.warn(warnings);
        Self { nodes: targets.into_iter().collect(), use_private_ip }
    }

    /// As a creation asks for them.
    pub(super) fn all(&self) -> Vec<Target> {
        self.nodes.keys().map(|it| self.target(it)).collect()
    }

    /// One of them, as a request asks for it.
    pub(super) fn target(&self, to: &To) -> Target {
        Target { to: to.clone(), use_private_ip: self.is_private(to) }
    }

    /// Whether the private network leads to this one. A dedicated server's address says it itself.
    pub(super) fn is_private(&self, to: &To) -> bool {
        self.use_private_ip && matches!(to, To::Server(_))
    }

    /// Leaves out what is more than `most`: those that are targets already stay first.
    pub(super) fn keep(&mut self, most: usize, live: &[Target], warnings: &mut Warnings) {
        let others = live.iter().filter(|it| matches!(it.to, To::Other(_))).count();
        let most = most.saturating_sub(others);
        if self.nodes.len() <= most {
            return;
        }
        let (is, new): (Vec<_>, Vec<_>) = self.nodes.iter().partition(|(to, _)| live.iter().any(|it| same(&it.to, to)));
        let left_out: Vec<_> =
            is.into_iter().chain(new).skip(most).map(|(to, name)| (to.clone(), name.clone())).collect();
        let names: Vec<_> = left_out.iter().map(|(_, name)| name.as_str()).collect();
        let why = format!(
            "its type takes {most} nodes, and {} are left out: {}; choose a larger type",
            names.len(),
            named(&names)
        );
        warnings.add("MaxTargetsReached", why);
        for (to, _) in left_out {
            self.nodes.remove(&to);
        }
    }
}

/// Whether two targets are one: addresses have several spellings.
pub(super) fn same(one: &To, other: &To) -> bool {
    match (one, other) {
        (To::Ip(one), To::Ip(other)) => one == other || one.parse::<IpAddr>().is_ok_and(|it| other.parse() == Ok(it)),
        _ => one == other,
    }
}

/// Whether it is of a kind that this provider makes: others are somebody else's choice.
pub(super) fn is_ours(target: &Target) -> bool {
    matches!(target.to, To::Server(_) | To::Ip(_))
}

/// How the node's machine is reached, or why not: the reason of a warning, and a sentence about nodes that follow.
fn target(node: &Node, use_private_ip: bool, robot: bool) -> Result<To, (&'static str, &'static str)> {
    let Some(id) = &node.provider_id else { return Err(("NodesSkipped", "no provider id is known of")) };
    match Machine::parse(id) {
        Err(_) => Err(("UnknownProviderIDPrefix", "the provider id is not one of this cloud's of")),
        Ok(Machine::Cloud(id)) => match (use_private_ip, extra(node, PUBLIC), extra(node, PRIVATE)) {
            (true, _, Some("")) => Err(("NodesSkipped", "the cluster's network has no address of")),
            (false, Some(""), _) => Err(("NodesSkipped", "no public IPv4 address, without use-private-ip, have")),
            _ => Ok(To::Server(id)),
        },
        Ok(Machine::Robot(_)) if !robot => Err(("NodesSkipped", WITHOUT_ROBOT)),
        Ok(Machine::Robot(_)) => {
            let address = |kind| node.address(kind, IpFamily::Ipv4);
            let ip = match use_private_ip {
                true => address(AddressKind::InternalIp),
                false => extra(node, SERVER_IP).filter(|it| !it.is_empty()).or(address(AddressKind::ExternalIp)),
            };
            ip.map(|it| To::Ip(it.to_owned())).ok_or(("NodesSkipped", "no address that is reached is known of"))
        }
    }
}

/// A value that the cloud gave of the node's machine, if it is known.
fn extra<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.extra.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
}

impl Skipped<'_> {
    fn warn(self, warnings: &mut Warnings) {
        for ((reason, why), nodes) in self.0 {
            warnings.add(reason, format_args!("{why} {}: no traffic is sent there", named(&nodes)));
        }
    }
}

/// The changes of targets: what is missing, what is too many, and what is reached in another way.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct TargetChanges {
    pub(super) add: Vec<To>,
    pub(super) remove: Vec<To>,
    pub(super) replace: Vec<To>,
}

impl TargetChanges {
    /// Between what a load balancer has and what it should have.
    pub(super) fn between(live: &Live, desired: &MachineTargets) -> Self {
        let is = |to: &To| live.targets.iter().find(|it| same(&it.to, to));
        let mut changes = Self::default();
        for to in desired.nodes.keys() {
            match is(to) {
                None => changes.add.push(to.clone()),
                Some(it) if it.use_private_ip != desired.is_private(to) => changes.replace.push(to.clone()),
                Some(_) => {}
            }
        }
        for target in live.targets.iter().filter(|it| is_ours(it)) {
            if !desired.nodes.keys().any(|it| same(it, &target.to)) {
                changes.remove.push(target.to.clone());
            }
        }
        changes
    }
}
