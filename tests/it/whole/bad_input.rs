//! What a Service cannot have: one event on it that says why, and nothing written to the cloud.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use tests::clouds::digitalocean::{Fault, LoadBalancer, Options};
use tests::operator::Process;

use crate::setup::{ID, Rig, key, memo, service};

const FAILED: &str = "SyncLoadBalancerFailed";

async fn ready(options: Options) -> (Rig, Process) {
    let rig = Rig::new(options).await;
    let process = rig.start().await;
    rig.workers(2).await;
    (rig, process)
}

/// A Service of one port that is not TCP.
fn with_protocol(protocol: &str) -> Service {
    let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 5_000, "protocol": protocol }] });
    serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec })).unwrap()
}

/// Checks that the Service `web` is refused with one event that says `parts`, and that it goes when it is deleted.
async fn refused(rig: &Rig, desired: &Service, parts: &[&str]) {
    rig.create(desired).await;
    rig.warned("web", FAILED, parts).await;
    rig.never(Duration::from_secs(3), async || {
        let events = rig.events("web").await;
        let said = events.iter().filter(|it| it.reason.as_deref() == Some(FAILED));
        let times: i32 = said.map(|it| it.count.unwrap_or(1)).sum();
        (times != 1).then(|| format!("said {times} times"))
    })
    .await;
}

/// As [`refused`], and the cloud was not asked for any change.
async fn refused_here(desired: &Service, parts: &[&str]) {
    let (rig, process) = ready(Options::default()).await;
    refused(&rig, desired, parts).await;
    rig.delete("web").await;
    rig.gone("web").await;
    assert_eq!(rig.writes(), [""; 0]);
    process.stop().await;
}

/// As [`refused`], by the cloud: it was asked once.
async fn refused_there(rig: Rig, process: Process, desired: &Service, parts: &[&str]) {
    refused(&rig, desired, parts).await;
    assert_eq!(rig.writes(), ["POST /v2/load_balancers → 422"]);
    rig.delete("web").await;
    rig.gone("web").await;
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
    process.stop().await;
}

/// Cases: bad-port
#[tokio::test]
async fn bad_input_sctp_on_a_service() {
    refused_here(&with_protocol("SCTP"), &["only TCP or UDP protocol is supported", "5000"]).await;
}

/// Cases: misspelt-annotation
#[tokio::test]
async fn bad_input_misspelt_annotation_is_reported_with_the_nearest() {
    let (rig, process) = ready(Options::default()).await;
    rig.create(&service("web", &[80], &[(&key("nmae"), "x"), (&key("type"), "REGIONAL_NETWORK")])).await;
    rig.warned("web", "UnknownAnnotation", &[&key("nmae"), &format!("did you mean {:?}", key("name"))]).await;
    rig.served("web").await;
    let events = rig.events("web").await;
    let unknown: Vec<_> = events.iter().filter(|it| it.reason.as_deref() == Some("UnknownAnnotation")).collect();
    assert_eq!((unknown.len(), unknown[0].count), (1, Some(1)));
    process.stop().await;
}

/// Cases: bad-annotation
#[tokio::test]
async fn bad_input_annotation_on_a_service() {
    let type_ = key("type");
    let desired = service("web", &[80], &[(&type_, "GLOBAL")]);
    refused_here(&desired, &[&type_, "\"GLOBAL\"", "REGIONAL or REGIONAL_NETWORK"]).await;
}

/// Cases: no-nodes
#[tokio::test]
async fn bad_input_no_usable_nodes_on_a_service() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.create(&service("web", &[80], &[])).await;
    rig.warned("web", "UnAvailableLoadBalancer", &["no available nodes"]).await;
    rig.warned("web", FAILED, &["no ready nodes available for load balancer"]).await;
    assert_eq!(rig.writes(), [""; 0]);
    // And it is served as soon as there are some.
    rig.workers(2).await;
    rig.served("web").await;
    process.stop().await;
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_422_on_a_service() {
    let (rig, process) = ready(Options::default()).await;
    let body = r#"{ "id": "unprocessable_entity", "message": "the moon is in the wrong house" }"#;
    rig.cloud.inject(Fault::status("POST", "/v2/load_balancers", 422).body(body));
    refused_there(rig, process, &service("web", &[80], &[]), &["422 the moon is in the wrong house"]).await;
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_quota_on_a_service() {
    let (rig, process) = ready(Options::default()).await;
    rig.cloud.load_balancers().behave(|it| it.limit = Some(0));
    let words = "you have reached the limit of load balancers";
    refused_there(rig, process, &service("web", &[80], &[]), &[words]).await;
}

/// Cases: name-taken
#[tokio::test]
async fn bad_input_name_taken_on_a_service() {
    let (rig, process) = ready(Options::default()).await;
    let foreign = LoadBalancer::new("4de7ac8b-495b-4884-9a69-1050c6793cd6", "web.example.com");
    rig.cloud.load_balancers().insert(foreign.clone());
    let desired = service("web", &[80], &[(&key("name"), "web.example.com")]);
    refused(&rig, &desired, &["is the name of load balancer", &foreign.id, "choose another"]).await;
    rig.delete("web").await;
    rig.gone("web").await;
    assert_eq!(rig.writes(), [""; 0]);
    assert_eq!(rig.only().id, foreign.id);
    process.stop().await;
}

/// Cases: unknown-id
#[tokio::test]
async fn bad_input_id_that_points_nowhere_on_a_service() {
    let (rig, process) = ready(Options::default()).await;
    let nowhere = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    rig.create(&service("web", &[80], &[(ID, nowhere)])).await;
    rig.warned("web", "LoadBalancerNotFound", &[nowhere]).await;
    let served = rig.served("web").await;
    let built = rig.only();
    assert_eq!(memo(&served), Some(built.id.as_str()));
    let annotated = tests::wait::until("the annotation is put right", async || {
        let annotations = rig.services().get("web").await.unwrap().metadata.annotations?;
        annotations.get(ID).filter(|it| **it != nowhere).cloned()
    });
    assert_eq!(annotated.await, built.id);
    assert_eq!(rig.cloud.requests_to("POST", "/v2/load_balancers").len(), 1);
    process.stop().await;
}
