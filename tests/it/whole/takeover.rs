//! A cluster that ran the vendor's controller manager, and one that goes back to it.
//!
//! Cases: takeover

use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Service};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{Attributes, ForwardingRule, HealthCheck, LoadBalancer, Options};

use crate::setup::{FINALIZER, ID, Rig, TYPE, addresses, default_name, key, memo, service};

const PLAIN: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
const NAMED: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";
const HOSTED: &str = "ba9b9c18-6c59-46c2-99df-70da170a42ba";

/// What the vendor's controller builds for a Service of TCP port 80 and two nodes.
fn built(id: &str, name: &str) -> LoadBalancer {
    let attributes = Attributes {
        kind: "REGIONAL_NETWORK".to_owned(),
        health_check: HealthCheck {
            protocol: "http".to_owned(),
            port: 10_256,
            path: "/healthz".to_owned(),
            check_interval_seconds: 3,
            response_timeout_seconds: 5,
            unhealthy_threshold: 3,
            healthy_threshold: 5,
            proxy_protocol: Some(false),
        },
        droplet_ids: vec![1, 2],
        ..Attributes::new(name, "fra1", vec![ForwardingRule::new("tcp", 80, "tcp", 80)])
    };
    LoadBalancer { attributes, ..LoadBalancer::new(id, name) }
}

/// What it builds for a Service of type REGIONAL with a host name and a name of its own.
fn hosted(service: &Service) -> LoadBalancer {
    let node_port = service.spec.as_ref().unwrap().ports.as_ref().unwrap()[0].node_port.unwrap();
    let plain = built(HOSTED, "lb.example.com");
    let attributes = Attributes {
        kind: "REGIONAL".to_owned(),
        forwarding_rules: vec![ForwardingRule::new("tcp", 80, "tcp", node_port.unsigned_abs())],
        ..plain.attributes
    };
    LoadBalancer { attributes, ..plain }
}

/// The annotations of that Service.
fn hosting() -> [(String, &'static str); 2] {
    [(key("name"), "lb.example.com"), (key("hostname"), "web.example.com")]
}

/// Lets a Service be as the vendor's controller leaves it: annotations, finalizer, status.
async fn left_behind(rig: &Rig, name: &str, load_balancer: LoadBalancer) {
    let shown = json!({ "ip": load_balancer.ip.unwrap().to_string() });
    left_behind_at(rig, name, load_balancer, shown).await;
}

/// The same with what stands in the status in the place of an address.
async fn left_behind_at(rig: &Rig, name: &str, load_balancer: LoadBalancer, shown: Value) {
    let metadata = json!({
        "annotations": { ID: load_balancer.id, TYPE: load_balancer.attributes.kind },
        "finalizers": [FINALIZER],
    });
    rig.patch(name, &json!({ "metadata": metadata })).await;
    let status = json!({ "status": { "loadBalancer": { "ingress": [shown] } } });
    rig.services().patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    rig.cloud.load_balancers().insert(load_balancer);
}

/// What a controller that knows nothing of ours reads: everything but our memo, and what every write changes.
async fn seen(rig: &Rig, name: &str) -> Value {
    let mut service = rig.services().get(name).await.unwrap();
    service.metadata.managed_fields = None;
    service.metadata.resource_version = None;
    service.status.as_mut().unwrap().conditions = None;
    serde_json::to_value(service).unwrap()
}

#[tokio::test]
async fn a_cluster_is_taken_over_without_writes_and_can_go_back() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    let plain = rig.create(&service("plain", &[80], &[])).await;
    left_behind(&rig, "plain", built(PLAIN, &default_name(&plain))).await;
    rig.create(&service("named", &[80], &[(&key("name"), "web.example.com")])).await;
    left_behind(&rig, "named", built(NAMED, "web.example.com")).await;
    let [(name, chosen), (hostname, host)] = hosting();
    let service_with_host = rig.create(&service("hosted", &[80], &[(&name, chosen), (&hostname, host)])).await;
    left_behind_at(&rig, "hosted", hosted(&service_with_host), json!({ "hostname": host })).await;
    let before = [seen(&rig, "plain").await, seen(&rig, "named").await, seen(&rig, "hosted").await];

    let process = rig.start().await;
    for (name, id) in [("plain", PLAIN), ("named", NAMED), ("hosted", HOSTED)] {
        tests::wait::until(&format!("{name} is taken over"), async || {
            (memo(&rig.services().get(name).await.unwrap()) == Some(id)).then_some(())
        })
        .await;
    }
    rig.never(Duration::from_secs(3), async || rig.writes().pop()).await;
    let after = [seen(&rig, "plain").await, seen(&rig, "named").await, seen(&rig, "hosted").await];
    assert_eq!(after, before, "the vendor's finds what it left");

    // It works: a port is added to one, and to no other.
    rig.ports("named", &[80, 81]).await;
    rig.cloud
        .wait_for("the change", |requests| requests.iter().any(|it| it.is("PUT", "/**") && it.status.is_some()))
        .await;
    assert_eq!(rig.writes(), [format!("PUT /v2/load_balancers/{NAMED} → 200")]);
    process.stop().await;

    // And back: what ours built has everything that the vendor's controller needs.
    let process = rig.start().await;
    rig.create(&service("ours", &[80], &[])).await;
    let ours = rig.served("ours").await;
    process.stop().await;
    let ours = rig.services().get(&ours.name_any()).await.unwrap();
    let id = ours.annotations().get(ID).unwrap();
    let load_balancer = rig.cloud.load_balancers().get(id).unwrap();
    assert_eq!(ours.annotations().get(TYPE).map(String::as_str), Some("REGIONAL_NETWORK"));
    assert_eq!(ours.finalizers(), [FINALIZER]);
    assert_eq!(load_balancer.name(), default_name(&ours));
    assert_eq!(addresses(&ours), [load_balancer.ip.unwrap().to_string()]);
}

#[tokio::test]
async fn what_the_vendor_left_behind_is_deleted_with_its_service() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    rig.create(&service("named", &[80], &[(&key("name"), "web.example.com")])).await;
    left_behind(&rig, "named", built(NAMED, "web.example.com")).await;
    rig.delete("named").await;
    let process = rig.start().await;
    rig.gone("named").await;
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
    process.stop().await;
}

#[tokio::test]
async fn what_cannot_be_proven_stays_and_is_not_reported_deleted() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    let [(name, chosen), (hostname, host)] = hosting();
    let service = rig.create(&service("hosted", &[80], &[(&name, chosen), (&hostname, host)])).await;
    left_behind_at(&rig, "hosted", hosted(&service), json!({ "hostname": host })).await;
    // A deletion has no nodes, and without clusterId nothing else says whose droplets they are.
    rig.delete("hosted").await;
    let process = rig.start().await;
    rig.warned("hosted", "LoadBalancerNotDeleted", &[HOSTED, "delete it in the cloud"]).await;
    rig.gone("hosted").await;
    let deleted = |it: &Event| it.reason.as_deref() == Some("DeletedLoadBalancer");
    rig.never(Duration::from_secs(3), async || rig.events("hosted").await.into_iter().find(deleted)).await;
    assert_eq!(rig.only().id, HOSTED);
    process.stop().await;
}
