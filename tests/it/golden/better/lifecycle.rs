//! Nodes whose machines are gone, or shut down.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::nodes::again;
use crate::scenario::{CloudCall, Event, Request, Scenario};
use crate::state::{self, State, list};

const COMPONENT: &str = "cloud-node-lifecycle-controller";
/// The recorded pause between two passes, in seconds.
const PASS: f64 = 2.0;
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

pub(super) fn delete_what_is_not_found(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut gone = BTreeSet::new();
    for call in scenario.observed.cloud_calls.clone() {
        let name = call.node();
        if call.function != "InstanceExists"
            || call.result != "error: instance not found"
            || !gone.insert(name.to_owned())
        {
            continue;
        }
        let observed = &mut scenario.observed;
        observed.requests.retain(|it| it.object() != call.object() || it.t < call.t);
        let deletion = Request::patch(call.t, "nodes", name, Value::Null);
        observed.requests.push(Request { verb: "delete".to_owned(), ..deletion });
        observed.events.retain(|it| it.object() != call.object() || it.t < call.t);
        let message = format!("Deleting node {name} because it does not exist in the cloud provider");
        let mut event = Event::new(call.t, ("Node", name), COMPONENT, ("Normal", "DeletingNode", message));
        event.involved_object.as_object_mut().map(|it| it.remove("resourceVersion"));
        observed.events.push(event);
        observed.end.insert(call.object(), Value::Null);
    }
    gone
}

pub(super) fn untaint_what_runs_again(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut nodes = BTreeSet::new();
    for call in scenario.observed.cloud_calls.clone() {
        let node = state::at(scenario, &call.object(), call.t);
        let mut taints = list(&node["spec"]["taints"]);
        let before = taints.len();
        taints.retain(|taint| taint["key"] != SHUTDOWN || taint["effect"] != "NoSchedule");
        if call.function != "InstanceShutdown" || call.result != "false" || taints.len() == before {
            continue;
        }
        nodes.insert(call.node().to_owned());
        let patch = json!({ "spec": { "taints": taints } });
        scenario.observed.requests.push(Request::patch(call.t, "nodes", call.node(), patch));
        forget_idle_writes(scenario, &call.object());
        let end = state::at(scenario, &call.object(), f64::INFINITY);
        if let Some(recorded) = scenario.observed.end.get_mut(&call.object()) {
            recorded["spec"]["taints"] = end["spec"]["taints"].clone();
        }
    }
    nodes
}

pub(super) fn ask_twice(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut nodes = BTreeSet::new();
    for call in scenario.observed.cloud_calls.clone() {
        let missing = ["false", "error: instance not found"].contains(&call.result.as_str());
        if call.function == "InstanceExists" && missing && nodes.insert(call.node().to_owned()) {
            // Between two passes: which second does not matter.
            scenario.observed.cloud_calls.push(CloudCall { t: call.t + PASS, ..call });
        }
    }
    nodes
}

pub(super) fn have_no_data_of_what_does_not_exist(scenario: &mut Scenario) -> BTreeSet<String> {
    let gone = scenario.cloud_nodes().filter(|(_, node)| node.exists == Some(false)).map(|(name, _)| name.to_owned());
    let given = |name: &String| {
        let node = scenario.given.iter().find(|it| it.object["metadata"]["name"] == **name)?;
        State::of(&node.object).is_uninitialized().then_some(node.t)
    };
    let waiting: Vec<(String, f64)> = gone.filter_map(|name| given(&name).map(|t| (name, t))).collect();
    for (name, t) in &waiting {
        let about = |it: &str| it == format!("Node {name}");
        let observed = &mut scenario.observed;
        observed.requests.retain(|it| !about(&it.object()) || it.verb == "delete");
        observed.events.retain(|it| !about(&it.object()) || it.reporting_component == COMPONENT);
        observed.cloud_calls.extend(again(*t, observed.duration).map(|t| CloudCall::metadata(name, t)));
    }
    waiting.into_iter().map(|(name, _)| name).collect()
}

/// Takes away upstream's writes to a node that leave it as it is by now.
fn forget_idle_writes(scenario: &mut Scenario, object: &str) {
    let idle =
        |it: &state::Change| it.by_upstream && it.name == object && State::of(&it.before) == State::of(&it.after);
    let idle: Vec<f64> = state::changes(scenario).iter().filter(|it| idle(it)).map(|it| it.t).collect();
    scenario.observed.requests.retain(|it| it.object() != object || !it.has_changed() || !idle.contains(&it.t));
}
