//! The nodes behind load balancers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use tests::kubelet;

use super::services::{change_occurrences, record_event};
use crate::desired::{desired, hosts};
use crate::events::Occurrence;
use crate::scenario::{CloudCall, Scenario};
use crate::state;

/// Upstream follows a change of nodes within so many seconds, or a little before it was written down; we wait for a
/// second in which nothing changes.
const FOLLOWED_WITHIN: f64 = 0.1;
const QUIET: f64 = 1.0;

/// How long after a failed call we try again, in seconds.
const FIRST_PAUSE: f64 = 5.0;

const UPDATED: (&str, &str, &str) = ("Normal", "UpdatedLoadBalancer", "Updated load balancer with new hosts");
const NO_NODES: (&str, &str, &str) =
    ("Warning", "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer");

/// The most nodes that a message names.
const NAMED: usize = 20;

/// Nodes that took traffic from some second on, after all changes that came close together.
struct Moment {
    /// When the first of them came, and the last.
    first: f64,
    last: f64,
    hosts: BTreeMap<String, Value>,
    /// The Services that had type LoadBalancer by then.
    wanting: BTreeSet<String>,
}

/// Every time that other nodes take traffic.
fn moments(scenario: &Scenario) -> Vec<Moment> {
    let (mut nodes, mut wanting) = (BTreeMap::new(), BTreeSet::new());
    let mut moments: Vec<Moment> = Vec::new();
    for change in state::changes(scenario) {
        if change.name.starts_with("Service ") {
            wanting.remove(&change.name);
            if !desired(&change.after).is_null() {
                wanting.insert(change.name);
            }
            continue;
        }
        nodes.insert(change.name, change.after);
        let hosts = hosts(nodes.values());
        if moments.last().is_some_and(|it| it.hosts == hosts) {
            continue;
        }
        let close = moments.pop_if(|it| change.t - it.last < QUIET);
        if moments.last().is_none_or(|it| it.hosts != hosts) {
            let first = close.map_or(change.t, |it| it.first);
            moments.push(Moment { first, last: change.t, hosts, wanting: wanting.clone() });
        }
    }
    moments
}

/// Which of the calls about the load balancer of a Service follows from the moment with this index.
fn follower(scenario: &Scenario, moments: &[Moment], index: usize, object: &str) -> Option<usize> {
    let Moment { first, last, hosts, .. } = &moments[index];
    let next = moments.get(index + 1).map_or(f64::INFINITY, |it| it.first);
    let mut calls = scenario.observed.cloud_calls.iter();
    calls.position(|call| {
        let names = call.hosts();
        let given = |name: &String| names.contains(name);
        let follows_at_once = call.t < last + FOLLOWED_WITHIN && hosts.keys().all(given);
        let follows = match call.function.as_str() {
            // Upstream gives nodes one after the other to its load balancers, and may be late. What it gives too early is
            // not ours.
            "UpdateLoadBalancer" => names.iter().eq(hosts.keys()) && call.t < next - FOLLOWED_WITHIN || follows_at_once,
            "EnsureLoadBalancer" => call.t < last + QUIET,
            _ => false,
        };
        follows && call.object() == object && call.t >= first - FOLLOWED_WITHIN
    })
}

pub(super) fn follow_every_change(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut calls = Vec::new();
    let moments = moments(scenario);
    for (index, Moment { last, hosts, wanting, .. }) in moments.iter().enumerate() {
        for object in wanting.iter().filter(|object| follower(scenario, &moments, index, object).is_none()) {
            let service = object.strip_prefix("Service ").unwrap_or(object);
            let nodes: Vec<&String> = hosts.keys().collect();
            let args = json!({ "cluster": "kubernetes", "service": format!("default/{service}"), "nodes": nodes });
            let args: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
            let (function, result) = ("UpdateLoadBalancer".to_owned(), "ok".to_owned());
            calls.push(CloudCall { t: last + QUIET, took: 0.0, function, args, result });
        }
    }
    let objects = calls.iter().map(CloudCall::object).collect();
    change_occurrences(scenario, |occurrences| {
        for call in &calls {
            record_event(occurrences, call.t, &call.object(), if call.hosts().is_empty() { NO_NODES } else { UPDATED });
        }
    });
    let observed = &mut scenario.observed.cloud_calls;
    observed.extend(calls);
    observed.sort_by(|one, other| one.t.total_cmp(&other.t));
    objects
}

pub(super) fn follow_nothing_else(scenario: &mut Scenario) -> BTreeSet<String> {
    let moments = moments(scenario);
    let is_ours = |position: usize, call: &CloudCall| {
        let ours = |index: usize| follower(scenario, &moments, index, &call.object()) == Some(position);
        // What was added for a short time comes a second later.
        let added = |it: &Moment| call.t == it.last + QUIET;
        (0..moments.len()).any(ours) || moments.iter().any(added)
    };
    let calls = scenario.observed.cloud_calls.iter().enumerate();
    let updates = calls.filter(|(_, call)| call.function == "UpdateLoadBalancer" && call.result == "ok");
    let idle: Vec<CloudCall> =
        updates.filter(|(index, call)| !is_ours(*index, call)).map(|(_, it)| it.clone()).collect();
    change_occurrences(scenario, |occurrences| {
        let is_idle = |occurrence: &Occurrence| {
            let is_about = |call: &CloudCall| {
                (occurrence.is(&call.object(), UPDATED.1) || occurrence.is(&call.object(), NO_NODES.1))
                    && occurrence.is_near(call.t)
            };
            idle.iter().any(is_about)
        };
        occurrences.retain(|it| !is_idle(it));
    });
    let is_idle = |it: &CloudCall| idle.iter().any(|call| call.t == it.t && call.object() == it.object());
    scenario.observed.cloud_calls.retain(|it| !is_idle(it));

    // Nor is a node given with the others before it takes traffic.
    let mut objects: BTreeSet<String> = idle.iter().map(CloudCall::object).collect();
    for call in &mut scenario.observed.cloud_calls {
        let now = moments.iter().rfind(|it| it.first <= call.t + FOLLOWED_WITHIN);
        let names: Vec<_> = now.map(|it| it.hosts.keys().cloned().collect()).unwrap_or_default();
        let gives = ["EnsureLoadBalancer", "UpdateLoadBalancer"].contains(&call.function.as_str());
        if gives && names.len() < call.hosts().len() && names.iter().all(|it| call.hosts().contains(it)) {
            objects.insert(call.object());
            call.args.insert("nodes".to_owned(), json!(names));
        }
    }
    objects
}

pub(super) fn ask_about_backends(scenario: &mut Scenario) -> BTreeSet<String> {
    let calls = &scenario.observed.cloud_calls;
    let is_asked_about = |name: &str| calls.iter().any(|it| it.function == "InstanceMetadata" && it.node() == name);
    let has_services = scenario.given.iter().any(|it| it.object["kind"] == "Service");
    let is_backend = |object: &Value| {
        let taints = object["spec"]["taints"].as_array();
        let waits = taints.into_iter().flatten().any(|it| it["key"] == kubelet::UNINITIALIZED);
        object["kind"] == "Node" && !waits && object["spec"]["providerID"].as_str().is_some_and(|it| !it.is_empty())
    };
    let given = scenario.given.iter().filter(|it| has_services && is_backend(&it.object));
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let nodes = given.map(|it| (it.t, name(&it.object))).filter(|(_, name)| !is_asked_about(name));
    let questions = nodes.map(|(t, name)| {
        let args = Map::from_iter([("node".to_owned(), json!(name))]);
        CloudCall { t, took: 0.0, function: "InstanceMetadata".to_owned(), args, result: "ok".to_owned() }
    });
    let questions: Vec<_> = questions.collect();
    let objects = questions.iter().map(|it| format!("Node {}", it.node())).collect();
    scenario.observed.cloud_calls.extend(questions);
    scenario.observed.cloud_calls.sort_by(|one, other| one.t.total_cmp(&other.t));
    objects
}

pub(super) fn tell_every_failed_update(scenario: &mut Scenario) -> BTreeSet<String> {
    let calls = &scenario.observed.cloud_calls;
    let forgotten = |call: &&CloudCall| {
        let asked = |other: &CloudCall| {
            other.function == "GetLoadBalancer"
                && other.result == "exists=false"
                && other.object() == call.object()
                && other.t >= call.t
                && other.t < call.t + FOLLOWED_WITHIN
        };
        call.function == "UpdateLoadBalancer" && calls.iter().any(asked)
    };
    let forgotten: Vec<CloudCall> = calls.iter().filter(forgotten).cloned().collect();
    let objects = forgotten.iter().map(CloudCall::object).collect();
    change_occurrences(scenario, |occurrences| {
        for call in &forgotten {
            let (mut names, count) = (call.hosts(), call.hosts().len());
            names.truncate(NAMED);
            names.extend((count > NAMED).then(|| format!("<{} more>", count - NAMED)));
            let names = names.join(" ");
            let error = call.result.strip_prefix("error: ").unwrap_or(&call.result);
            let message = format!(
                "Error updating load balancer with new hosts [{names}] [node names limited, total number of nodes: \
                 {count}], error: {error}"
            );
            record_event(occurrences, call.t, &call.object(), ("Warning", "UpdateLoadBalancerFailed", &message));
            let ensured = ("Normal", "EnsuredLoadBalancer", "Ensured load balancer");
            record_event(occurrences, call.t + FIRST_PAUSE, &call.object(), ensured);
        }
    });
    for call in forgotten {
        let function = "EnsureLoadBalancer".to_owned();
        scenario.observed.cloud_calls.push(CloudCall { t: call.t + FIRST_PAUSE, function, ..call });
    }
    objects
}
