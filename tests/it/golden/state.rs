//! What others see of a node, and how it changes: from the watch of a run, and from the requests of a recording.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::scenario::{Action, Request, Scenario};

/// What others act on: may Pods come, which machine is it, what is it called, where is it reached.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct State {
    pub(crate) taints: Vec<Value>,
    pub(crate) provider_id: String,
    pub(crate) labels: BTreeMap<String, Value>,
    pub(crate) addresses: Vec<Value>,
}

impl State {
    pub(crate) fn of(node: &Value) -> State {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        State {
            taints: list(&node["spec"]["taints"]).iter().map(without_time).collect(),
            provider_id: node["spec"]["providerID"].as_str().unwrap_or_default().to_owned(),
            labels: node["metadata"]["labels"].as_object().cloned().unwrap_or_default().into_iter().collect(),
            addresses: list(&node["status"]["addresses"]),
        }
    }

    pub(crate) fn is_uninitialized(&self) -> bool {
        self.taints.iter().any(|taint| taint["key"] == ::tests::kubelet::UNINITIALIZED)
    }
}

/// The states that a node was seen in by those who watched, each once, by the node's name.
pub(crate) type History = BTreeMap<String, Vec<State>>;

/// Adds what was seen, unless it is what was seen before.
pub(crate) fn see(history: &mut History, node: &Value) {
    let name = node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let states = history.entry(name).or_default();
    let state = State::of(node);
    if states.last() != Some(&state) {
        states.push(state);
    }
}

/// The states that follow from what a recording says was written, by everybody.
pub(crate) fn recorded(scenario: &Scenario) -> History {
    let mut history = History::new();
    replay(scenario, f64::INFINITY, |node| see(&mut history, node));
    history
}

/// A node as it was at some second of a recording.
pub(crate) fn at(scenario: &Scenario, name: &str, t: f64) -> Value {
    let mut found = Value::Null;
    replay(scenario, t, |node| {
        if node["metadata"]["name"] == name {
            found.clone_from(node);
        }
    });
    found
}

/// The recorder wrote down the second of what it did when it had the answer, and upstream was faster sometimes.
const NOTED_AFTER: f64 = 0.005;

/// What changes a node.
enum Write<'a> {
    Create(&'a Value),
    Merge { name: String, patch: Value },
    Request(&'a Request),
}

impl Write<'_> {
    fn name(&self) -> &str {
        match self {
            Write::Create(object) => object["metadata"]["name"].as_str().unwrap_or_default(),
            Write::Merge { name, .. } => name,
            Write::Request(request) => &request.name,
        }
    }
}

/// Does again what a recording says was written until some second, and shows each node after each write.
fn replay(scenario: &Scenario, until: f64, mut show: impl FnMut(&Value)) {
    let mut nodes: BTreeMap<String, Value> = BTreeMap::new();
    for (_, write) in writes(scenario).into_iter().filter(|(t, _)| *t <= until) {
        let node = nodes.entry(write.name().to_owned()).or_default();
        match write {
            Write::Create(object) => *node = object.clone(),
            Write::Merge { patch, .. } => merge(node, &patch),
            Write::Request(request) => {
                merge(node, &request.patch);
                apply(node, &request.diff);
            }
        }
        show(node);
    }
}

fn writes(scenario: &Scenario) -> Vec<(f64, Write<'_>)> {
    let given = scenario.given.iter().filter(|it| it.answer.is_none() && it.object["kind"] == "Node");
    let steps = scenario.steps.iter().filter_map(|step| match step.action() {
        Ok(Action::Patch { kind, name, body, .. }) if kind == "Node" => {
            Some((step.t - NOTED_AFTER, Write::Merge { name, patch: body }))
        }
        _ => None,
    });
    let requests = scenario.observed.requests.iter().filter(|it| it.resource == "nodes" && it.has_changed());
    let mut writes: Vec<_> = given.map(|it| (it.t - NOTED_AFTER, Write::Create(&it.object))).collect();
    writes.extend(steps);
    writes.extend(requests.map(|it| (it.t, Write::Request(it))));
    writes.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    writes
}

/// A patch, as far as the recordings use them: objects are merged, lists replaced, `null` deletes.
///
/// In a strategic merge patch the element `{"$patch": "replace"}` says what we do anyway; lists without it were patched
/// onto empty ones.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    match patch {
        Value::Null => {}
        Value::Object(patch) => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            for (key, value) in patch {
                if value.is_null() {
                    target.as_object_mut().map(|it| it.remove(key));
                } else {
                    merge(&mut target[key], value);
                }
            }
        }
        Value::Array(list) => {
            let kept = list.iter().filter(|it| it.get("$patch").is_none()).cloned();
            *target = Value::Array(kept.collect());
        }
        plain => *target = plain.clone(),
    }
}

/// A difference, as recordings write it for a PUT: by path, what was `added` or `removed`, or `from` what `to` what.
fn apply(node: &mut Value, diff: &Map<String, Value>) {
    for (path, change) in diff {
        // A key of a map may itself have dots.
        let (parents, key) = match path.split_once("metadata.labels.") {
            Some(("", key)) => (vec!["metadata", "labels"], key),
            _ => {
                let mut parents: Vec<&str> = path.split('.').collect();
                let key = parents.pop().unwrap_or_default();
                (parents, key)
            }
        };
        let mut place = &mut *node;
        for parent in parents {
            place = &mut place[parent];
        }
        match change.get("added").or_else(|| change.get("to")) {
            Some(value) => place[key] = value.clone(),
            None => drop(place.as_object_mut().map(|it| it.remove(key))),
        }
    }
}

fn without_time(taint: &Value) -> Value {
    let mut taint = taint.clone();
    taint.as_object_mut().map(|it| it.remove("timeAdded"));
    taint
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_merges_replaces_and_deletes() {
        let mut node = json!({ "metadata": { "labels": { "a": "1", "b": "2" } },
            "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }] } });
        let replace = json!({ "$patch": "replace" });
        let new = json!({ "type": "InternalIP", "address": "10.0.0.2" });
        merge(&mut node, &json!({ "metadata": { "labels": { "a": null, "c": "3" } } }));
        merge(&mut node, &json!({ "status": { "addresses": [new, replace] } }));
        assert_eq!(node["metadata"]["labels"], json!({ "b": "2", "c": "3" }));
        assert_eq!(node["status"]["addresses"], json!([new]));
    }

    #[test]
    fn a_difference_is_applied_path_by_path() {
        let mut node = json!({ "metadata": { "labels": { "my.label/x": "old" } },
            "spec": { "taints": [{ "key": "a" }, { "key": "b" }] } });
        let diff = json!({
            "metadata.labels.my.label/y": { "added": "new" },
            "spec.providerID": { "added": "fakecloud://1" },
            "spec.taints": { "from": [{ "key": "a" }, { "key": "b" }], "to": [{ "key": "b" }] },
        });
        apply(&mut node, diff.as_object().unwrap());
        assert_eq!(node["metadata"]["labels"], json!({ "my.label/x": "old", "my.label/y": "new" }));
        assert_eq!(node["spec"], json!({ "providerID": "fakecloud://1", "taints": [{ "key": "b" }] }));
        apply(&mut node, json!({ "spec.taints": { "removed": [{ "key": "b" }] } }).as_object().unwrap());
        assert_eq!(node["spec"].get("taints"), None);
    }

    #[test]
    fn a_state_that_stays_is_seen_once() {
        let mut history = History::new();
        let node = json!({ "metadata": { "name": "n1", "resourceVersion": "1" } });
        see(&mut history, &node);
        see(&mut history, &json!({ "metadata": { "name": "n1", "resourceVersion": "2" } }));
        assert_eq!(history["n1"].len(), 1);
        see(&mut history, &json!({ "metadata": { "name": "n1" }, "spec": { "providerID": "x" } }));
        assert_eq!(history["n1"].len(), 2);
    }
}
