//! Writes of a recording, done again.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{list, name};
use crate::scenario::{Action, Request, Scenario};

/// An object as it was at some second of a recording. Null if it was not there.
pub(crate) fn at(scenario: &Scenario, name: &str, t: f64) -> Value {
    let mut changes = changes(scenario).into_iter();
    changes.rfind(|it| it.name == name && it.t <= t).map_or(Value::Null, |change| change.after)
}

/// An object that changed.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) t: f64,
    /// As in `Node n1`.
    pub(crate) name: String,
    /// By upstream, not by the recorder.
    pub(crate) by_upstream: bool,
    /// Null if it was not there.
    pub(crate) before: Value,
    /// Null if it is gone.
    pub(crate) after: Value,
}

/// The recorder wrote down the second of what it did when it had the answer, and upstream was faster sometimes.
const NOTED_AFTER: f64 = 0.005;

/// A write of an object.
enum Write<'a> {
    Create(&'a Value),
    Status(&'a Value),
    Merge(Value),
    Delete,
    Request(&'a Request),
}

/// Does again what a recording says was written: every object before and after every write, in order.
pub(crate) fn changes(scenario: &Scenario) -> Vec<Change> {
    let mut objects: BTreeMap<String, Value> = BTreeMap::new();
    let mut changes = Vec::new();
    for (t, name, write) in writes(scenario) {
        let before = objects.remove(&name).unwrap_or_default();
        let mut after = before.clone();
        let by_upstream = matches!(write, Write::Request(_));
        match write {
            Write::Create(object) => {
                after.clone_from(object);
                // The API server ignores the status when a Service is created.
                if object["kind"] == "Service" {
                    after.as_object_mut().map(|it| it.remove("status"));
                }
            }
            Write::Status(status) => after["status"] = status.clone(),
            Write::Merge(patch) => merge(&mut after, &patch),
            Write::Delete => after["metadata"]["deletionTimestamp"] = json!("<time>"),
            Write::Request(request) => {
                strategic(&mut after, &request.patch);
                apply(&mut after, &request.diff);
            }
        }
        // The API server clears it.
        if after["spec"]["type"].as_str().is_some_and(|it| it != "LoadBalancer") && !after["status"].is_null() {
            after["status"].as_object_mut().map(|it| it.remove("loadBalancer"));
        }
        let deleted = after["metadata"]["deletionTimestamp"].is_string();
        if deleted && list(&after["metadata"]["finalizers"]).is_empty() {
            after = Value::Null;
        } else {
            objects.insert(name.clone(), after.clone());
        }
        changes.push(Change { t, name, by_upstream, before, after });
    }
    changes
}

fn writes(scenario: &Scenario) -> Vec<(f64, String, Write<'_>)> {
    let mut writes = Vec::new();
    for given in scenario.given.iter().filter(|it| it.answer.is_none()) {
        let (t, object) = (given.t - NOTED_AFTER, &given.object);
        writes.push((t, name(object), Write::Create(object)));
        if object["kind"] == "Service" && !object["status"].is_null() {
            writes.push((t, name(object), Write::Status(&object["status"])));
        }
    }
    for step in &scenario.steps {
        let t = step.t - NOTED_AFTER;
        match step.action() {
            Ok(Action::Patch { kind, name, body, .. }) => {
                writes.push((t, format!("{kind} {name}"), Write::Merge(body)))
            }
            Ok(Action::Delete { kind, name }) => writes.push((t, format!("{kind} {name}"), Write::Delete)),
            _ => {}
        }
    }
    for request in scenario.observed.requests.iter().filter(|it| it.has_changed()) {
        let write = if request.verb == "delete" { Write::Delete } else { Write::Request(request) };
        writes.push((request.t, request.object(), write));
    }
    writes.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    writes
}

/// A strategic merge patch, as far as the recordings use it: finalizers are added, or taken away by name.
fn strategic(target: &mut Value, patch: &Value) {
    let mut patch = patch.clone();
    let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) else { return merge(target, &patch) };
    metadata.remove("resourceVersion");
    metadata.remove("$setElementOrder/finalizers");
    let removed = list(&metadata.remove("$deleteFromPrimitiveList/finalizers").unwrap_or_default());
    let mut finalizers = list(&target["metadata"]["finalizers"]);
    finalizers.retain(|it| !removed.contains(it));
    match metadata.get("finalizers") {
        Some(Value::Array(added)) => {
            finalizers.extend(added.iter().filter(|it| !finalizers.contains(it)).cloned().collect::<Vec<_>>())
        }
        Some(_) => finalizers.clear(),
        None => {}
    }
    metadata.insert("finalizers".to_owned(), if finalizers.is_empty() { Value::Null } else { finalizers.into() });
    merge(target, &patch);
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

#[cfg(test)]
mod tests {
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
    fn finalizers_are_added_and_taken_away_by_name() {
        let mut service = json!({ "metadata": { "finalizers": ["a"] } });
        strategic(
            &mut service,
            &json!({ "metadata": { "$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b"] } }),
        );
        assert_eq!(service["metadata"]["finalizers"], json!(["a", "b"]));
        strategic(&mut service, &json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["a"] } }));
        assert_eq!(service["metadata"]["finalizers"], json!(["b"]));
        strategic(&mut service, &json!({ "metadata": { "finalizers": null } }));
        assert_eq!(service["metadata"].get("finalizers"), None);
    }
}
