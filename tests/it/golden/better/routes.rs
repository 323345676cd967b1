//! Nodes whose pods are reached over routes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scenario::{Request, Scenario};
use crate::state::list;

pub(super) fn leave_addresses_alone(scenario: &mut Scenario) -> BTreeSet<String> {
    let is_about_addresses = |it: &Request| !it.patch["status"]["addresses"].is_null();
    if !scenario.has_routes() {
        return BTreeSet::new();
    }
    let requests = std::mem::take(&mut scenario.observed.requests);
    let (addresses, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_about_addresses);
    scenario.observed.requests = others;
    let nodes: BTreeSet<_> = addresses.iter().map(Request::object).collect();
    for name in &nodes {
        let given = scenario.given.iter().find(|it| crate::state::name(&it.object) == *name);
        let own = given.map_or(Value::Null, |it| it.object["status"]["addresses"].clone());
        if let Some(end) = scenario.observed.end.get_mut(name) {
            end["status"]["addresses"] = own;
        }
    }
    nodes
}

pub(super) fn leave_nodes_without_networks_alone(scenario: &mut Scenario) -> BTreeSet<String> {
    if !scenario.has_routes() {
        return BTreeSet::new();
    }
    let has_none = |node: &Value| node["kind"] == "Node" && list(&node["spec"]["podCIDRs"]).is_empty();
    let given = scenario.given.iter().map(|it| &it.object).filter(|it| has_none(it));
    let without: BTreeSet<_> = given.map(crate::state::name).collect();
    let is_told =
        |it: &Request| list(&it.patch["status"]["conditions"]).iter().any(|it| it["type"] == "NetworkUnavailable");
    let told = scenario.observed.requests.iter().filter(|it| is_told(it) && without.contains(&it.object()));
    let nodes: BTreeSet<_> = told.map(Request::object).collect();
    scenario.observed.requests.retain(|it| !(is_told(it) && nodes.contains(&it.object())));
    for name in &nodes {
        if let Some(status) = scenario.observed.end.get_mut(name).and_then(|it| it["status"].as_object_mut()) {
            status.remove("conditions");
        }
    }
    nodes
}
