//! The state of an object that others see, and its changes: from the watch of a run, and from the requests of a
//! recording.

mod changes;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(crate) use self::changes::{Change, at, changes, merge};
use crate::scenario::Scenario;

/// The fields that others act on. A node's: may Pods come, which machine is it, its name, its addresses. A Service's:
/// its addresses, and who has to be waited for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct State {
    pub(crate) taints: Vec<Value>,
    pub(crate) provider_id: String,
    pub(crate) labels: BTreeMap<String, Value>,
    pub(crate) addresses: Vec<Value>,
    pub(crate) finalizers: Vec<Value>,
    pub(crate) ingress: Vec<Value>,
}

impl State {
    pub(crate) fn of(object: &Value) -> State {
        State {
            taints: list(&object["spec"]["taints"]).iter().map(without_time).collect(),
            provider_id: object["spec"]["providerID"].as_str().unwrap_or_default().to_owned(),
            labels: object["metadata"]["labels"].as_object().cloned().unwrap_or_default().into_iter().collect(),
            addresses: list(&object["status"]["addresses"]),
            finalizers: list(&object["metadata"]["finalizers"]),
            ingress: list(&object["status"]["loadBalancer"]["ingress"]).iter().map(with_mode).collect(),
        }
    }

    pub(crate) fn is_uninitialized(&self) -> bool {
        self.taints.iter().any(|taint| taint["key"] == ::tests::kubelet::UNINITIALIZED)
    }
}

/// The states that an object was seen in by those who watched, each once, by its name as in `Node n1`.
pub(crate) type History = BTreeMap<String, Vec<State>>;

/// The name of an object, as in `Node n1`.
pub(crate) fn name(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", word(&object["kind"]), word(&object["metadata"]["name"]))
}

/// Adds what was seen, unless it is what was seen before.
pub(crate) fn see(history: &mut History, object: &Value) {
    let states = history.entry(name(object)).or_default();
    let state = State::of(object);
    if states.last() != Some(&state) {
        states.push(state);
    }
}

/// The states that follow from what a recording says was written, by all writers.
pub(crate) fn recorded(scenario: &Scenario) -> History {
    let mut history = History::new();
    for change in changes(scenario).iter().filter(|it| !it.after.is_null()) {
        see(&mut history, &change.after);
    }
    history
}

pub(crate) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The API server fills in `VIP`.
fn with_mode(ingress: &Value) -> Value {
    let mut ingress = ingress.clone();
    if ingress["ip"].is_string() && ingress["ipMode"].is_null() {
        ingress["ipMode"] = json!("VIP");
    }
    ingress
}

fn without_time(taint: &Value) -> Value {
    let mut taint = taint.clone();
    taint.as_object_mut().map(|it| it.remove("timeAdded"));
    taint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_stays_is_seen_once() {
        let mut history = History::new();
        let node = json!({ "kind": "Node", "metadata": { "name": "n1", "resourceVersion": "1" } });
        see(&mut history, &node);
        see(&mut history, &json!({ "kind": "Node", "metadata": { "name": "n1", "resourceVersion": "2" } }));
        assert_eq!(history["Node n1"].len(), 1);
        see(&mut history, &json!({ "kind": "Node", "metadata": { "name": "n1" }, "spec": { "providerID": "x" } }));
        assert_eq!(history["Node n1"].len(), 2);
    }
}
