//! Compares what was observed with what was recorded.

mod routes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use serde_json::Value;

use crate::run::Observed;
use crate::scenario::{CloudCall, Event, Scenario};
use crate::state::{self, State};
use ::tests::script::Question;

/// The parts of a node that must be as recorded, and absent where nothing was recorded.
pub(crate) const PARTS: [[&str; 2]; 6] = [
    ["metadata", "annotations"],
    ["metadata", "finalizers"],
    ["metadata", "labels"],
    ["spec", "providerID"],
    ["spec", "taints"],
    ["status", "addresses"],
];

/// Everything that differs, each with what was expected and what was seen.
pub(crate) fn differences(expected: &Scenario, seen: &Observed) -> Vec<String> {
    let mut differences = Vec::new();
    process(expected, seen, &mut differences);
    events(&expected.observed.events, &seen.events, &mut differences);
    ends(expected, seen, &mut differences);
    histories(expected, seen, &mut differences);
    writes(expected, seen, &mut differences);
    calls(expected, &seen.calls, &mut differences);
    routes::compare(expected, seen, &mut differences);
    hosts(expected, &seen.calls, &mut differences);
    differences
}

fn process(expected: &Scenario, seen: &Observed, differences: &mut Vec<String>) {
    if let Some(end) = &seen.ended
        && expected.observed.process_alive
    {
        differences.push(format!("the process ended: {end}"));
    }
}

/// Letter for letter but for lists of names that are cut short, in order for each object: another thread sends them, so
/// that the order between objects is chance.
pub(crate) fn events(expected: &[Event], seen: &[Event], differences: &mut Vec<String>) {
    let by_object = |events: &[Event]| {
        let mut objects: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in events {
            let key = if event.verb == "create" { event.object() } else { "repeated events".to_owned() };
            objects.entry(key).or_default().push(words(event));
        }
        if let Some(repeated) = objects.get_mut("repeated events") {
            repeated.sort_by_key(Value::to_string);
        }
        objects
    };
    by_key("events of", &by_object(expected), &by_object(seen), differences);
}

/// An event as it is compared. Who is meant is there or not; which version cannot be the same.
fn words(event: &Event) -> Value {
    let mut object = event.involved_object.clone();
    for key in ["uid", "resourceVersion"] {
        if object.get(key).is_some() {
            object[key] = Value::from("<there>");
        }
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("namespace").filter(|it| it != "");
    }
    let mut source = event.source.clone();
    if let Some(source) = source.as_object_mut() {
        source.retain(|_, value| value != "");
    }
    let mut body = event.body.clone();
    if let Some(Value::String(message)) = body.get_mut("message") {
        *message = without_names(message);
    }
    serde_json::json!({
        "verb": event.verb, "type": event.kind, "reason": event.reason,
        "message": routes::without_duration(&without_names(&event.message), &event.involved_object),
        "source": source, "reportingComponent": event.reporting_component, "namespace": event.namespace,
        "involvedObject": object, "body": body,
    })
}

/// A message whose list of node names is cut short: upstream's order is chance, and with it which names are there. How many
/// there are stays, and how many more there would be.
fn without_names(message: &str) -> String {
    let cut = || {
        let (before, rest) = message.split_once('[')?;
        let (list, after) = rest.split_once(']')?;
        let (names, more) = list.split_once(" <")?;
        let is_cut = after.starts_with(" [node names limited, total number of nodes: ") && more.ends_with(" more>");
        let is_name =
            |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-.".contains(&it));
        let names: Vec<_> = names.split(' ').collect();
        let distinct = names.iter().collect::<BTreeSet<_>>().len();
        (is_cut && names.iter().all(|it| is_name(it)) && distinct == names.len())
            .then(|| format!("{before}[<{distinct} names> <{more}]{after}"))
    };
    cut().unwrap_or_else(|| message.to_owned())
}

fn ends(expected: &Scenario, seen: &Observed, differences: &mut Vec<String>) {
    for (name, expected) in expected.observed.end.iter().filter(|(name, _)| *name != routes::END) {
        match (expected, seen.end.get(name).and_then(Option::as_ref)) {
            (Value::Null, None) => {}
            (Value::Null, Some(seen)) => difference(&format!("{name} at the end"), &"gone", seen, differences),
            (expected, None) => difference(&format!("{name} at the end"), expected, &"gone", differences),
            (expected, Some(seen)) => end(name, expected, seen, differences),
        }
    }
}

fn end(name: &str, expected: &Value, seen: &Value, differences: &mut Vec<String>) {
    let mut paths: BTreeSet<[&str; 2]> = PARTS.into();
    for (section, parts) in expected.as_object().into_iter().flatten() {
        paths.extend(parts.as_object().into_iter().flatten().map(|(part, _)| [section.as_str(), part.as_str()]));
    }
    for [section, part] in paths {
        let what = format!("{name} at the end: {section}.{part}");
        let part = |object: &Value| match &object[section][part] {
            Value::String(_) if part == "deletionTimestamp" => Value::from("<time>"),
            // Recordings have only the condition that is upstream's.
            Value::Array(all) if part == "conditions" => {
                let own = all.iter().filter(|it| it["type"] == "NetworkUnavailable").cloned();
                present(&own.collect())
            }
            value => present(value),
        };
        let (expected, seen) = (part(expected), part(seen));
        if expected != seen {
            difference(&what, &expected, &seen, differences);
        }
    }
}

/// A value as it is compared: an empty one is the same as none.
fn present(value: &Value) -> Value {
    match value {
        Value::String(text) if text.is_empty() => Value::Null,
        Value::Object(map) if map.is_empty() => Value::Null,
        Value::Array(list) if list.is_empty() => Value::Null,
        Value::Array(list) => list.iter().map(present).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !TIMES.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        plain => plain.clone(),
    }
}

/// Fields that the API server's clock decides.
const TIMES: [&str; 3] = ["lastHeartbeatTime", "lastTransitionTime", "timeAdded"];

fn histories(expected: &Scenario, seen: &Observed, differences: &mut Vec<String>) {
    by_key("states of", &state::recorded(expected), &seen.history, differences);
    for (name, states) in seen.history.iter().filter(|(name, _)| name.starts_with("Node ")) {
        let waited = states.iter().any(State::is_uninitialized);
        for state in states.iter().filter(|it| waited && !it.is_uninitialized() && it.provider_id.is_empty()) {
            differences.push(format!("{name} was seen without taint and without provider id: {state:#?}"));
        }
    }
}

/// No more than recorded, for each object and resource.
fn writes(expected: &Scenario, seen: &Observed, differences: &mut Vec<String>) {
    let recorded = expected.observed.requests.iter().filter(|it| it.is_write());
    let allowed = count(recorded.map(|it| (it.name.clone(), it.target())));
    for ((name, resource), seen) in count(seen.writes.iter().cloned()) {
        let allowed = allowed.get(&(name.clone(), resource.clone())).copied().unwrap_or_default();
        if seen > allowed {
            difference(&format!("writes to {resource} {name}"), &format_args!("at most {allowed}"), &seen, differences);
        }
    }
}

/// Passes of the node lifecycle controller are further apart, in seconds, than questions of one pass.
const BETWEEN_PASSES: f64 = 1.0;

/// No more than recorded, for each node, for each Service, and for nodes in all. A list of all machines is one
/// call; a pass in which a node may have to be deleted may have one more, as proof.
fn calls(expected: &Scenario, seen: &[Question], differences: &mut Vec<String>) {
    let recorded = &expected.observed.cloud_calls;
    let is_about = |it: &&&CloudCall, words: &[&str]| words.iter().any(|word| it.function == *word);
    let about = |words: &'static [&'static str]| recorded.iter().filter(move |it| is_about(&it, words));
    let nodes =
        count(about(&["InstanceMetadata", "InstanceExists", "InstanceShutdown"]).map(|it| it.node().to_owned()));
    let ensures = count(about(&["EnsureLoadBalancer", "UpdateLoadBalancer"]).map(|it| it.service().to_owned()));
    let deletions = count(about(&["GetLoadBalancer", "EnsureLoadBalancerDeleted"]).map(|it| it.service().to_owned()));

    let asked = |of: fn(&Question) -> Option<&String>| count(seen.iter().filter_map(of).cloned());
    let gets = asked(|it| if let Question::Get { node, .. } = it { Some(node) } else { None });
    at_most("cloud calls about", &nodes, &gets, differences);
    let ensured = asked(|it| if let Question::Ensure { service, .. } = it { Some(service) } else { None });
    at_most("load balancers ensured for", &ensures, &ensured, differences);
    let deleted = asked(|it| if let Question::Delete { service } = it { Some(service) } else { None });
    at_most("load balancers deleted for", &deletions, &deleted, differences);

    let mut exists: Vec<f64> = about(&["InstanceExists"]).map(|it| it.t).collect();
    exists.sort_by(f64::total_cmp);
    let passes = exists.chunk_by(|one, next| next - one < BETWEEN_PASSES).count();
    let proofs = if about(&["InstanceExists"]).all(|it| it.result == "true") { 0 } else { passes };
    let lists = seen.iter().filter(|question| matches!(question, Question::List { after } if after.is_empty())).count();
    let (all, allowed) = (gets.values().sum::<usize>() + lists, nodes.values().sum::<usize>() + proofs);
    if all > allowed {
        let seen = format!("{all}, {lists} of them lists");
        difference("cloud calls about nodes", &format_args!("at most {allowed}"), &format_args!("{seen}"), differences);
    }
}

fn at_most(
    what: &str,
    allowed: &BTreeMap<String, usize>,
    seen: &BTreeMap<String, usize>,
    differences: &mut Vec<String>,
) {
    for (name, seen) in seen {
        let allowed = allowed.get(name).copied().unwrap_or_default();
        if *seen > allowed {
            difference(&format!("{what} {name}"), &format_args!("at most {allowed}"), seen, differences);
        }
    }
}

/// The nodes that each load balancer was given, each time that they changed, and the name of the cluster.
fn hosts(expected: &Scenario, seen: &[Question], differences: &mut Vec<String>) {
    let mut recorded = Hosts::new();
    let is_told = |it: &&CloudCall| ["EnsureLoadBalancer", "UpdateLoadBalancer"].contains(&it.function.as_str());
    for call in expected.observed.cloud_calls.iter().filter(is_told) {
        let cluster = call.args.get("cluster").and_then(Value::as_str).unwrap_or_default();
        give(&mut recorded, call.service(), cluster, call.hosts());
    }
    let mut given = Hosts::new();
    for question in seen {
        if let Question::Ensure { service, cluster, nodes } = question {
            let mut nodes = nodes.clone();
            nodes.sort();
            give(&mut given, service, cluster, nodes);
        }
    }
    by_key("nodes given to the load balancer of", &recorded, &given, differences);
}

type Hosts = BTreeMap<String, Vec<(String, Vec<String>)>>;

fn give(hosts: &mut Hosts, service: &str, cluster: &str, nodes: Vec<String>) {
    let given = hosts.entry(service.to_owned()).or_default();
    let new = (cluster.to_owned(), nodes);
    if given.last() != Some(&new) {
        given.push(new);
    }
}

fn count<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn by_key<V: PartialEq + Debug>(
    what: &str,
    expected: &BTreeMap<String, V>,
    seen: &BTreeMap<String, V>,
    differences: &mut Vec<String>,
) {
    let keys: BTreeSet<_> = expected.keys().chain(seen.keys()).collect();
    for key in keys {
        let (expected, seen) = (expected.get(key), seen.get(key));
        if expected != seen {
            difference(&format!("{what} {key}"), &expected, &seen, differences);
        }
    }
}

fn difference(what: &str, expected: &dyn Debug, seen: &dyn Debug, differences: &mut Vec<String>) {
    let (expected, seen) = (format!("{expected:#?}"), format!("{seen:#?}"));
    differences.push(format!("{what}\n{}", lines(&expected, &seen)));
}

/// Lines of both, `-` expected and `+` seen; what both have at the beginning and the end is shown once.
fn lines(expected: &str, seen: &str) -> String {
    let (expected, seen): (Vec<_>, Vec<_>) = (expected.lines().collect(), seen.lines().collect());
    let same = expected.iter().zip(&seen).take_while(|(one, other)| one == other).count();
    let rest = expected.len().min(seen.len()) - same;
    let back = expected.iter().rev().zip(seen.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    let mut text = String::new();
    let mut put =
        |sign: char, lines: &[&str]| lines.iter().for_each(|line| text.push_str(&format!("  {sign} {line}\n")));
    put(' ', &expected[same.saturating_sub(3)..same]);
    put('-', &expected[same..expected.len() - back]);
    put('+', &seen[same..seen.len() - back]);
    put(' ', &expected[expected.len() - back..(expected.len() - back + 3).min(expected.len())]);
    text
}

#[cfg(test)]
mod tests;
