//! Nodes that join, and their addresses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::compare::PARTS;
use crate::scenario::{Address, CloudCall, CloudNode, Event, Request, Scenario};
use crate::state;

/// The first pause of the queue's back-off, in seconds. Each next one is twice as long.
const FIRST_PAUSE: f64 = 0.005;

pub(super) fn stay_alive(scenario: &mut Scenario) -> BTreeSet<String> {
    if scenario.observed.process_alive {
        return BTreeSet::new();
    }
    let nodes: BTreeSet<String> = null_nodes(scenario).map(str::to_owned).collect();
    scenario.observed.process_alive = !nodes.is_empty();
    // The question that upstream did not survive is missing among its calls.
    scenario.observed.cloud_calls.extend(nodes.iter().map(|name| CloudCall::metadata(name, 0.0)));
    nodes
}

/// The seconds at which a question is asked again and again, with back-off.
pub(super) fn again(first: f64, end: f64) -> impl Iterator<Item = f64> {
    let pauses = std::iter::successors(Some(FIRST_PAUSE), |pause| Some(pause * 2.0));
    let later = pauses.scan(first, |t, pause| {
        *t += pause;
        Some(*t)
    });
    std::iter::once(first).chain(later).take_while(move |t| *t < end)
}

pub(super) fn ask_again(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut nodes = BTreeSet::new();
    let mut calls = Vec::new();
    for name in null_nodes(scenario) {
        let node = scenario.given.iter().find(|given| given.object["metadata"]["name"] == name);
        let waiting = node.filter(|given| state::State::of(&given.object).is_uninitialized());
        let Some(waiting) = waiting else { continue };
        calls.extend(again(waiting.t, scenario.observed.duration).map(|t| CloudCall::metadata(name, t)));
        nodes.insert(name.to_owned());
    }
    scenario.observed.cloud_calls.retain(|call| !nodes.contains(call.node()));
    scenario.observed.cloud_calls.extend(calls);
    nodes
}

pub(super) fn refuse_other_machines(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut refused = BTreeMap::new();
    for (name, own) in given_provider_ids(scenario).filter(|(_, own)| is_ours(own)) {
        let answers = scenario.cloud_nodes().filter(|(node, _)| *node == name).map(|(_, cloud)| &cloud.provider_id);
        if let Some(other) = answers.into_iter().find(|it| !it.is_empty() && *it != own) {
            refused.insert(name.to_owned(), (own.to_owned(), other.clone()));
        }
    }
    let nodes = refused.keys().cloned().collect();
    leave_alone(scenario, &nodes);
    for (name, (own, other)) in &refused {
        let message = format!(
            "failed to get instance metadata for node {name}: the provider's answer is refused: it answers with \
             machine {other:?}, although the node's provider id is {own:?}"
        );
        let text = ("Warning", "InstanceMetadataInvalid", message);
        scenario.observed.events.push(Event::new(0.0, ("Node", name), "cloud-node-controller", text));
    }
    nodes
}

pub(super) fn leave_other_clouds_alone(scenario: &mut Scenario) -> BTreeSet<String> {
    let foreign = given_provider_ids(scenario).filter(|(_, own)| !is_ours(own));
    let nodes = foreign.map(|(name, _)| name.to_owned()).collect();
    leave_alone(scenario, &nodes);
    nodes
}

/// Takes away what upstream did with some nodes: they end as others made them.
fn leave_alone(scenario: &mut Scenario, nodes: &BTreeSet<String>) {
    let about = |name: &str| nodes.contains(name);
    scenario.observed.requests.retain(|it| it.resource != "nodes" || !about(&it.name));
    scenario.observed.events.retain(|it| !about(it.involved_object["name"].as_str().unwrap_or_default()));
    for name in nodes {
        let end = state::at(scenario, &format!("Node {name}"), f64::INFINITY);
        let mut kept = json!({});
        for [section, part] in PARTS {
            let value = &end[section][part];
            if !value.is_null() {
                kept[section][part] = value.clone();
            }
        }
        scenario.observed.end.insert(format!("Node {name}"), kept);
    }
}

pub(super) fn follow_every_change_of_addresses(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut nodes = BTreeSet::new();
    for (index, call) in scenario.observed.cloud_calls.clone().iter().enumerate() {
        let name = call.node();
        if call.function != "InstanceMetadata" || call.result != "ok" {
            continue;
        }
        let later = &scenario.observed.cloud_calls[index + 1..];
        let next = later.iter().find(|it| it.node() == name).map_or(f64::INFINITY, |it| it.t);
        let wrote = scenario
            .observed
            .requests
            .iter()
            .any(|it| it.name == name && it.is_write() && (call.t..next).contains(&it.t));
        let node = state::at(scenario, &format!("Node {name}"), call.t);
        let Some(cloud) = cloud_at(scenario, name, call.t) else { continue };
        let Some(addresses) = addresses(&node, cloud) else { continue };
        if wrote
            || node.is_null()
            || state::State::of(&node).is_uninitialized()
            || node["status"]["addresses"] == addresses
        {
            continue;
        }
        let patch = json!({ "status": { "addresses": addresses } });
        scenario.observed.requests.push(Request::patch(call.t, "nodes/status", name, patch));
        scenario.observed.end.entry(format!("Node {name}")).or_default()["status"]["addresses"] = addresses;
        nodes.insert(name.to_owned());
    }
    nodes
}

/// The addresses that a node shall have, where that follows from the cloud's answer alone.
fn addresses(node: &Value, cloud: &CloudNode) -> Option<Value> {
    let annotated = !node["metadata"]["annotations"]["alpha.kubernetes.io/provided-node-ip"].is_null();
    if annotated || cloud.addresses.is_empty() {
        return None;
    }
    let own = cloud.addresses.iter().map(|Address { kind, address }| json!({ "type": kind, "address": address }));
    let mut addresses: Vec<Value> = own.collect();
    if cloud.addresses.iter().all(|it| it.kind != "Hostname") {
        let old = node["status"]["addresses"].as_array().into_iter().flatten();
        addresses.extend(old.filter(|it| it["type"] == "Hostname").cloned());
    }
    // The API server refuses a list that names an address twice.
    let mut seen = Vec::new();
    addresses.retain(|address| {
        !seen.contains(address) && {
            seen.push(address.clone());
            true
        }
    });
    Some(Value::Array(addresses))
}

fn cloud_at<'a>(scenario: &'a Scenario, name: &str, t: f64) -> Option<&'a CloudNode> {
    let changes = scenario.cloud.iter().filter(|change| change.t <= t);
    let node = changes.filter_map(|change| change.nodes.get(name)).next_back()?.as_ref();
    node.filter(|it| it.metadata_error.is_none() && !it.null)
}

fn null_nodes(scenario: &Scenario) -> impl Iterator<Item = &str> {
    scenario.cloud_nodes().filter(|(_, node)| node.null).map(|(name, _)| name)
}

/// The names of nodes that the recorder created with a provider id, and that.
fn given_provider_ids(scenario: &Scenario) -> impl Iterator<Item = (&str, &str)> {
    scenario.given.iter().filter_map(|given| {
        let provider_id = given.object["spec"]["providerID"].as_str().filter(|it| !it.is_empty())?;
        Some((given.object["metadata"]["name"].as_str()?, provider_id))
    })
}

fn is_ours(provider_id: &str) -> bool {
    provider_id.starts_with("fakecloud://")
}
