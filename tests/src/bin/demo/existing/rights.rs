//! The rights of aerostat in an existing cluster: those of `deploy/rbac.yaml`, kept to the demo's part.

use anyhow::{Context, Result};
use kube::Client;
use serde_json::{Value, json};
use tests::control_plane::apply;

use crate::part::{LABEL, NAMESPACE};

/// The ServiceAccount, in the demo's namespace.
pub(super) const ACCOUNT: &str = "aerostat";

/// Makes the namespace, the ServiceAccount, and its roles. It may write to nodes of these names and read this ConfigMap.
pub(super) async fn grant(admin: &Client, nodes: &[String], config_map: &str) -> Result<()> {
    let manifests = objects(nodes, config_map).iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    apply(admin, &manifests).await.context("cannot make what the demo needs")
}

fn objects(nodes: &[String], config_map: &str) -> Vec<Value> {
    let of_cluster = [
        // The view shows those of the demo alone.
        rule("", "nodes", &["get", "list", "watch"]),
        named(rule("", "nodes", &["patch", "delete"]), nodes),
        named(rule("", "nodes/status", &["patch"]), nodes),
        named(rule("", "namespaces", &["get"]), &["kube-system".to_owned()]),
        rule("networking.k8s.io", "servicecidrs", &["list"]),
    ];
    let of_namespace = [
        rule("", "services", &["get", "list", "watch"]),
        rule("", "services/status", &["patch"]),
        rule("", "events", &["create", "patch"]),
        rule("coordination.k8s.io", "leases", &["create", "get", "update", "patch"]),
        named(rule("", "configmaps", &["get"]), &[config_map.to_owned()]),
    ];
    let kubernetes = ["kubernetes".to_owned()];
    let of_default = [
        named(rule("", "services", &["get"]), &kubernetes),
        named(rule("discovery.k8s.io", "endpointslices", &["get"]), &kubernetes),
        // Events about nodes lie here.
        rule("", "events", &["create", "patch"]),
    ];
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata(None, NAMESPACE) }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(Some(NAMESPACE), ACCOUNT) }),
    ];
    objects.extend(role(None, &of_cluster));
    objects.extend(role(Some(NAMESPACE), &of_namespace));
    objects.extend(role(Some("default"), &of_default));
    objects
}

/// A role and its binding to the ServiceAccount.
fn role(namespace: Option<&str>, rules: &[Value]) -> [Value; 2] {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let group = "rbac.authorization.k8s.io";
    let version = format!("{group}/v1");
    let metadata = metadata(namespace, NAMESPACE);
    [
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": version,
            "kind": format!("{kind}Binding"),
            "metadata": metadata,
            "roleRef": { "apiGroup": group, "kind": kind, "name": NAMESPACE },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
        }),
    ]
}

fn metadata(namespace: Option<&str>, name: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "labels": { LABEL: "" } })
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
}

fn named(mut rule: Value, names: &[String]) -> Value {
    rule["resourceNames"] = json!(names);
    rule
}
