//! Nodes whose machines are gone, or shut down.

use serde_json::{Value, json};

use crate::better::adjust;
use crate::scenario::Scenario;
use crate::state;

const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// A recording of one node, about which upstream asked these questions.
fn recording(taints: Value, calls: &[(f64, &str, &str)], requests: Value) -> Scenario {
    let call = |(t, function, result): &(f64, &str, &str)| json!({ "t": t, "function": function, "args": { "node": "n1" }, "result": result });
    serde_json::from_value(json!({
        "name": "77-any", "flags": [], "cloudWithout": ["routes"], "steps": [], "cloud": [],
        "given": [{ "t": 0.0, "object": { "kind": "Node", "metadata": { "name": "n1" }, "spec": { "taints": taints } } }],
        "observed": {
            "duration": 15.0, "requests": requests, "cloud_calls": calls.iter().map(call).collect::<Vec<_>>(),
            "final": { "Node n1": { "spec": { "taints": taints } } },
        },
    }))
    .unwrap()
}

#[test]
fn a_missing_machine_is_checked_twice_before_deletion() {
    let calls =
        [(1.0, "InstanceExists", "error: instance not found"), (3.0, "InstanceExists", "error: instance not found")];
    let mut scenario = recording(json!([]), &calls, json!([]));
    assert_eq!(adjust(&mut scenario).len(), 2);
    assert_eq!(scenario.observed.end["Node n1"], Value::Null);
    assert_eq!(scenario.observed.events[0].reason, "DeletingNode");
    assert_eq!(scenario.observed.requests[0].verb, "delete");
    assert_eq!(scenario.observed.cloud_calls.len(), 3);
}

#[test]
fn another_error_and_a_machine_that_is_there_are_as_recorded() {
    let calls = [(1.0, "InstanceExists", "error: cloud is down"), (3.0, "InstanceExists", "true")];
    assert_eq!(adjust(&mut recording(json!([]), &calls, json!([]))), Vec::<String>::new());
}

#[test]
fn a_running_machine_loses_its_taint_before_it_is_ready() {
    let (foreign, taint) =
        (json!({ "key": "foo", "effect": "NoSchedule" }), json!({ "key": SHUTDOWN, "effect": "NoSchedule" }));
    let removal = |t: f64| {
        json!([{ "t": t, "verb": "patch", "resource": "nodes", "name": "n1", "code": 200,
            "patch": { "metadata": { "resourceVersion": "1" }, "spec": { "taints": [foreign] } } }])
    };
    let calls = [(1.0, "InstanceShutdown", "true"), (3.0, "InstanceShutdown", "false")];
    let mut scenario = recording(json!([foreign, taint]), &calls, removal(5.0));
    assert_eq!(adjust(&mut scenario).len(), 1);
    let removals: Vec<f64> = scenario.observed.requests.iter().map(|it| it.t).collect();
    assert_eq!(removals, [3.0], "upstream's own is not needed any more");
    assert_eq!(scenario.observed.end["Node n1"]["spec"]["taints"], json!([foreign]));
    assert_eq!(state::recorded(&scenario)["Node n1"].len(), 2);
}

#[test]
fn a_machine_that_does_not_exist_has_no_data() {
    let taints = json!([{ "key": ::tests::kubelet::UNINITIALIZED, "effect": "NoSchedule" }]);
    let initialised = json!([{ "t": 1.0, "verb": "update", "resource": "nodes", "name": "n1", "code": 200 },
        { "t": 2.0, "verb": "delete", "resource": "nodes", "name": "n1", "code": 200 }]);
    let mut scenario =
        recording(taints, &[(1.0, "InstanceMetadata", "ok"), (2.0, "InstanceExists", "false")], initialised);
    scenario.cloud = serde_json::from_value(json!([{ "t": 0.0, "nodes": { "n1": { "exists": false } } }])).unwrap();
    assert_eq!(adjust(&mut scenario).len(), 2);
    let verbs: Vec<_> = scenario.observed.requests.iter().map(|it| it.verb.as_str()).collect();
    assert_eq!(verbs, ["delete"]);
    assert!(scenario.observed.cloud_calls.len() > 10, "it is asked about again and again");
}

#[test]
fn a_taint_with_another_effect_is_left_alone() {
    let taint = json!([{ "key": SHUTDOWN, "effect": "NoExecute" }]);
    let mut scenario = recording(taint, &[(3.0, "InstanceShutdown", "false")], json!([]));
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
}
