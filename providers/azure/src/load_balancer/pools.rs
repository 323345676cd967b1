//! Pools: which nodes take traffic, by their addresses, or by their interfaces.

use aerostat_sdk::{AddressKind, IpFamily, Node, SortedMap, SortedSet};
use serde_json::{Value, json};

use super::tree::part;
use crate::api::fields::{items, text, word};
use crate::id::{ResourceId, same};
use crate::instance::{INTERFACE, SCALE_SET};
use crate::machine::MachineId;
use crate::settings::balancers::AzureBalancerSettings;

/// The labels of machines of the control plane.
pub(crate) const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// A pool and its nodes.
#[derive(Clone, Debug)]
pub(crate) struct PoolGoal<'a> {
    pub(crate) name: String,
    pub(crate) family: IpFamily,
    pub(crate) nodes: Vec<&'a Node>,
}

/// The difference between a pool and its nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PoolStep {
    /// Nothing.
    Same,
    /// It is to be written so.
    Put(Value),
    /// Configurations of interfaces that join, and that leave.
    Members { joins: Vec<PoolMember>, leaves: Vec<String> },
}

/// A node that joins a pool.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct PoolMember {
    pub(crate) node: String,
    /// The configuration of its interface, if it is known.
    pub(crate) configuration: Option<String>,
    pub(crate) provider_id: String,
}

/// The nodes of a load balancer, out of those of its Services: not those of the control plane, nor those that belong to another of
/// several load balancers.
pub(crate) fn nodes_of<'a>(balancer: &str, nodes: &[&'a Node], settings: &AzureBalancerSettings) -> Vec<&'a Node> {
    let is_control_plane = |it: &Node| it.labels.iter().any(|(key, _)| CONTROL_PLANE.contains(&key.as_str()));
    let own = balancer.strip_suffix("-internal").unwrap_or(balancer);
    let is_here = |node: &Node| {
        let set = scale_set(node).unwrap_or_default();
        let primary = settings.several.iter().find(|it| same(&it.primary, &set));
        primary.is_none_or(|it| same(&it.name, own) || same(&it.name, balancer))
    };
    nodes.iter().copied().filter(|it| !is_control_plane(it) && is_here(it)).collect()
}

/// The name of a node's scale set.
fn scale_set(node: &Node) -> Option<String> {
    let known = node.extra.iter().find(|(key, _)| key == SCALE_SET).map(|(_, value)| value.clone());
    known.or_else(|| MachineId::parse(node.provider_id.as_deref()?).ok()?.set().map(|it| it.name().to_owned()))
}

/// The difference between a pool of a load balancer as it is and its nodes.
pub(crate) fn step(settings: &AzureBalancerSettings, shown: &Value, pool: &PoolGoal<'_>) -> PoolStep {
    let Some(live) = part(shown, "backendAddressPools", &pool.name) else { return PoolStep::Same };
    if settings.by_address { by_address(settings, live, pool) } else { by_interface(live, pool) }
}

fn by_address(settings: &AzureBalancerSettings, live: &Value, pool: &PoolGoal<'_>) -> PoolStep {
    let address = |it: &Node| it.address(AddressKind::InternalIp, pool.family).map(str::to_owned);
    let mut desired: SortedMap<String, String> = SortedMap::new();
    for node in &pool.nodes {
        if let Some(ip) = address(node) {
            desired.insert(ip, node.name.clone());
        }
    }
    let shown = items(live, "/properties/loadBalancerBackendAddresses");
    let mut kept: Vec<Value> = Vec::new();
    for it in shown {
        let ip = text(it, "/properties/ipAddress");
        if desired.get(ip).is_some() && kept.iter().all(|other| text(other, "/properties/ipAddress") != ip) {
            kept.push(it.clone());
        }
    }
    let has = |ip: &String| kept.iter().any(|it| text(it, "/properties/ipAddress") == ip);
    let new: Vec<Value> = desired
        .iter()
        .filter(|(ip, _)| !has(ip))
        .map(|(ip, name)| json!({ "name": name, "properties": { "ipAddress": ip } }))
        .collect();
    if new.is_empty() && kept.len() == shown.len() {
        return PoolStep::Same;
    }
    let mut body = live.clone();
    kept.extend(new);
    body["properties"]["loadBalancerBackendAddresses"] = json!(kept);
    if body["properties"]["virtualNetwork"].is_null()
        && let Some(network) = &settings.account.vnet
    {
        let id = settings.account.network(&settings.account.vnet_group, &["virtualNetworks", network]);
        body["properties"]["virtualNetwork"] = json!({ "id": id.to_string() });
    }
    PoolStep::Put(body)
}

fn by_interface(live: &Value, pool: &PoolGoal<'_>) -> PoolStep {
    let shown: SortedSet<String> = items(live, "/properties/backendIPConfigurations")
        .iter()
        .map(|it| text(it, "/id").to_ascii_lowercase())
        .collect();
    let machines: SortedMap<String, String> =
        shown.iter().filter_map(|it| Some((machine_of(it)?, it.clone()))).collect();
    // An interface has a configuration of each family.
    let interfaces: SortedMap<&str, &String> = shown.iter().map(|it| (interface_of(it), it)).collect();
    let (mut joins, mut kept) = (Vec::new(), SortedSet::new());
    for node in &pool.nodes {
        let Some(provider_id) = &node.provider_id else { continue };
        // One without an address of the second family has no interface that could join.
        if pool.family == IpFamily::Ipv6 && node.address(AddressKind::InternalIp, IpFamily::Ipv6).is_none() {
            continue;
        }
        let configuration = node.extra.iter().find(|(key, _)| key == INTERFACE).map(|(_, value)| value);
        let configuration = configuration.map(|it| it.to_ascii_lowercase());
        let machine = MachineId::parse(provider_id).ok().map(|it| it.id.key());
        let member = configuration.as_deref().and_then(|it| interfaces.get(interface_of(it)).copied().cloned());
        match member.or_else(|| machines.get(machine.as_ref()?).cloned()) {
            Some(member) => _ = kept.insert(member),
            None => joins.push(PoolMember { node: node.name.clone(), configuration, provider_id: provider_id.clone() }),
        }
    }
    let leaves: Vec<String> = shown.iter().filter(|it| !kept.contains(*it)).cloned().collect();
    match joins.is_empty() && leaves.is_empty() {
        true => PoolStep::Same,
        false => PoolStep::Members { joins, leaves },
    }
}

/// The interface of which a configuration, in lower case, is a part.
fn interface_of(configuration: &str) -> &str {
    configuration.split_once("/ipconfigurations/").map_or(configuration, |(interface, _)| interface)
}

/// The machine of a scale set of which an interface's configuration is a part, in lower case.
fn machine_of(configuration: &str) -> Option<String> {
    let (machine, _) = configuration.split_once("/networkinterfaces/")?;
    machine.contains("/virtualmachines/").then(|| machine.to_owned())
}

/// Adds a pool to the primary configuration among these, or takes it away. Says whether that changed anything.
pub(crate) fn set_membership(configurations: &mut [Value], pool: &str, joins: bool) -> bool {
    let single = configurations.len() == 1;
    let is_ipv6 = pool.ends_with("-IPv6");
    let family =
        |it: &Value| word(it, "/properties/privateIPAddressVersion").is_some_and(|it| it.eq_ignore_ascii_case("IPv6"));
    let mut changed = false;
    for it in configurations {
        let is_meant = family(it) == is_ipv6 && (single || is_ipv6 || it["properties"]["primary"] == true);
        let mut pools = items(it, "/properties/loadBalancerBackendAddressPools").to_vec();
        let has = pools.iter().any(|it| same(text(it, "/id"), pool));
        match (joins && is_meant, has) {
            (true, false) => pools.push(json!({ "id": pool })),
            (_, true) if !joins => pools.retain(|it| !same(text(it, "/id"), pool)),
            _ => continue,
        }
        it["properties"]["loadBalancerBackendAddressPools"] = json!(pools);
        changed = true;
    }
    changed
}

/// The interface, or the machine of a scale set, that is written for a configuration to join or leave; `None` if it is none.
pub(crate) fn written_for(configuration: &str) -> Option<ResourceId> {
    let id = ResourceId::parse(configuration)?;
    match id.namespace.eq_ignore_ascii_case("Microsoft.Compute") {
        true => Some(MachineId::of(&format!("/{}", id.path()[..10].join("/")))?.id),
        false => Some(ResourceId { words: id.words[..2].to_vec(), ..id }),
    }
}
