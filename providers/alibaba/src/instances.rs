//! The instance of a node.

use std::net::IpAddr;

use aerostat_sdk::{
    AddressKind, Error, Instance, Instances, IpFamily, Node, Page, Result, SortedMap, SortedSet, events,
};

use crate::api::instances::{self, EcsInstance};
use crate::api::{PAGE, by_tokens};
use crate::instance;
use crate::machine::{AliMachine, is_lingjun};
use crate::provider::Alibaba;
use crate::settings::VpcSettings;

impl Instances for Alibaba {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let mut answers = Self::get_many(std::slice::from_ref(node));
        answers.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
    }

    fn get_many(nodes: &[Node]) -> Vec<Result<Option<Instance>>> {
        match VpcSettings::read() {
            Ok(settings) => answers(nodes, &settings),
            Err(error) => nodes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Instances of the VPC.
    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let settings = VpcSettings::read()?;
        let listed = instances::page(&settings.region, &settings.vpc, cursor, limit.clamp(1, PAGE))?;
        let shown = listed.instances.iter().map(|it| instance::shown(it, &settings)).collect();
        Ok(Page::new(shown, listed.next))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        let region = VpcSettings::read()?.region;
        Ok(AliMachine::parse(provider_id, &region)?.canonical(&region))
    }
}

/// A question about the machine of a node.
#[derive(Clone, Debug)]
enum NodeQuestion<'a> {
    /// The instance with this id.
    Id(&'a str),
    /// The instance with this address.
    Address(String),
    /// The instance with the node's name.
    Name,
    /// Nothing: it is there, and nobody can be asked about it.
    Nothing(&'a str),
}

/// One answer for each node, by as few requests as there are kinds of questions.
fn answers(nodes: &[Node], settings: &VpcSettings) -> Vec<Result<Option<Instance>>> {
    let questions: Vec<Result<NodeQuestion<'_>>> = nodes.iter().map(|it| question(it, settings)).collect();
    let ids: SortedSet<&str> = questions
        .iter()
        .flatten()
        .filter_map(|it| if let NodeQuestion::Id(id) = it { Some(*id) } else { None })
        .collect();
    let ids: Vec<_> = ids.into_iter().collect();
    let by_id = ids.chunks(PAGE as usize).map(|ids| (ids, instances::by_ids(&settings.region, ids)));
    let by_id: SortedMap<&str, Result<Option<EcsInstance>>> =
        by_id.flat_map(|(ids, found)| of_ids(ids, found)).collect();
    let addresses: SortedSet<&str> = questions
        .iter()
        .flatten()
        .filter_map(|it| if let NodeQuestion::Address(address) = it { Some(address.as_str()) } else { None })
        .collect();
    let by_address = with_addresses(&addresses.into_iter().collect::<Vec<_>>(), settings);
    let asks_by_name = questions.iter().any(|it| matches!(it, Ok(NodeQuestion::Name)));
    let all = if asks_by_name { every(settings) } else { Ok(Vec::new()) };

    let found = |node: &Node, question: &Result<NodeQuestion<'_>>| -> Result<Option<Instance>> {
        let found = match question.as_ref().map_err(Clone::clone)? {
            NodeQuestion::Nothing(id) => return Ok(Some(instance::unknown(&node.name, id))),
            NodeQuestion::Id(id) => by_id
                .get(id)
                .cloned()
                .unwrap_or_else(|| Err(Error::unavailable(format_args!("{id} was not asked for"))))?,
            NodeQuestion::Address(address) => {
                let found = by_address.as_ref().map_err(Clone::clone)?;
                one(node, &format!("the address {address}"), found.iter().filter(|it| it.private.contains(address)))?
            }
            NodeQuestion::Name => {
                let found = all.as_ref().map_err(Clone::clone)?;
                let is_called = |it: &&EcsInstance| instance::node_name(it) == node.name || it.name == node.name;
                one(node, "its name", found.iter().filter(is_called))?
            }
        };
        Ok(found.map(|it| instance::shown(&it, settings)))
    };
    nodes.iter().zip(&questions).map(|(node, question)| found(node, question)).collect()
}

/// The question about a node. One without provider id is asked about by an address of its kubelet's, or by one in its name.
fn question<'a>(node: &'a Node, settings: &VpcSettings) -> Result<NodeQuestion<'a>> {
    let Some(provider_id) = &node.provider_id else {
        let address = node.address(AddressKind::InternalIp, IpFamily::Ipv4).map(str::to_owned);
        let address = address.or_else(|| address_in(&node.name, &settings.region));
        return Ok(address.map_or(NodeQuestion::Name, NodeQuestion::Address));
    };
    match AliMachine::parse(provider_id, &settings.region)? {
        AliMachine::Instance(id) => Ok(NodeQuestion::Id(id)),
        AliMachine::Hybrid(id) => Ok(NodeQuestion::Nothing(id)),
        AliMachine::LingJun(id) if is_lingjun(node) => Ok(NodeQuestion::Nothing(id)),
        AliMachine::LingJun(id) => Err(Error::invalid(format_args!(
            "provider id {id:?} names no region and no instance of ECS, and node {} lacks the label of machines of LingJun",
            node.name
        ))),
    }
}

/// The address in a name such as `cn-hangzhou.10.0.0.5`.
fn address_in(name: &str, region: &str) -> Option<String> {
    let rest = name.strip_prefix(region)?.strip_prefix('.')?;
    matches!(rest.parse(), Ok(IpAddr::V4(_))).then(|| rest.to_owned())
}

fn of_ids<'a>(ids: &[&'a str], found: Result<Vec<EcsInstance>>) -> Vec<(&'a str, Result<Option<EcsInstance>>)> {
    let of_id = |id: &str| match &found {
        Ok(found) => Ok(found.iter().find(|it| it.id == id).cloned()),
        Err(error) => Err(error.clone()),
    };
    ids.iter().map(|id| (*id, of_id(id))).collect()
}

fn with_addresses(addresses: &[&str], settings: &VpcSettings) -> Result<Vec<EcsInstance>> {
    let mut found = Vec::new();
    for addresses in addresses.chunks(PAGE as usize) {
        found.extend(instances::by_addresses(&settings.region, &settings.vpc, addresses)?);
    }
    Ok(found)
}

/// All instances of the VPC.
fn every(settings: &VpcSettings) -> Result<Vec<EcsInstance>> {
    let mut all = Vec::new();
    by_tokens(&mut |cursor| {
        let listed = instances::page(&settings.region, &settings.vpc, cursor, PAGE)?;
        all.extend(listed.instances);
        Ok(listed.next)
    })?;
    Ok(all)
}

/// The one instance that could be a node, by what it was looked for.
fn one<'a>(node: &Node, by: &str, mut found: impl Iterator<Item = &'a EcsInstance>) -> Result<Option<EcsInstance>> {
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => {
            let message = format!(
                "instances {} and {} both have {by}, and either could be node {}: give the kubelet its --provider-id",
                first.id, second.id, node.name
            );
            events::warning(Some(&node.name), "InstanceLookupFailed", &message);
            Err(Error::Invalid(message))
        }
        (found, _) => Ok(found.cloned()),
    }
}
