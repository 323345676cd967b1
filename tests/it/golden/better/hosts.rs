//! The nodes behind load balancers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::services::{retell, tell};
use crate::scenario::{CloudCall, Scenario};
use crate::state;
use crate::told::Told;
use crate::wish::{hosts, wish};

/// Upstream follows a change of nodes within so many seconds; we wait for a second in which nothing changes.
const FOLLOWED_WITHIN: f64 = 0.1;
const QUIET: f64 = 1.0;

/// How long after a failed call we try again, in seconds.
const FIRST_PAUSE: f64 = 5.0;

const UPDATED: (&str, &str, &str) = ("Normal", "UpdatedLoadBalancer", "Updated load balancer with new hosts");
const NO_NODES: (&str, &str, &str) =
    ("Warning", "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer");

/// Nodes that took traffic from some second on.
struct Moment {
    t: f64,
    hosts: BTreeMap<String, Value>,
    /// The Services that wished for a load balancer.
    wishing: BTreeSet<String>,
}

/// Every time that other nodes take traffic.
fn moments(scenario: &Scenario) -> Vec<Moment> {
    let (mut nodes, mut wishing) = (BTreeMap::new(), BTreeSet::new());
    let mut moments: Vec<Moment> = Vec::new();
    for change in state::changes(scenario) {
        if change.name.starts_with("Service ") {
            let wishes = !change.after.is_null() && !wish(&change.after).is_null();
            if wishes {
                wishing.insert(change.name)
            } else {
                wishing.remove(&change.name)
            };
            continue;
        }
        if change.after.is_null() {
            nodes.remove(&change.name);
        } else {
            nodes.insert(change.name, change.after);
        }
        let hosts = hosts(nodes.values());
        if moments.last().is_none_or(|it| it.hosts != hosts) {
            moments.push(Moment { t: change.t, hosts, wishing: wishing.clone() });
        }
    }
    moments
}

fn is_call(call: &CloudCall, object: &str, from: f64, to: f64) -> bool {
    ["EnsureLoadBalancer", "UpdateLoadBalancer"].contains(&call.function.as_str())
        && call.object() == object
        && (from..to).contains(&call.t)
}

pub(super) fn take_leaving_nodes_out(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut calls = Vec::new();
    for Moment { t, hosts, wishing } in moments(scenario) {
        for object in wishing {
            let follows = |call: &CloudCall| is_call(call, &object, t - FOLLOWED_WITHIN, t + QUIET);
            if scenario.observed.cloud_calls.iter().chain(&calls).any(follows) {
                continue;
            }
            let service = object.strip_prefix("Service ").unwrap_or(&object);
            let nodes: Vec<&String> = hosts.keys().collect();
            let args = json!({ "cluster": "kubernetes", "service": format!("default/{service}"), "nodes": nodes });
            let args: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
            let (function, result) = ("UpdateLoadBalancer".to_owned(), "ok".to_owned());
            calls.push(CloudCall { t: t + QUIET, took: 0.0, function, args, result });
        }
    }
    let objects = calls.iter().map(CloudCall::object).collect();
    if !calls.is_empty() {
        retell(scenario, |told| {
            for call in &calls {
                tell(told, call.t, &call.object(), if call.hosts().is_empty() { NO_NODES } else { UPDATED });
            }
        });
    }
    let observed = &mut scenario.observed.cloud_calls;
    observed.extend(calls);
    observed.sort_by(|one, other| one.t.total_cmp(&other.t));
    objects
}

pub(super) fn wait_until_initialised(scenario: &mut Scenario) -> BTreeSet<String> {
    let moments = moments(scenario);
    let hosts_at =
        |t: f64| moments.iter().rfind(|it| it.t <= t + FOLLOWED_WITHIN).map(|it| it.hosts.keys().cloned().collect());
    let mut objects = BTreeSet::new();
    let mut early = Vec::new();
    for call in &mut scenario.observed.cloud_calls {
        if !is_call(call, &call.object(), f64::NEG_INFINITY, f64::INFINITY) {
            continue;
        }
        let hosts: Vec<String> = hosts_at(call.t).unwrap_or_default();
        if call.hosts() == hosts {
            continue;
        }
        objects.insert(call.object());
        // Without the nodes that are not there yet, nothing may be new.
        let followed = moments.iter().any(|it| (call.t - FOLLOWED_WITHIN..=call.t + FOLLOWED_WITHIN).contains(&it.t));
        if call.function == "UpdateLoadBalancer" && !followed {
            early.push(call.clone());
        }
        call.args.insert("nodes".to_owned(), json!(hosts));
    }
    retell(scenario, |told| {
        let is_early = |it: &Told| early.iter().any(|call| it.is(&call.object(), UPDATED.1) && it.tells_about(call.t));
        told.retain(|it| !is_early(it));
    });
    let is_early = |it: &CloudCall| early.iter().any(|call| call.t == it.t && call.object() == it.object());
    scenario.observed.cloud_calls.retain(|it| !is_early(it));
    objects
}

pub(super) fn tell_every_failed_update(scenario: &mut Scenario) -> BTreeSet<String> {
    let calls = &scenario.observed.cloud_calls;
    let forgotten = |call: &&CloudCall| {
        let asked = |it: &CloudCall| {
            it.function == "GetLoadBalancer"
                && it.result == "exists=false"
                && it.object() == call.object()
                && it.t >= call.t
                && it.t < call.t + FOLLOWED_WITHIN
        };
        call.function == "UpdateLoadBalancer" && calls.iter().any(asked)
    };
    let forgotten: Vec<CloudCall> = calls.iter().filter(forgotten).cloned().collect();
    let objects = forgotten.iter().map(CloudCall::object).collect();
    retell(scenario, |told| {
        for call in &forgotten {
            let (names, count) = (call.hosts().join(" "), call.hosts().len());
            let error = call.result.strip_prefix("error: ").unwrap_or(&call.result);
            let message = format!(
                "Error updating load balancer with new hosts [{names}] [node names limited, total number of nodes: \
                 {count}], error: {error}"
            );
            tell(told, call.t, &call.object(), ("Warning", "UpdateLoadBalancerFailed", &message));
            let ensured = ("Normal", "EnsuredLoadBalancer", "Ensured load balancer");
            tell(told, call.t + FIRST_PAUSE, &call.object(), ensured);
        }
    });
    for call in forgotten {
        let function = "EnsureLoadBalancer".to_owned();
        scenario.observed.cloud_calls.push(CloudCall { t: call.t + FIRST_PAUSE, function, ..call });
    }
    objects
}
