//! Services and nodes for tests, and what they are read with.

use std::sync::Arc;

use crate::node_object::KubeNode;
use cloud_provider::{Annotation, Description};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::service::desired::ServedCluster;

/// An annotation that the provider describes, and writes.
pub(super) const ID: &str = "example.com/id";
/// An annotation that the provider describes.
pub(super) const SIZE: &str = "example.com/size";

/// A cluster in a cloud whose provider describes two annotations.
pub(super) fn cluster() -> ServedCluster {
    let annotation = |key: &str| Annotation {
        key: key.to_owned(),
        values: String::new(),
        default: None,
        doc: String::new(),
        ..Annotation::default()
    };
    let description = Description {
        annotations: vec![annotation(ID), annotation(SIZE)],
        writes_annotations: vec![ID.to_owned()],
        ..Description::default()
    };
    ServedCluster { name: "kubernetes".to_owned(), class: None, description: Arc::new(description).into() }
}

/// Service `default/s1` as the API server shows it, with changes as a merge patch.
pub(super) fn service(change: Value) -> Service {
    let mut service = json!({
        "metadata": {
            "namespace": "default",
            "name": "s1",
            "uid": "0f0e0d0c-1111-2222-3333-444455556666",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "type": "LoadBalancer",
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30080 }],
            "selector": { "app": "s1" },
            "clusterIP": "10.96.0.7",
            "ipFamilies": ["IPv4"],
            "sessionAffinity": "None",
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "allocateLoadBalancerNodePorts": true,
        },
        "status": { "loadBalancer": {} },
    });
    merge(&mut service, change);
    serde_json::from_value(service).expect("it is a Service")
}

/// An initialised node, with changes as a merge patch.
pub(super) fn node(name: &str, change: Value) -> KubeNode {
    let mut node = json!({
        "metadata": { "name": name, "labels": {} },
        "spec": { "providerID": format!("fake://{name}") },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": "10.1.0.1" }],
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    });
    merge(&mut node, change);
    serde_json::from_value(node).expect("it is a node")
}

/// A finalizer, a memo and an address, as a merge patch.
pub(super) fn with_load_balancer() -> Value {
    json!({
        "metadata": { "finalizers": ["service.kubernetes.io/load-balancer-cleanup"] },
        "status": {
            "loadBalancer": { "ingress": [{ "ip": "192.0.2.1", "ipMode": "VIP" }] },
            "conditions": [{
                "type": "aerostat.dev/memo",
                "status": "True",
                "reason": "Kept",
                "message": "lb-1",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    })
}

/// What the API server does with a merge patch.
pub(super) fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                match value {
                    Value::Null => drop(target.remove(&key)),
                    value => merge(target.entry(key).or_insert(Value::Null), value),
                }
            }
        }
        (target, patch) => *target = patch,
    }
}
