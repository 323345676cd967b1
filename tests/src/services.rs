//! Services of a cluster, as their authors make and see them.
//!
//! A failure here fails the test that asked for it: everything panics, with what was seen.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::control_plane::Cluster;
use crate::wait;

/// Those of namespace `default`.
pub fn services(cluster: &Cluster) -> Api<Service> {
    Api::default_namespaced(cluster.admin.clone())
}

/// Makes a Service of TCP port 80 with these annotations, and these fields of `spec` beside.
pub async fn create(cluster: &Cluster, name: &str, annotations: &Value, spec: &Value) -> Service {
    create_in(&services(cluster), name, annotations, spec).await
}

/// As [`create`], in the namespace of these.
pub async fn create_in(services: &Api<Service>, name: &str, annotations: &Value, spec: &Value) -> Service {
    let mut service = json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": { "type": "LoadBalancer", "ports": [{ "name": "http", "port": 80 }] },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        service["spec"][field] = value.clone();
    }
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap()
}

/// Changes a Service by a merge patch.
pub async fn patch(cluster: &Cluster, name: &str, patch: &Value) {
    services(cluster).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// The address that a Service gets.
pub async fn address(cluster: &Cluster, name: &str) -> String {
    address_after(Duration::ZERO, cluster, name).await
}

/// As [`address`], where the product tries again only after this pause.
pub async fn address_after(pause: Duration, cluster: &Cluster, name: &str) -> String {
    let services = services(cluster);
    let what = format!("Service {name} has its address");
    wait::until_after(pause, &what, async || shown_addresses(&services.get(name).await.unwrap()).into_iter().next())
        .await
}

/// The addresses that a Service shows.
#[must_use]
pub fn shown_addresses(service: &Service) -> Vec<String> {
    let status = service.status.as_ref().and_then(|it| it.load_balancer.as_ref());
    let ingress = status.and_then(|it| it.ingress.as_ref()).into_iter().flatten();
    ingress.filter_map(|it| it.ip.clone()).collect()
}

/// Waits until the status of a Service says which load balancer is its own.
pub async fn remembered(cluster: &Cluster, name: &str) {
    let services = services(cluster);
    let has_memo = async || {
        let conditions = services.get(name).await.unwrap().status?.conditions?;
        conditions.iter().any(|it| it.type_ == "aerostat.dev/memo").then_some(())
    };
    wait::until(&format!("the load balancer of Service {name} is known"), has_memo).await;
}

/// Deletes a Service, and waits until it is gone.
pub async fn delete(cluster: &Cluster, name: &str) {
    services(cluster).delete(name, &DeleteParams::default()).await.unwrap();
    gone(cluster, name).await;
}

/// Waits until a Service is gone.
pub async fn gone(cluster: &Cluster, name: &str) {
    let services = services(cluster);
    let gone = async || services.get_opt(name).await.unwrap().is_none().then_some(());
    wait::until(&format!("Service {name} is gone"), gone).await;
}
