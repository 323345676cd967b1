//! The desired load balancer of a Service, and the nodes that take its traffic: what a call to the cloud depends on.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::state::list;

const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// The desired load balancer of a Service; null if it needs none. The provider of the tests reads every annotation.
///
/// The pods' own port, the order of ports and external addresses are no concern of the load balancer.
pub(crate) fn desired(service: &Value) -> Value {
    let (metadata, spec) = (&service["metadata"], &service["spec"]);
    if spec["type"] != "LoadBalancer"
        || spec["loadBalancerClass"].is_string()
        || metadata["deletionTimestamp"].is_string()
    {
        return Value::Null;
    }
    let mut ports: Vec<Value> = list(&spec["ports"]).iter().map(port).collect();
    ports.sort_by_key(Value::to_string);
    let or = |value: &Value, default: &str| value.as_str().unwrap_or(default).to_owned();
    json!({
        "ports": ports,
        "annotations": metadata["annotations"].as_object().filter(|it| !it.is_empty()),
        "ranges": list(&spec["loadBalancerSourceRanges"]),
        "families": list(&spec["ipFamilies"]),
        "address": spec["loadBalancerIP"],
        "traffic": or(&spec["externalTrafficPolicy"], "Cluster"),
        "healthCheck": spec["healthCheckNodePort"],
        "affinity": or(&spec["sessionAffinity"], "None"),
        "affinityConfig": spec["sessionAffinityConfig"],
    })
}

fn port(port: &Value) -> Value {
    json!({
        "name": port["name"],
        "protocol": port["protocol"].as_str().unwrap_or("TCP"),
        "port": port["port"],
        "nodePort": port["nodePort"],
        "appProtocol": port["appProtocol"],
    })
}

/// The nodes that take traffic, by name, each as a call to the cloud shows it.
pub(crate) fn hosts<'a>(nodes: impl Iterator<Item = &'a Value>) -> BTreeMap<String, Value> {
    let name = |node: &Value| node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let shown =
        |node: &Value| json!({ "id": node["spec"]["providerID"], "addresses": list(&node["status"]["addresses"]) });
    nodes.filter(|node| takes_traffic(node)).map(|node| (name(node), shown(node))).collect()
}

/// A node that leaves takes none, and neither does one that was not initialised.
fn takes_traffic(node: &Value) -> bool {
    let tainted = |key: &str| list(&node["spec"]["taints"]).iter().any(|taint| taint["key"] == key);
    // As Go reads a bool; what it cannot read excludes.
    let excluded = node["metadata"]["labels"][EXCLUDED]
        .as_str()
        .is_some_and(|it| !["0", "f", "F", "false", "FALSE", "False"].contains(&it));
    let known = node["spec"]["providerID"].as_str().is_some_and(|it| !it.is_empty());
    known
        && !excluded
        && !tainted(TO_BE_DELETED)
        && !tainted(::tests::kubelet::UNINITIALIZED)
        && !node["metadata"]["deletionTimestamp"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_load_balancer_depends_on_is_desired() {
        let service = |change: Value| {
            let mut service = json!({ "metadata": {}, "spec": { "type": "LoadBalancer",
                "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }] } });
            crate::state::merge(&mut service, &change);
            desired(&service)
        };
        let bare = service(json!({}));
        let ports =
            json!([{ "name": "b", "port": 81, "targetPort": 8080 }, { "name": "a", "port": 80, "protocol": "TCP" }]);
        for same in [
            json!({ "spec": { "ports": ports, "externalIPs": ["198.51.100.1"], "selector": { "a": "b" } } }),
            json!({ "metadata": { "labels": { "a": "b" }, "annotations": {} }, "status": { "loadBalancer": {} } }),
        ] {
            assert_eq!(service(same.clone()), bare, "{same}");
        }
        for other in [
            json!({ "metadata": { "annotations": { "a": "b" } } }),
            json!({ "spec": { "ports": [{ "name": "a", "port": 80 }] } }),
            json!({ "spec": { "sessionAffinity": "ClientIP" } }),
        ] {
            assert_ne!(service(other.clone()), bare, "{other}");
        }
        assert_eq!(service(json!({ "spec": { "type": "ClusterIP" } })), Value::Null);
        assert_eq!(service(json!({ "metadata": { "deletionTimestamp": "<time>" } })), Value::Null);
    }

    #[test]
    fn a_node_takes_traffic_unless_it_leaves_or_was_not_initialised() {
        let takes = |change: Value| {
            let mut node = json!({ "metadata": { "name": "n1" }, "spec": { "providerID": "fakecloud://1" } });
            crate::state::merge(&mut node, &change);
            !hosts([&node].into_iter()).is_empty()
        };
        assert!(takes(json!({})));
        assert!(takes(json!({ "spec": { "unschedulable": true, "taints": [{ "key": "foo" }] } })));
        assert!(takes(json!({ "metadata": { "labels": { EXCLUDED: "false" } } })));
        for change in [
            json!({ "metadata": { "labels": { EXCLUDED: "" } } }),
            json!({ "metadata": { "deletionTimestamp": "<time>" } }),
            json!({ "spec": { "providerID": null } }),
            json!({ "spec": { "taints": [{ "key": TO_BE_DELETED }] } }),
            json!({ "spec": { "taints": [{ "key": ::tests::kubelet::UNINITIALIZED }] } }),
        ] {
            assert!(!takes(change.clone()), "{change}");
        }
    }
}
