//! A running controller, Services and nodes for it, and what becomes of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use controllers::service::{InventoryOptions, Options};
use k8s_openapi::api::core::v1::{Node, NodeAddress, Service, ServicePort, ServiceSpec};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::audit_log::Request;
use tests::control_plane::Cluster;
use tests::{kubelet, wait};

pub(crate) use tests::rig::nodes::{create as join, nodes, patch as patch_node};
pub(crate) use tests::rig::{Rig as Controller, writes, written};

use crate::cloud::{Cloud, ready};

/// The finalizer that holds a Service until its load balancer is gone.
pub(crate) const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The condition that keeps the memo.
pub(crate) const MEMO: &str = "aerostat.dev/memo";
/// The first pause of the back-off in these tests.
pub(crate) const RETRY: Duration = Duration::from_millis(100);

/// One worker.
pub(crate) fn one() -> Options {
    workers(1)
}

/// So many workers.
pub(crate) fn workers(syncs: usize) -> Options {
    Options {
        syncs,
        cluster_name: "kubernetes".to_owned(),
        class: None,
        retry_base: RETRY,
        inventory: InventoryOptions::default(),
    }
}

/// A Service of type LoadBalancer with one port.
pub(crate) fn service(name: &str) -> Service {
    let port = ServicePort { name: Some("http".to_owned()), port: 80, ..ServicePort::default() };
    let mut service = Service::default();
    service.metadata.name = Some(name.to_owned());
    service.spec =
        Some(ServiceSpec { type_: Some("LoadBalancer".to_owned()), ports: Some(vec![port]), ..ServiceSpec::default() });
    service
}

/// The Services of the tests, with every right.
pub(crate) fn services(cluster: &Cluster) -> Api<Service> {
    Api::namespaced(cluster.admin.clone(), "default")
}

/// Creates a Service.
pub(crate) async fn create(cluster: &Cluster, service: &Service) -> Service {
    services(cluster).create(&PostParams::default(), service).await.expect("the Service is created")
}

/// Starts a controller with one worker, and waits until it serves the Service `s1` at 192.0.2.1 with the load balancer `lb-1`.
pub(crate) async fn serve_s1(cluster: &Cluster, cloud: &Arc<Cloud>) -> Controller {
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let controller = Controller::start(cluster, cloud, one());
    create(cluster, &service("s1")).await;
    addressed(cluster, "s1", "192.0.2.1").await;
    controller
}

/// Changes a Service as its author would.
pub(crate) async fn patch(cluster: &Cluster, name: &str, patch: Value) -> Service {
    let params = PatchParams::default();
    services(cluster).patch(name, &params, &Patch::Merge(patch)).await.expect("the Service is patched")
}

/// Gives a Service the only annotation that the provider reads: its desired value changes.
pub(crate) async fn resize(cluster: &Cluster, name: &str, size: &str) {
    patch(cluster, name, json!({ "metadata": { "annotations": { crate::cloud::SIZE: size } } })).await;
}

/// Asks for a Service's deletion.
pub(crate) async fn delete(cluster: &Cluster, name: &str) {
    services(cluster).delete(name, &DeleteParams::default()).await.expect("the Service is deleted");
}

/// The Service, as soon as it fulfils a condition.
pub(crate) async fn service_when(cluster: &Cluster, name: &str, condition: impl Fn(&Service) -> bool) -> Service {
    let (services, condition) = (services(cluster), &condition);
    let what = format!("Service {name} as expected");
    wait::until(&what, async || services.get_opt(name).await.ok().flatten().filter(|it| condition(it))).await
}

/// The Service, as soon as its status shows this address and no other.
pub(crate) async fn addressed(cluster: &Cluster, name: &str, ip: &str) -> Service {
    service_when(cluster, name, |it| addresses(it) == [ip]).await
}

/// Waits until there is no such Service.
pub(crate) async fn gone(cluster: &Cluster, name: &str) {
    let services = services(cluster);
    wait::until("the Service is gone", async || services.get_opt(name).await.ok()?.is_none().then_some(())).await;
}

/// The addresses in a Service's status.
pub(crate) fn addresses(service: &Service) -> Vec<&str> {
    let balancer = service.status.as_ref().and_then(|it| it.load_balancer.as_ref());
    let ingress = balancer.and_then(|it| it.ingress.as_deref()).unwrap_or_default();
    ingress.iter().filter_map(|it| it.ip.as_deref()).collect()
}

/// The memo that a Service's status keeps.
pub(crate) fn memo(service: &Service) -> Option<&str> {
    let conditions = service.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|it| it.type_ == MEMO).map(|it| it.message.as_str())
}

/// A Service's finalizers.
pub(crate) fn finalizers(service: &Service) -> &[String] {
    service.metadata.finalizers.as_deref().unwrap_or_default()
}

/// Waits until a single worker has dealt with everything that happened to Services before, and its events are sent: one
/// more Service gets its load balancer.
pub(crate) async fn settled(cluster: &Cluster) {
    let marker = format!("marker-{}", uuid::Uuid::new_v4());
    create(cluster, &service(&marker)).await;
    told(cluster, &marker, "EnsuredLoadBalancer", 1).await;
}

/// A node that is ready and initialised: `n<nth>`, with a provider id and an address.
pub(crate) fn node(nth: usize) -> Node {
    let mut node = kubelet::node(&format!("n{nth}"));
    let spec = node.spec.get_or_insert_default();
    spec.taints = None;
    spec.provider_id = Some(format!("fake://{nth}"));
    let status = node.status.get_or_insert_default();
    status.conditions.iter_mut().flatten().for_each(|it| it.status = "True".to_owned());
    status.addresses = Some(vec![NodeAddress {
        type_: "InternalIP".to_owned(),
        address: format!("10.1.{}.{}", nth / 256, nth % 256),
    }]);
    node
}

/// Creates the nodes `n1` to `n<last>`.
pub(crate) async fn join_all(cluster: &Cluster, last: usize) {
    for nth in 1..=last {
        join(cluster, &node(nth)).await;
    }
}

/// Waits until the cloud was asked so often about a Service.
pub(crate) async fn called(cloud: &Cloud, service: &str, times: usize) {
    let what = format!("{times} calls about {service}");
    wait::until(&what, async || (cloud.about(service).len() >= times).then_some(())).await;
}

/// The events about a Service in the order in which they were sent, repeated ones included, as
/// `Normal EnsuredLoadBalancer: Ensured load balancer`.
pub(crate) fn events(cluster: &Cluster, service: &str) -> Vec<String> {
    let requests = cluster.audit().events().expect("the audit log can be read");
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut events = Vec::new();
    for Request { body, object, verb, .. } in requests {
        let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        if verb == "create" && body["involvedObject"]["name"] == service {
            let event = format!("{} {}: {}", text("type"), text("reason"), text("message"));
            texts.insert(body["metadata"]["name"].as_str().unwrap_or_default().to_owned(), event.clone());
            events.push(event);
        } else if let Some(event) = texts.get(&object.name) {
            events.push(event.clone());
        }
    }
    events
}

/// All events about a Service, as soon as so many of them have this reason.
pub(crate) async fn told(cluster: &Cluster, service: &str, reason: &str, times: usize) -> Vec<String> {
    let with_reason = format!(" {reason}: ");
    let what = format!("{times} events {reason} about {service}");
    wait::until(&what, async || {
        let events = events(cluster, service);
        (events.iter().filter(|it| it.contains(&with_reason)).count() >= times).then_some(events)
    })
    .await
}
