//! Services that cannot be served: one event on each that says why, and nothing written to the cloud.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use tests::operator::Process;
use tests::simulator::Fault;
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, Vendor};
use tests::wait;

use crate::setup::{CloudRig, ID, memo, service};

const FAILED: &str = "SyncLoadBalancerFailed";

async fn ready<V: Vendor>() -> (CloudRig<V>, Process) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start_with_workers(2).await;
    (rig, process)
}

/// A Service of one port that is not TCP.
fn with_protocol(protocol: &str) -> Service {
    let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 5_000, "protocol": protocol }] });
    serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec })).unwrap()
}

/// Checks that the Service `web` is refused with one event that says `parts`, and that it goes when it is deleted.
async fn refused<V: Vendor>(rig: &CloudRig<V>, desired: &Service, parts: &[&str]) {
    rig.create(desired).await;
    rig.warned("web", FAILED, parts).await;
    rig.never(Duration::from_secs(3), async || {
        let events = rig.events("web").await;
        let said = events.iter().filter(|it| it.reason.as_deref() == Some(FAILED));
        let times: i32 = said.map(|it| it.count.unwrap_or(1)).sum();
        (times != 1).then(|| format!("said {times} times"))
    })
    .await;
    rig.delete("web").await;
    rig.gone("web").await;
}

/// As [`refused`], and the cloud was not asked for any change.
async fn refused_here<V: Vendor>(desired: &Service, parts: &[&str]) {
    let (rig, process) = ready::<V>().await;
    refused(&rig, desired, parts).await;
    assert_eq!(rig.writes(), [""; 0]);
    process.stop().await;
}

/// As [`refused`], by the cloud with this status: it was asked once.
async fn refused_there<V: Vendor>(rig: CloudRig<V>, process: Process, status: u16, parts: &[&str]) {
    refused(&rig, &service("web", &[80], &[]), parts).await;
    assert_eq!(rig.writes(), [format!("POST {} → {status}", V::LOAD_BALANCERS)]);
    assert_eq!(rig.built(), []);
    process.stop().await;
}

/// Cases: bad-port
#[tokio::test]
async fn bad_input_sctp_on_a_service() {
    // Other clouds leave the port out, with a warning.
    refused_here::<DigitalOcean>(&with_protocol("SCTP"), &["only TCP or UDP protocol is supported", "5000"]).await;
}

/// Cases: misspelt-annotation
#[tokio::test]
async fn bad_input_misspelt_annotation_is_reported_with_the_nearest() {
    a_misspelt_annotation_is_reported::<DigitalOcean>().await;
}

/// Cases: misspelt-annotation
#[tokio::test]
async fn bad_input_misspelt_annotation_at_hetzner_is_reported() {
    a_misspelt_annotation_is_reported::<Hetzner>().await;
}

async fn a_misspelt_annotation_is_reported<V: Vendor>() {
    let (rig, process) = ready::<V>().await;
    let misspelt = format!("{}nmae", V::PREFIX);
    rig.create(&service("web", &[80], &[(&misspelt, "x")])).await;
    rig.warned("web", "UnknownAnnotation", &[&misspelt, &format!("did you mean {:?}", V::NAME)]).await;
    rig.served("web").await;
    let events = rig.events("web").await;
    let unknown: Vec<_> = events.iter().filter(|it| it.reason.as_deref() == Some("UnknownAnnotation")).collect();
    assert_eq!((unknown.len(), unknown[0].count), (1, Some(1)));
    process.stop().await;
}

/// Cases: bad-annotation
#[tokio::test]
async fn bad_input_annotation_on_a_service() {
    a_bad_annotation_is_refused::<DigitalOcean>("type", "REGIONAL or REGIONAL_NETWORK").await;
}

/// Cases: bad-annotation
#[tokio::test]
async fn bad_input_annotation_on_a_service_at_hetzner() {
    a_bad_annotation_is_refused::<Hetzner>("algorithm-type", "round_robin or least_connections").await;
}

async fn a_bad_annotation_is_refused<V: Vendor>(name: &str, allowed: &str) {
    let key = format!("{}{name}", V::PREFIX);
    refused_here::<V>(&service("web", &[80], &[(&key, "GLOBAL")]), &[&key, "\"GLOBAL\"", allowed]).await;
}

/// Cases: no-nodes
#[tokio::test]
async fn bad_input_no_usable_nodes_on_a_service() {
    // It takes no load balancer without droplets.
    let said = Some("no ready nodes available for load balancer");
    it_is_served_once_there_are_nodes::<DigitalOcean>(said).await;
}

/// Cases: no-nodes
#[tokio::test]
async fn bad_input_no_usable_nodes_at_hetzner() {
    it_is_served_once_there_are_nodes::<Hetzner>(None).await;
}

/// `refused` is what the provider says if it builds nothing without nodes.
async fn it_is_served_once_there_are_nodes<V: Vendor>(refused: Option<&str>) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.create(&service("web", &[80], &[])).await;
    rig.warned("web", "UnAvailableLoadBalancer", &["no available nodes"]).await;
    if let Some(said) = refused {
        rig.warned("web", FAILED, &[said]).await;
        assert_eq!(rig.writes(), [""; 0]);
    }
    rig.workers(2).await;
    rig.served("web").await;
    wait::until("it has both machines", async || (rig.only_built().machines == [1, 2]).then_some(())).await;
    process.stop().await;
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_422_on_a_service() {
    the_cloud_says_no::<DigitalOcean>().await;
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_422_on_a_service_at_hetzner() {
    the_cloud_says_no::<Hetzner>().await;
}

async fn the_cloud_says_no<V: Vendor>() {
    let (rig, process) = ready::<V>().await;
    rig.cloud.inject(Fault::status("POST", V::LOAD_BALANCERS, 422).body(V::refusal("the moon is in the wrong house")));
    refused_there(rig, process, 422, &["422 the moon is in the wrong house"]).await;
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_quota_on_a_service() {
    a_quota_is_told::<DigitalOcean>(422, "you have reached the limit of load balancers").await;
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_quota_on_a_service_at_hetzner() {
    a_quota_is_told::<Hetzner>(403, "load balancer").await;
}

/// A quota that is used up is told as such, and what was refused is asked for again by itself once there is room.
async fn a_quota_is_told<V: Vendor>(status: u16, words: &str) {
    let (rig, process) = ready::<V>().await;
    V::limit(rig.cloud.account(), 0);
    rig.create(&service("web", &[80], &[])).await;
    rig.warned("web", FAILED, &[words, "quota"]).await;
    let (writes, refused) = (rig.writes(), format!("POST {} → {status}", V::LOAD_BALANCERS));
    assert!(!writes.is_empty() && writes.iter().all(|it| *it == refused), "{writes:?}");
    assert_eq!(rig.built(), []);
    V::limit(rig.cloud.account(), 10);
    rig.served("web").await;
    process.stop().await;
}

#[tokio::test]
async fn adv_157_a_refused_service_is_deleted_at_once() {
    a_refused_service_goes_at_once::<DigitalOcean>().await;
}

#[tokio::test]
async fn adv_157_a_refused_service_at_hetzner_is_deleted_at_once() {
    a_refused_service_goes_at_once::<Hetzner>().await;
}

/// Nothing was created, so that nothing has to be waited for.
async fn a_refused_service_goes_at_once<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.settings(&[("createAgainAfter", "60s")]);
    let process = rig.start_with_workers(2).await;
    V::limit(rig.cloud.account(), 0);
    rig.create(&service("web", &[80], &[])).await;
    rig.warned("web", FAILED, &["load balancer"]).await;
    let refused = wait::until("the announcement is taken back", async || {
        let found = rig.services().get("web").await.unwrap();
        memo(&found).is_none().then_some(found)
    });
    refused.await;
    let begun = Instant::now();
    rig.delete("web").await;
    rig.gone("web").await;
    let took = begun.elapsed();
    // A look at the cloud and the writes that a conflict repeats take seconds. After a creation without a clear answer the deletion would
    // last a minute, `createAgainAfter`.
    assert!(took < Duration::from_secs(20), "its deletion took {took:?}");
    eprintln!("the deletion of a Service that {} refused took {took:?}", V::LOAD_BALANCERS);
    assert_eq!(rig.built(), []);
    process.stop().await;
}

/// Cases: name-taken
#[tokio::test]
async fn bad_input_name_taken_on_a_service() {
    a_taken_name_is_told::<DigitalOcean>("is the name of load balancer").await;
}

/// Cases: name-taken
#[tokio::test]
async fn bad_input_name_taken_on_a_service_at_hetzner() {
    a_taken_name_is_told::<Hetzner>("has the name that this Service asks for").await;
}

async fn a_taken_name_is_told<V: Vendor>(words: &str) {
    let (rig, process) = ready::<V>().await;
    let foreign = V::add_foreign(rig.cloud.account(), "web.example.com");
    let before = rig.built();
    let desired = service("web", &[80], &[(V::NAME, "web.example.com")]);
    refused(&rig, &desired, &[words, &foreign, "choose another"]).await;
    assert_eq!((rig.effects(), rig.built()), (Vec::new(), before));
    process.stop().await;
}

/// Cases: unknown-id
#[tokio::test]
async fn bad_input_id_that_points_nowhere_on_a_service() {
    let (rig, process) = ready::<DigitalOcean>().await;
    let nowhere = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    rig.create(&service("web", &[80], &[(ID, nowhere)])).await;
    rig.warned("web", "LoadBalancerNotFound", &[nowhere]).await;
    let served = rig.served("web").await;
    let built = rig.only_built();
    assert_eq!(memo(&served), Some(built.id.as_str()));
    let annotated = wait::until("the annotation is put right", async || {
        let annotations = rig.services().get("web").await.unwrap().metadata.annotations?;
        annotations.get(ID).filter(|it| **it != nowhere).cloned()
    });
    assert_eq!(annotated.await, built.id);
    assert_eq!(rig.cloud.requests_to("POST", "/v2/load_balancers").len(), 1);
    process.stop().await;
}
