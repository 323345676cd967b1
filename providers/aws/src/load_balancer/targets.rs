//! Which instances take traffic.

use aerostat_sdk::events::Warnings;
use aerostat_sdk::{Node, SortedSet, nodes};

use crate::machine::AwsMachine;

/// The id of a node's instance. A pod of Fargate is none, and a node without provider id only if its name says which.
pub(super) fn instance(node: &Node) -> Option<&str> {
    let machine = match &node.provider_id {
        Some(id) => AwsMachine::parse(id).ok(),
        None => AwsMachine::of_name(&node.name),
    };
    match machine? {
        AwsMachine::Instance(id) => Some(id),
        AwsMachine::Fargate(_) => None,
    }
}

/// These instances in messages: the names of their nodes, and their ids.
pub(super) fn named(nodes: &[Node], ids: &[&str]) -> String {
    let node = |id: &str| nodes.iter().find(|it| instance(it) == Some(id));
    let name = |id: &&str| node(id).map_or_else(|| (*id).to_owned(), |it| format!("{} ({id})", it.name));
    let names: Vec<String> = ids.iter().map(name).collect();
    nodes::named(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The instances behind these nodes.
pub(super) fn instances(all: &[Node], warnings: &mut Warnings) -> SortedSet<String> {
    let (mut instances, mut skipped) = (Vec::new(), Vec::new());
    for node in all {
        match instance(node) {
            Some(id) => instances.push(id.to_owned()),
            None => skipped.push(&*node.name),
        }
    }
    if !skipped.is_empty() {
        let names = nodes::named(&skipped);
        warnings.add("NodesSkipped", format_args!("no instance is known of {names}: no traffic is sent there"));
    }
    instances.into_iter().collect()
}
