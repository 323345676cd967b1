//! Which nodes take traffic from load balancers. No client, no clock, no log.

use std::sync::Arc;

use cloud_provider::{Address, Machine};
use k8s_openapi::api::core::v1::Node;

use crate::inventory::machine;
use crate::node::plan::is_waiting;
use crate::nodes::provider_id;

/// With a true value, a node takes no traffic from load balancers.
const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// The key of the taint of a node that the cluster autoscaler is about to delete, with any value and any effect.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";
/// The most hosts that a message names.
const NAMED: usize = 20;

/// The nodes that take traffic, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    pub(super) machines: Vec<Machine>,
    /// Shared with every load balancer that was built for them.
    pub(super) essence: Arc<[Host]>,
}

/// What makes a node another host: its labels and its place do not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Host {
    name: String,
    provider_id: Option<String>,
    addresses: Vec<Address>,
}

impl Hosts {
    /// Those of `nodes` that take traffic. `before` are those of the last time: what is equal is shared with them.
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>, before: Option<&Hosts>) -> Self {
        let mut machines: Vec<_> = nodes.into_iter().filter_map(host).collect();
        machines.sort_by(|a, b| a.name.cmp(&b.name));
        let essence: Vec<_> = machines.iter().map(Host::of).collect();
        let essence = match before {
            Some(before) if *before.essence == *essence => before.essence.clone(),
            _ => essence.into(),
        };
        Self { machines, essence }
    }

    /// Whether a change of a node concerns what is said of it here, and whether it concerns load balancers.
    pub(super) fn change(before: Option<&Node>, node: Option<&Node>) -> Change {
        let (before, after) = (before.and_then(host), node.and_then(host));
        if before == after {
            Change::Nothing
        } else if before.as_ref().map(Host::of) == after.as_ref().map(Host::of) {
            Change::Detail
        } else {
            Change::Host
        }
    }
}

/// What a change of a node means to load balancers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// Nothing at all.
    Nothing,
    /// The next call about a load balancer says it, and none is made for it.
    Detail,
    /// Other nodes take traffic, or take it elsewhere.
    Host,
}

impl Host {
    fn of(machine: &Machine) -> Self {
        Self {
            name: machine.name.clone(),
            provider_id: machine.provider_id.clone(),
            addresses: machine.addresses.clone(),
        }
    }
}

/// Whether these are the same nodes, wherever they are reached. Both are sorted by name.
pub(super) fn have_same_names(one: &[Host], other: &[Host]) -> bool {
    one.iter().map(|it| &it.name).eq(other.iter().map(|it| &it.name))
}

/// The first names of hosts, as upstream's messages list them: `[n1 n2 <3 more>]`.
pub(super) fn names(hosts: &[Host]) -> String {
    let mut names: Vec<_> = hosts.iter().take(NAMED).map(|it| it.name.clone()).collect();
    if hosts.len() > NAMED {
        names.push(format!("<{} more>", hosts.len() - NAMED));
    }
    format!("[{}]", names.join(" "))
}

/// What a provider may know of a node that takes traffic; `None` if it does not.
fn host(node: &Node) -> Option<Machine> {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default();
    let takes_traffic = node.metadata.deletion_timestamp.is_none()
        && !is_excluded(node)
        && !taints.iter().any(|it| it.key == TO_BE_DELETED)
        && !is_waiting(node)
        && provider_id(node).is_some();
    takes_traffic.then(|| machine(node))
}

/// Whether the exclusion label is there and does not say false, in one of the spellings that Go knows.
fn is_excluded(node: &Node) -> bool {
    let label = node.metadata.labels.as_ref().and_then(|it| it.get(EXCLUDED));
    label.is_some_and(|it| !matches!(it.as_str(), "0" | "f" | "F" | "FALSE" | "false" | "False"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::service::testing::node;

    fn is_host(change: Value) -> bool {
        host(&node("n1", change)).is_some()
    }

    fn labelled(value: &str) -> Value {
        json!({ "metadata": { "labels": { EXCLUDED: value } } })
    }

    fn tainted(key: &str, effect: &str) -> Value {
        json!({ "spec": { "taints": [{ "key": key, "effect": effect }] } })
    }

    /// What it means that a node that was like this is like that.
    fn change(before: Value, after: Value) -> Change {
        Hosts::change(Some(&node("n1", before)), Some(&node("n1", after)))
    }

    fn triggers(before: Value, after: Value) -> bool {
        change(before, after) == Change::Host
    }

    #[test]
    fn case_152_which_nodes_take_traffic() {
        assert!(is_host(json!({})));
        for effect in ["NoSchedule", "NoExecute", "PreferNoSchedule"] {
            assert!(!is_host(tainted(TO_BE_DELETED, effect)), "{effect}");
        }
        assert!(!is_host(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })));
        assert!(is_host(json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } })), "NotReady");
        assert!(is_host(json!({ "spec": { "unschedulable": true } })), "cordoned");
        assert!(is_host(tainted("example.com/other", "NoExecute")));
        assert!(is_host(json!({ "metadata": { "labels": { "node-role.kubernetes.io/control-plane": "" } } })));
    }

    #[test]
    fn case_173_a_node_takes_traffic_once_it_is_initialised() {
        assert!(!is_host(tainted("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")));
        assert!(!is_host(json!({ "spec": { "providerID": null } })));
        assert!(!is_host(json!({ "spec": { "providerID": "" } })));
    }

    #[test]
    fn the_exclusion_label_is_read_as_go_reads_it() {
        for value in ["1", "t", "T", "TRUE", "true", "True", "", "yes", "fALSE"] {
            assert!(!is_host(labelled(value)), "{value:?}");
        }
        for value in ["0", "f", "F", "FALSE", "false", "False"] {
            assert!(is_host(labelled(value)), "{value:?}");
        }
    }

    #[test]
    fn case_153_which_changes_of_a_node_concern_load_balancers() {
        let ready = |status: &str| json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
        let conditions = |kind: &str| json!({ "status": { "conditions": [{ "type": kind, "status": "True" }] } });
        let id = |id: Option<&str>| json!({ "spec": { "providerID": id } });
        assert!(!triggers(json!({}), json!({})));
        assert!(triggers(json!({}), labelled("true")));
        assert!(triggers(labelled("true"), json!({})));
        assert!(!triggers(labelled("true"), labelled("1")));
        assert!(!triggers(json!({}), labelled("false")));
        assert!(!triggers(json!({}), json!({ "metadata": { "labels": { "example.com/a": "b" } } })));
        assert!(!triggers(json!({}), tainted("example.com/other", "NoSchedule")));
        for (before, after) in [("True", "False"), ("False", "True"), ("True", "Unknown"), ("Unknown", "False")] {
            assert!(!triggers(ready(before), ready(after)), "{before} {after}");
        }
        assert!(!triggers(ready("True"), json!({ "status": { "conditions": null } })));
        assert!(!triggers(json!({}), conditions("DiskPressure")));
        // 174 is always on.
        assert!(triggers(json!({}), tainted(TO_BE_DELETED, "NoSchedule")));
        assert!(triggers(tainted(TO_BE_DELETED, "NoSchedule"), json!({})));
        assert!(triggers(json!({}), json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })));
        assert!(triggers(id(None), id(Some("fake://1"))));
        assert!(triggers(id(Some("fake://1")), id(None)));
        assert!(triggers(id(Some("fake://1")), id(Some("fake://2"))));
        let address = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.1.0.2" }] } });
        assert!(triggers(json!({}), address), "our providers may send traffic to addresses");
    }

    #[test]
    fn case_154_several_changes_at_once() {
        let both = |mut one: Value, other: Value| {
            for (key, value) in other.as_object().unwrap() {
                for (inner, value) in value.as_object().unwrap() {
                    one[key][inner] = value.clone();
                }
            }
            one
        };
        let deleted = || tainted(TO_BE_DELETED, "NoSchedule");
        let not_ready = || json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
        let without_id = || json!({ "spec": { "providerID": null } });
        assert!(!triggers(deleted(), both(deleted(), labelled("true"))), "it took no traffic before, and takes none");
        assert!(!triggers(labelled("true"), both(labelled("true"), json!({ "spec": { "providerID": "fake://2" } }))));
        assert!(!triggers(labelled("true"), both(labelled("true"), deleted())));
        assert!(!triggers(labelled("true"), both(labelled("true"), not_ready())));
        assert!(triggers(not_ready(), both(not_ready(), labelled("true"))));
        assert!(!triggers(without_id(), both(without_id(), not_ready())));
        assert!(!triggers(without_id(), both(without_id(), tainted("example.com/other", "NoSchedule"))));
    }

    #[test]
    fn what_a_node_says_besides_is_told_with_the_next_call() {
        assert_eq!(change(json!({}), json!({ "metadata": { "labels": { "a": "b" } } })), Change::Detail);
        assert_eq!(change(json!({}), json!({ "spec": { "unschedulable": true } })), Change::Nothing);
        assert_eq!(Hosts::change(None, Some(&node("n1", json!({})))), Change::Host);
        assert_eq!(Hosts::change(Some(&node("n1", json!({}))), None), Change::Host);
        assert_eq!(Hosts::change(None, Some(&node("n1", labelled("true")))), Change::Nothing);
    }

    #[test]
    fn case_160_the_order_of_nodes_is_no_change() {
        let (n1, n2, n3) = (node("n1", json!({})), node("n2", json!({})), node("n3", labelled("true")));
        let before = Hosts::of([&n1, &n2, &n3], None);
        let after = Hosts::of([&n2, &n3, &n1], Some(&before));
        assert!(Arc::ptr_eq(&before.essence, &after.essence), "what is equal is kept once");
        assert_eq!(after.machines.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
        let renamed = node("n1", json!({ "spec": { "providerID": "fake://other" } }));
        assert_ne!(Hosts::of([&renamed, &n2], Some(&before)).essence, before.essence);
    }

    #[test]
    fn the_first_twenty_names_are_listed() {
        let host = |nth: usize| Host { name: format!("n{nth}"), provider_id: None, addresses: Vec::new() };
        let hosts: Vec<_> = (1..=23).map(host).collect();
        assert_eq!(names(&hosts[..3]), "[n1 n2 n3]");
        assert_eq!(names(&[]), "[]");
        let first: Vec<_> = (1..=20).map(|it| format!("n{it}")).collect();
        assert_eq!(names(&hosts), format!("[{} <3 more>]", first.join(" ")));
    }
}
