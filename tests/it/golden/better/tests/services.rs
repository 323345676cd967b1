//! Services and their load balancers.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::state;

/// Upstream's call for the instance of a node.
const QUESTION: &str = "InstanceMetadata";
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// A recording of the Service `s1`, which is there from the beginning, and of the node `n1`.
#[derive(Default)]
struct Story {
    given: Vec<Value>,
    steps: Vec<Value>,
    calls: Vec<Value>,
    requests: Vec<Value>,
    events: Vec<(f64, &'static str, &'static str)>,
}

impl Story {
    fn step(mut self, t: f64, action: &str, body: Value) -> Story {
        self.steps.push(json!({ "t": t, "action": action, "body": body }));
        self
    }

    fn given(mut self, t: f64, object: Value) -> Story {
        self.given.push(json!({ "t": t, "object": object }));
        self
    }

    fn call(mut self, t: f64, function: &str, nodes: &[&str], result: &str) -> Story {
        let args = json!({ "cluster": "kubernetes", "service": "default/s1", "nodes": nodes });
        self.calls.push(json!({ "t": t, "took": 0.0, "function": function, "args": args, "result": result }));
        self
    }

    fn event(mut self, t: f64, reason: &'static str, message: &'static str) -> Story {
        self.events.push((t, reason, message));
        self
    }

    fn ensured(self, t: f64) -> Story {
        let story = self.event(t, "EnsuringLoadBalancer", "Ensuring load balancer");
        story.call(t, "EnsureLoadBalancer", &["n1"], "ok").event(t, "EnsuredLoadBalancer", "Ensured load balancer")
    }

    fn request(mut self, t: f64, code: u16, patch: Value) -> Story {
        self.requests
            .push(json!({ "t": t, "verb": "patch", "resource": "services", "subresource": "status", "name": "s1",
            "code": code, "injected": code >= 400, "patch": patch }));
        self
    }

    fn end(self) -> Scenario {
        let mut given = vec![json!({ "t": 0.0, "object": node("n1", json!({})) })];
        given.push(json!({ "t": 0.1, "object": service() }));
        given.extend(self.given);
        let mut events: Vec<Value> = Vec::new();
        for (index, (t, reason, message)) in self.events.iter().enumerate() {
            let count = self.events[..=index].iter().filter(|it| it.2 == *message).count();
            events.push(if count == 1 {
                json!({ "t": t, "verb": "create", "type": "Normal", "reason": reason, "message": message,
                    "involvedObject": { "kind": "Service", "name": "s1" } })
            } else {
                json!({ "t": t, "verb": "patch", "body": { "count": count, "message": message } })
            });
        }
        serde_json::from_value(json!({
            "name": "77-any", "flags": [], "cloudWithout": ["routes"], "cloud": [], "given": given, "steps": self.steps,
            "observed": { "duration": 60.0, "requests": self.requests, "cloud_calls": self.calls, "events": events },
        }))
        .unwrap()
    }
}

fn service() -> Value {
    json!({ "kind": "Service", "metadata": { "name": "s1" },
        "spec": { "type": "LoadBalancer", "ports": [{ "name": "http", "port": 80 }] } })
}

fn node(name: &str, metadata: Value) -> Value {
    let mut node =
        json!({ "kind": "Node", "metadata": metadata, "spec": { "providerID": format!("fakecloud://{name}") } });
    node["metadata"]["name"] = json!(name);
    node
}

/// The events of a scenario: the reason, or the message and count of a repeated one.
fn events(scenario: &Scenario) -> Vec<String> {
    let events = scenario.observed.events.iter();
    let word = |event: &crate::scenario::Event| match event.body["count"].as_u64() {
        Some(count) => format!("{} {count}", event.body["message"].as_str().unwrap_or_default()),
        None => event.reason.clone(),
    };
    events.map(word).collect()
}

/// The cloud calls about Services, each with its second.
fn calls(scenario: &Scenario) -> Vec<(f64, &str)> {
    let calls = scenario.observed.cloud_calls.iter().filter(|it| it.function != QUESTION);
    calls.map(|it| (it.t, it.function.as_str())).collect()
}

/// Adjusts, and leaves out of the reasons that each node is asked about once: that is so in all these stories.
fn adjust(scenario: &mut Scenario) -> Vec<String> {
    let mut reasons = crate::better::adjust(scenario);
    let all = reasons.len();
    reasons.retain(|it| !it.contains("it is asked one question about a node that comes without the taint"));
    assert_eq!(all - reasons.len(), 1, "the nodes are asked about");
    reasons
}

#[test]
fn a_node_without_the_taint_is_asked_about_once() {
    let mut scenario = Story::default().ensured(1.0).end();
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
    let questions = scenario.observed.cloud_calls.iter().filter(|it| it.function == QUESTION);
    assert_eq!(questions.map(|it| (it.t, it.node())).collect::<Vec<_>>(), [(0.0, "n1")]);
    assert_eq!(calls(&scenario), [(1.0, "EnsureLoadBalancer")]);
}

#[test]
fn an_ordinary_recording_is_expected_as_recorded() {
    let story = Story::default().ensured(1.0).step(
        5.0,
        "patch Service s1",
        json!({ "metadata": { "annotations": { "a": "1" } } }),
    );
    let mut scenario = story.ensured(5.0).end();
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
    assert_eq!(calls(&scenario).len(), 2);
}

#[test]
fn changes_that_do_not_concern_the_cloud_cause_no_call() {
    let pods = json!({ "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] } });
    let mut scenario = Story::default().ensured(1.0).step(5.0, "patch Service s1", pods).ensured(5.0).end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(calls(&scenario), [(1.0, "EnsureLoadBalancer")]);
    assert_eq!(events(&scenario), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
}

#[test]
fn changes_after_the_tenth_wait_and_become_one() {
    let mut story = Story::default().ensured(1.0);
    for index in 1..=12 {
        let t = 2.0 + f64::from(index) / 10.0;
        let change = json!({ "metadata": { "annotations": { "a": index.to_string() } } });
        story = story.step(t, "patch Service s1", change).ensured(t);
    }
    let mut scenario = story.end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    let calls = calls(&scenario);
    assert_eq!(calls.len(), 11, "{calls:?}");
    // 0.2 were gained until 3.0, when the eleventh change came.
    let (last, _) = calls[10];
    assert!((last - 11.0).abs() < 0.01, "{last}");
    assert_eq!(events(&scenario).last().unwrap(), "Ensured load balancer 11");
}

#[test]
fn a_node_that_is_about_to_go_takes_no_more_traffic() {
    let taint = json!({ "spec": { "taints": [{ "key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule" }] } });
    let mut scenario = Story::default().ensured(1.0).step(5.0, "patch Node n1", taint).end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(calls(&scenario)[1].1, "UpdateLoadBalancer");
    let update = scenario.observed.cloud_calls.iter().find(|it| it.function == "UpdateLoadBalancer").unwrap();
    assert_eq!(update.hosts(), Vec::<String>::new());
    assert_eq!(events(&scenario)[2], "UnAvailableLoadBalancer");
}

#[test]
fn a_node_takes_traffic_once_it_is_initialised() {
    let mut waiting = node("n2", json!({}));
    waiting["spec"] = json!({ "taints": [{ "key": ::tests::kubelet::UNINITIALIZED, "effect": "NoSchedule" }] });
    let story = Story::default().ensured(1.0).given(5.0, waiting).call(5.0, "UpdateLoadBalancer", &["n1", "n2"], "ok");
    let mut scenario = story.event(5.0, "UpdatedLoadBalancer", "Updated load balancer with new hosts").end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(calls(&scenario), [(1.0, "EnsureLoadBalancer")]);
    assert_eq!(events(&scenario).len(), 2);
}

#[test]
fn a_failed_update_is_an_event_and_is_tried_again() {
    let story = Story::default().ensured(1.0).given(5.0, node("n2", json!({})));
    let story = story.call(5.0, "UpdateLoadBalancer", &["n2", "n1"], "error: no").call(
        5.0,
        "GetLoadBalancer",
        &[],
        "exists=false",
    );
    let mut scenario = story.end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    let failed = &scenario.observed.events[2];
    assert_eq!((failed.kind.as_str(), failed.reason.as_str()), ("Warning", "UpdateLoadBalancerFailed"));
    let message =
        "Error updating load balancer with new hosts [n1 n2] [node names limited, total number of nodes: 2], error: no";
    assert_eq!(failed.message, message);
    assert_eq!(events(&scenario)[3], "Ensured load balancer 2");
}

#[test]
fn a_new_service_gets_no_status_of_its_namesake() {
    let mut story = Story::default().ensured(1.0).step(2.0, "delete Service s1", Value::Null).given(2.1, service());
    story.calls[0]["took"] = json!(3.0);
    story.events[1].0 = 4.0;
    let status = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } } });
    let story = story.request(4.0, 200, status).call(4.2, "EnsureLoadBalancerDeleted", &[], "ok");
    let mut scenario = story.end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(events(&scenario), ["EnsuringLoadBalancer"]);
    assert_eq!(state::recorded(&scenario)["Service s1"].len(), 1);
}

#[test]
fn a_service_that_vanished_without_finalizer_is_deleted() {
    let story = || Story::default().ensured(1.0).step(5.0, "delete Service s1", Value::Null);
    let mut scenario = story().end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(calls(&scenario)[1].1, "EnsureLoadBalancerDeleted");
    assert_eq!(events(&scenario)[2..], ["DeletingLoadBalancer", "DeletedLoadBalancer"]);
    let mut scenario = story().call(5.1, "EnsureLoadBalancerDeleted", &[], "ok").end();
    assert_eq!(adjust(&mut scenario), Vec::<String>::new(), "upstream noticed it too");
}

#[test]
fn changes_of_nodes_that_come_together_are_followed_together() {
    let story = Story::default().ensured(1.0).given(5.0, node("n2", json!({}))).call(
        5.0,
        "UpdateLoadBalancer",
        &["n1", "n2"],
        "ok",
    );
    let story = story.event(5.0, "UpdatedLoadBalancer", "Updated load balancer with new hosts");
    let address = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.2" }] } });
    let mut scenario = story.step(5.05, "patch Node n2 status", address.clone()).end();
    assert_eq!(adjust(&mut scenario), Vec::<String>::new());
    assert_eq!(events(&scenario).len(), 3);

    let mut scenario = Story::default().ensured(1.0).step(5.0, "patch Node n1 status", address).end();
    assert_eq!(adjust(&mut scenario).len(), 1, "another address, and nothing else");
    assert_eq!(events(&scenario)[2], "UpdatedLoadBalancer");
}

fn finalized() -> Story {
    Story::default().ensured(1.0).request(1.0, 200, json!({ "metadata": { "finalizers": [FINALIZER] } }))
}

#[test]
fn a_deletion_is_asked_for_in_any_case() {
    let story = finalized().step(5.0, "delete Service s1", Value::Null);
    let story = story.call(5.0, "GetLoadBalancer", &[], "exists=false");
    let mut scenario = story.event(5.1, "DeletedLoadBalancer", "Deleted load balancer").end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(events(&scenario)[2..], ["DeletingLoadBalancer", "DeletedLoadBalancer"]);

    let asked = "Error syncing load balancer: failed to check if load balancer exists before cleanup: no";
    let story = finalized().step(5.0, "delete Service s1", Value::Null);
    let story = story.call(5.0, "GetLoadBalancer", &[], "error: no").event(5.1, "SyncLoadBalancerFailed", asked);
    let mut scenario = story.end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    assert_eq!(scenario.observed.events[3].message, "Error syncing load balancer: failed to delete load balancer: no");
}

#[test]
fn the_ensured_event_comes_after_the_status() {
    let status = || json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } } });
    let failed = "Error syncing load balancer: failed to update load balancer status: no";
    for (code, expected) in [(404, 1), (409, 1), (500, 2)] {
        let story = Story::default().ensured(1.0).request(1.02, code, status());
        let mut scenario = story.event(1.2, "SyncLoadBalancerFailed", failed).end();
        if code == 404 {
            scenario.observed.events.pop();
        }
        assert_eq!(adjust(&mut scenario).len(), 1, "{code}");
        assert_eq!(events(&scenario).len(), expected, "{code}");
    }
}

#[test]
fn the_start_of_work_is_one_event() {
    let failed = "Error syncing load balancer: failed to ensure load balancer: no";
    let attempt = |story: Story, t: f64| {
        let story = story.event(t, "EnsuringLoadBalancer", "Ensuring load balancer");
        story.call(t, "EnsureLoadBalancer", &["n1"], "error: no").event(t, "SyncLoadBalancerFailed", failed)
    };
    let story = attempt(attempt(Story::default(), 1.0), 6.0);
    let story = story.step(10.0, "patch Service s1", json!({ "metadata": { "annotations": { "a": "1" } } }));
    let mut scenario = attempt(story, 10.0).end();
    assert_eq!(adjust(&mut scenario).len(), 1);
    let expected = [
        "EnsuringLoadBalancer".to_owned(),
        "SyncLoadBalancerFailed".to_owned(),
        format!("{failed} 2"),
        "Ensuring load balancer 2".to_owned(),
        format!("{failed} 3"),
    ];
    assert_eq!(events(&scenario), expected);
}

#[test]
fn finalizer_and_addresses_go_together() {
    let ports = json!([{ "port": 80, "protocol": "TCP" }]);
    let status = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1", "ports": ports }] } });
    let story =
        Story::default().ensured(1.0).request(1.0, 200, json!({ "metadata": { "finalizers": [FINALIZER, "foo"] } }));
    let story = story.request(1.1, 200, json!({ "status": status })).step(5.0, "delete Service s1", Value::Null);
    let story = story.request(5.0, 200, json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } }));
    let mut scenario = story.request(5.1, 200, json!({ "status": { "loadBalancer": { "ingress": null } } })).end();
    assert_eq!(adjust(&mut scenario).len(), 2);
    let states = &state::recorded(&scenario)["Service s1"];
    assert_eq!(states.len(), 4, "{states:#?}");
    assert_eq!(states[2].ingress, [json!({ "ip": "192.0.2.1", "ipMode": "VIP" })], "without ports");
    assert_eq!((&states[3].finalizers, &states[3].ingress), (&vec![json!("foo")], &Vec::new()));
}
