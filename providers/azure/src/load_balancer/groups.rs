//! The network security group, edited for Services. A pure function: rules of others, and destinations of other Services in rules
//! that they share, go back as they came.

use aerostat_sdk::{Error, IpFamily, Result, SortedSet};
use serde_json::{Value, json};

use super::cloud::family_of;
use super::names::{ALLOW, DENY, family_word};
use super::security::{AllowGoal, SecurityGoal};
use super::tree::{parts, parts_mut};
use crate::api::fields::{text, word, words};

const RULES: &str = "securityRules";
/// The first priority of rules that let in.
const FIRST: u64 = 500;
/// The last one.
const LAST: u64 = 4_096;
/// The first priority of rules that keep out, which is counted down.
const FIRST_DENIAL: u64 = 4_095;

/// A Service before the security group.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupMember<'a> {
    /// Clients that may reach it; `None` if it has no rules.
    pub(crate) goal: Option<&'a SecurityGoal>,
    /// Its addresses.
    pub(crate) addresses: Vec<String>,
    /// Addresses of nodes, for those that are reached there.
    pub(crate) nodes: Vec<String>,
    /// Addresses that it has, or had: they stand in no rule but its own.
    pub(crate) former: SortedSet<String>,
    /// Node ports that it has, or had, where nodes are reached at them.
    pub(crate) node_ports: SortedSet<String>,
    /// Ports of other Services at its addresses, as "Tcp/80": their rules stay.
    pub(crate) others: SortedSet<String>,
}

impl GroupMember<'_> {
    /// Destinations of a rule that it has.
    fn destinations(&self, allow: &AllowGoal) -> Vec<String> {
        let at_nodes = self.goal.is_some_and(|it| it.at_nodes.contains(&allow.family));
        let all = if at_nodes { &self.nodes } else { &self.addresses };
        all.iter().filter(|it| family_of(it) == allow.family).cloned().collect()
    }

    /// Whether a rule with this name lets in or keeps out what comes to this destination of its own.
    fn wants(&self, rule: &str, destination: &str) -> bool {
        let Some(goal) = self.goal else { return false };
        let allows = |it: &AllowGoal| it.name() == rule && self.destinations(it).iter().any(|it| it == destination);
        let denies = goal.denies_others
            && rule == denial(family_of(destination))
            && self.addresses.iter().any(|it| it == destination);
        denies || goal.allowed.iter().any(allows)
    }
}

fn denial(family: IpFamily) -> String {
    format!("{DENY}{}", family_word(family))
}

/// The security group as it is to be; equal to `shown` if nothing is to be written.
///
/// # Errors
///
/// A quota, if no priority is left.
pub(crate) fn edited(shown: &Value, members: &[GroupMember<'_>]) -> Result<Value> {
    let mut tree = shown.clone();
    if parts(shown, RULES).is_empty() && members.iter().all(|it| it.goal.is_none()) {
        return Ok(tree);
    }
    let rules = parts_mut(&mut tree, RULES);
    for rule in rules.iter_mut() {
        take_out(rule, members);
    }
    rules.retain(|entry| {
        !is_ours(entry)
            || !destinations(entry).is_empty()
            || word(entry, "/properties/destinationAddressPrefix") == Some("*")
    });
    for member in members {
        let Some(goal) = member.goal else { continue };
        for allow in &goal.allowed {
            let own = member.destinations(allow);
            let exact = goal.at_nodes.contains(&allow.family);
            if !own.is_empty() {
                let name = allow.name();
                let body = |priority| allow_body(&name, allow, priority);
                add(rules, &name, &own, exact, (FIRST..=LAST).collect(), body)?;
            }
        }
        for family in [IpFamily::Ipv4, IpFamily::Ipv6].into_iter().filter(|_| goal.denies_others) {
            let own: Vec<String> = member.addresses.iter().filter(|it| family_of(it) == family).cloned().collect();
            if !own.is_empty() {
                let name = denial(family);
                let body = |priority| deny_body(&name, priority);
                add(rules, &name, &own, false, (FIRST..=FIRST_DENIAL).rev().collect(), body)?;
            }
        }
    }
    Ok(tree)
}

fn is_ours(rule: &Value) -> bool {
    let name = text(rule, "/name");
    name.starts_with(ALLOW) || name.starts_with(DENY)
}

/// Destinations of a rule.
fn destinations(rule: &Value) -> SortedSet<String> {
    let one = word(rule, "/properties/destinationAddressPrefix").filter(|it| *it != "*");
    one.into_iter().chain(words(rule, "/properties/destinationAddressPrefixes")).map(str::to_owned).collect()
}

fn set_destinations(rule: &mut Value, all: &SortedSet<String>) {
    let all: Vec<&String> = all.iter().collect();
    let Some(properties) = rule["properties"].as_object_mut() else { return };
    properties.remove("destinationAddressPrefix");
    properties.remove("destinationAddressPrefixes");
    match &all[..] {
        [one] => _ = properties.insert("destinationAddressPrefix".to_owned(), json!(one)),
        several => _ = properties.insert("destinationAddressPrefixes".to_owned(), json!(several)),
    }
}

/// Ports of a rule, as "Tcp/80".
fn ports(rule: &Value) -> Vec<String> {
    let protocol = text(rule, "/properties/protocol");
    words(rule, "/properties/destinationPortRanges").map(|it| format!("{protocol}/{it}")).collect()
}

/// Takes destinations out of a rule that are those of Services which do not have it any more.
fn take_out(rule: &mut Value, members: &[GroupMember<'_>]) {
    if !is_ours(rule) {
        return;
    }
    let name = text(rule, "/name").to_owned();
    let before = destinations(rule);
    let mut after = before.clone();
    let own_ports = ports(rule);
    for member in members {
        let is_shared = !own_ports.is_empty() && own_ports.iter().all(|it| member.others.contains(it));
        after.retain(|it| !member.former.contains(it) || is_shared || member.wants(&name, it));
        // Node ports are one Service's alone.
        let ranges: Vec<&str> = words(rule, "/properties/destinationPortRanges").collect();
        let is_node_rule = !ranges.is_empty() && ranges.iter().all(|it| member.node_ports.contains(*it));
        if is_node_rule {
            after.retain(|it| member.wants(&name, it));
        }
    }
    if after != before {
        set_destinations(rule, &after);
    }
}

/// Adds destinations to the rule of this name, or makes it with the first priority that is free.
fn add(
    rules: &mut Vec<Value>,
    name: &str,
    own: &[String],
    exact: bool,
    priorities: Vec<u64>,
    body: impl Fn(u64) -> Value,
) -> Result<()> {
    if let Some(rule) = rules.iter_mut().find(|it| text(it, "/name") == name) {
        let before = destinations(rule);
        let mut after = if exact { SortedSet::new() } else { before.clone() };
        own.iter().for_each(|it| _ = after.insert(it.clone()));
        if after != before {
            set_destinations(rule, &after);
        }
        return Ok(());
    }
    let used: Vec<u64> = rules
        .iter()
        .filter(|it| text(it, "/properties/direction").eq_ignore_ascii_case("Inbound"))
        .filter_map(|it| it["properties"]["priority"].as_u64())
        .collect();
    let free = priorities.into_iter().find(|it| !used.contains(it));
    let free = free.ok_or_else(|| Error::quota("the network security group has no free priority from 500 to 4096"))?;
    let mut rule = body(free);
    set_destinations(&mut rule, &own.iter().cloned().collect());
    rules.push(rule);
    Ok(())
}

fn allow_body(name: &str, allow: &AllowGoal, priority: u64) -> Value {
    let mut properties = json!({
        "priority": priority, "direction": "Inbound", "access": "Allow", "protocol": allow.protocol, "sourcePortRange": "*",
        "destinationPortRanges": allow.ports,
    });
    match &allow.sources[..] {
        [one] => properties["sourceAddressPrefix"] = json!(one),
        several => properties["sourceAddressPrefixes"] = json!(several),
    }
    json!({ "name": name, "properties": properties })
}

fn deny_body(name: &str, priority: u64) -> Value {
    json!({ "name": name, "properties": {
        "priority": priority, "direction": "Inbound", "access": "Deny", "protocol": "*", "sourcePortRange": "*",
        "sourceAddressPrefix": "*", "destinationPortRange": "*",
    } })
}
