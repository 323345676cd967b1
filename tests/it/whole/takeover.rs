//! A cluster that ran the vendor's controller manager, and one that goes back to it.
//!
//! Cases: takeover

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, Left, Vendor};

use crate::setup::{CloudRig, FINALIZER, addresses, default_name, memo, service};

/// A name, and a host, that a Service's author chose.
const CHOSEN: Left<'_> = Left::Hosted("lb.example.com", "web.example.com");

/// Creates a Service, and lets it be as the vendor's controller leaves it: annotations, finalizer, status. Returns the load balancer's id.
async fn left_behind<V: Vendor>(rig: &CloudRig<V>, name: &str, left: Left<'_>) -> String {
    left_behind_with(rig, name, left, &[]).await
}

/// The same for a Service with more annotations.
async fn left_behind_with<V: Vendor>(
    rig: &CloudRig<V>,
    name: &str,
    left: Left<'_>,
    annotations: &[(&str, &str)],
) -> String {
    let chosen = match left {
        Left::Plain => vec![],
        Left::Named(name) => vec![(V::NAME, name)],
        Left::Hosted(name, host) => vec![(V::NAME, name), (V::HOSTNAME, host)],
    };
    let annotations = [annotations, &chosen].concat();
    let service = rig.create(&service(name, &[80], &annotations)).await;
    let behind = V::leave_behind(rig.cloud.account(), &service, left);
    let metadata = json!({ "annotations": behind.annotations, "finalizers": [FINALIZER] });
    rig.patch(name, &json!({ "metadata": metadata })).await;
    let status = json!({ "status": { "loadBalancer": { "ingress": behind.ingress } } });
    rig.services().patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    behind.id
}

/// A Service as a controller sees it that knows nothing of ours: without our memo, and without the fields that every
/// write changes.
async fn seen<V: Vendor>(rig: &CloudRig<V>, name: &str) -> Value {
    let mut service = rig.services().get(name).await.unwrap();
    service.metadata.managed_fields = None;
    service.metadata.resource_version = None;
    service.status.as_mut().unwrap().conditions = None;
    serde_json::to_value(service).unwrap()
}

#[tokio::test]
async fn a_cluster_is_taken_over_without_writes_and_can_go_back() {
    taken_over_without_writes_and_back::<DigitalOcean>(&[], &[]).await;
}

#[tokio::test]
async fn a_cluster_at_hetzner_is_taken_over_and_can_go_back() {
    // The vendor's setting makes health checks speak what the port does, whatever the port speaks.
    let settings = [("loadBalancers.healthCheckInterval", "15s")];
    taken_over_without_writes_and_back::<Hetzner>(&settings, &[("load-balancer.hetzner.cloud/protocol", "http")]).await;
}

/// `annotations` are those of one of the Services, beside which the others have none but their names.
async fn taken_over_without_writes_and_back<V: Vendor>(settings: &[(&str, &str)], annotations: &[(&str, &str)]) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.settings(settings);
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    let plain = left_behind(&rig, "plain", Left::Plain).await;
    let named = left_behind(&rig, "named", Left::Named("web.example.com")).await;
    let hosted = left_behind(&rig, "hosted", CHOSEN).await;
    let annotated = left_behind_with(&rig, "annotated", Left::Plain, annotations).await;
    let all = [("plain", &plain), ("named", &named), ("hosted", &hosted), ("annotated", &annotated)];
    let seen = async || join_all(all.iter().map(|(name, _)| seen(&rig, name))).await;
    let before = seen().await;

    let process = rig.start().await;
    for (name, id) in all {
        tests::wait::until(&format!("{name} is taken over"), async || {
            (memo(&rig.services().get(name).await.unwrap()) == Some(id.as_str())).then_some(())
        })
        .await;
    }
    rig.never(Duration::from_secs(3), async || rig.writes().pop()).await;
    assert_eq!(seen().await, before, "the vendor's finds what it left");

    // It works: a port is added to one, and to no other.
    rig.ports("named", &[80, 81]).await;
    tests::wait::until("the second port", async || {
        rig.built().into_iter().find(|it| it.id == named && it.ports == [80, 81])
    })
    .await;
    assert_eq!(rig.writes(), V::SECOND_PORT.iter().map(|it| it.replace("{id}", &named)).collect::<Vec<_>>());
    process.stop().await;

    // And back: what ours built has everything that the vendor's controller needs.
    let process = rig.start().await;
    rig.create(&service("ours", &[80], &[])).await;
    let ours = rig.served("ours").await;
    process.stop().await;
    let ours = rig.services().get(&ours.name_any()).await.unwrap();
    let id = memo(&ours).unwrap();
    let load_balancer = rig.built().into_iter().find(|it| it.id == id).unwrap();
    assert_eq!(V::is_known_to_the_vendor(&load_balancer, &ours), Ok(()));
    assert_eq!(ours.finalizers(), [FINALIZER]);
    assert_eq!(load_balancer.name, default_name::<V>(&ours));
    assert_eq!(addresses(&ours), load_balancer.addresses);
}

#[tokio::test]
async fn a_leftover_of_the_vendor_is_deleted_with_its_service() {
    deleted_with_its_service::<DigitalOcean>().await;
}

#[tokio::test]
async fn a_leftover_of_hetzners_is_deleted_with_its_service() {
    deleted_with_its_service::<Hetzner>().await;
}

async fn deleted_with_its_service<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    left_behind(&rig, "named", Left::Named("web.example.com")).await;
    rig.delete("named").await;
    let process = rig.start().await;
    rig.gone("named").await;
    assert_eq!(rig.built(), []);
    process.stop().await;
}

#[tokio::test]
async fn an_unproven_one_stays_and_is_not_reported_deleted() {
    // A deletion has no nodes, and without clusterId nothing else says whose droplets they are.
    it_stays_and_is_not_reported_deleted::<DigitalOcean>().await;
}

#[tokio::test]
async fn an_unmarked_one_at_hetzner_is_not_reported_deleted() {
    it_stays_and_is_not_reported_deleted::<Hetzner>().await;
}

async fn it_stays_and_is_not_reported_deleted<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    let hosted = left_behind(&rig, "hosted", CHOSEN).await;
    V::unmark(rig.cloud.account(), &hosted);
    rig.delete("hosted").await;
    let process = rig.start().await;
    rig.warned("hosted", "LoadBalancerNotDeleted", &[&hosted, "delete it in the cloud"]).await;
    rig.gone("hosted").await;
    let deleted = |it: &Event| it.reason.as_deref() == Some("DeletedLoadBalancer");
    rig.never(Duration::from_secs(3), async || rig.events("hosted").await.into_iter().find(deleted)).await;
    assert_eq!(rig.only_built().id, hosted);
    process.stop().await;
}
