//! Each row of the table, on a recording made by hand.

mod lifecycle;
mod services;

use serde_json::{Value, json};

use super::*;
use crate::state;

/// A recording of one node, which upstream asked about at t=1 and t=11, and its cloud.
fn recording(node: Value, cloud: Value, requests: Value) -> Scenario {
    let call = |t: f64| json!({ "t": t, "function": "InstanceMetadata", "args": { "node": "n1" }, "result": "ok" });
    serde_json::from_value(json!({
        "name": "77-any", "flags": [], "cloudWithout": ["routes"], "steps": [],
        "given": [{ "t": 0.0, "object": node }],
        "cloud": cloud,
        "observed": {
            "duration": 15.0, "requests": requests, "cloud_calls": [call(1.0), call(11.0)],
            "final": { "Node n1": { "status": { "addresses": node["status"]["addresses"] } } },
        },
    }))
    .unwrap()
}

fn node(provider_id: &str, addresses: &Value) -> Value {
    json!({ "kind": "Node", "metadata": { "name": "n1" }, "spec": { "providerID": provider_id },
        "status": { "addresses": addresses } })
}

fn internal(address: &str) -> Value {
    json!({ "type": "InternalIP", "address": address })
}

#[test]
fn a_recording_without_a_better_way_stays_as_it_is() {
    let addresses = json!([internal("10.0.0.1")]);
    let cloud = json!([{ "t": 0.0, "nodes": { "n1": { "providerID": "fakecloud://1", "addresses": addresses } } }]);
    let mut scenario = recording(node("fakecloud://1", &addresses), cloud, json!([]));
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
}

#[test]
fn a_process_that_null_metadata_ended_must_go_on() {
    let mut scenario =
        recording(node("", &json!([])), json!([{ "t": 0.0, "nodes": { "n1": { "null": true } } }]), json!([]));
    scenario.observed.process_alive = false;
    scenario.observed.cloud_calls.clear();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert!(scenario.observed.process_alive);
    assert_eq!(scenario.observed.cloud_calls.len(), 1);
}

#[test]
fn a_process_that_ended_otherwise_is_expected_to_end() {
    let mut scenario = recording(node("", &json!([])), json!([]), json!([]));
    scenario.observed.process_alive = false;
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
    assert!(!scenario.observed.process_alive);
}

#[test]
fn another_machine_and_another_cloud_leave_the_node_as_it_was() {
    let write = json!([{ "t": 1.1, "verb": "patch", "resource": "nodes", "name": "n1", "code": 200,
        "patch": { "metadata": { "labels": { "a": "b" } } } }]);
    for (own, warnings) in [("fakecloud://other", 1), ("elsewhere://1", 0)] {
        let cloud = json!([{ "t": 0.0, "nodes": { "n1": { "providerID": "fakecloud://1" } } }]);
        let mut scenario = recording(node(own, &json!([])), cloud, write.clone());
        assert_eq!(adjust(&mut scenario).len(), 1, "{own}");
        assert_eq!(scenario.observed.requests.len(), 0, "{own}");
        assert_eq!(scenario.observed.events.len(), warnings, "{own}");
        assert_eq!(scenario.observed.end["Node n1"]["spec"], json!({ "providerID": own }));
        assert_eq!(state::recorded(&scenario)["Node n1"].len(), 1);
    }
}

#[test]
fn a_change_of_order_is_written() {
    let (one, other) = (internal("10.0.0.1"), internal("fd00::1"));
    let (old, new) = (json!([one, other]), json!([other, one]));
    let answer = |t: f64, addresses: &Value| json!({ "t": t, "nodes": { "n1": { "addresses": addresses } } });
    let cloud = json!([answer(0.0, &old), answer(5.0, &new)]);
    let mut scenario = recording(node("", &old), cloud, json!([]));
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(scenario.observed.end["Node n1"]["status"]["addresses"], new);
    let writes: Vec<_> = scenario.observed.requests.iter().map(|it| it.t).collect();
    assert_eq!(writes, [11.0]);
}

#[test]
fn an_annotated_node_and_a_failed_write_are_as_recorded() {
    let cloud = json!([{ "t": 0.0, "nodes": { "n1": { "addresses": [internal("10.0.0.2")] } } }]);
    let old = json!([internal("10.0.0.1")]);
    let mut annotated = node("", &old);
    annotated["metadata"]["annotations"] = json!({ "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" });
    assert_eq!(adjust(&mut recording(annotated, cloud.clone(), json!([]))), Vec::<String>::new());

    let failed = |t: f64| {
        json!({ "t": t, "verb": "patch", "resource": "nodes", "subresource": "status", "name": "n1",
        "code": 500, "injected": true })
    };
    let mut scenario = recording(node("", &old), cloud, json!([failed(1.1), failed(11.1)]));
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
}

#[test]
fn a_node_that_joins_is_asked_about_again() {
    let mut node = node("", &json!([]));
    node["spec"]["taints"] = json!([{ "key": ::tests::kubelet::UNINITIALIZED, "effect": "NoSchedule" }]);
    let mut scenario = recording(node, json!([{ "t": 0.0, "nodes": { "n1": { "null": true } } }]), json!([]));
    assert_eq!(adjust(&mut scenario).len(), 1);
    let times: Vec<_> = scenario.observed.cloud_calls.iter().map(|it| (it.t * 1000.0).round()).collect();
    assert_eq!(times[..4], [0.0, 5.0, 15.0, 35.0]);
    assert_eq!(times.len(), 12);
}
