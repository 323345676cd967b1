//! Theft: annotations that name a load balancer of others. Nothing is written, and the answer says why.
//!
//! An annotation that names an id is DigitalOcean's alone.

use cloud_provider::{Deletion, Ingress};
use tests::clouds::digitalocean::{Attributes, Droplet, ForwardingRule, LoadBalancer};
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, ProviderRig, Vendor};

use crate::setup::{ID, NAME, Rig, Service, rig, warning};

const FOREIGN: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

tests::for_each_cloud! {
    a_memo_that_names_another_services_creation_is_refused,
    an_address_alone_is_no_proof,
}

/// An account with a load balancer that is not the cluster's.
async fn with_foreign(settings: &[(&str, &str)]) -> Rig {
    let rig = rig(settings).await;
    rig.cloud.load_balancers().insert(LoadBalancer::new(FOREIGN, "foreign"));
    rig
}

fn address(rig: &Rig) -> String {
    rig.cloud.load_balancers().get(FOREIGN).unwrap().ip.unwrap().to_string()
}

fn shows(ip: &str) -> Vec<Ingress> {
    vec![Ingress { ip: Some(ip.to_owned()), hostname: None, ip_mode: None }]
}

/// Cases: theft-by-id
#[tokio::test]
async fn theft_by_id_annotation_is_refused() {
    let rig = with_foreign(&[]).await;
    let mut service = Service::new(&rig);
    service.annotate(ID, FOREIGN);
    let why = service.invalid().await;
    assert!(why.starts_with(&format!("annotation {ID} names load balancer {FOREIGN} (foreign)")), "{why}");
    assert!(why.contains("To adopt it, let the operator set adoptById: \"true\""), "{why}");
    // Changed, and with another address in its status.
    service.desired.ports[0].port = 81;
    service.desired.current_ingress = shows("192.0.2.77");
    assert_eq!(service.invalid().await, why);
    service.gone_without(FOREIGN).await;
    assert_eq!(rig.writes(), [""; 0]);
    assert_eq!(rig.only(), FOREIGN);
}

/// Cases: theft-by-id
#[tokio::test]
async fn theft_by_id_annotation_on_a_served_service_is_ignored() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.served().await;
    let own = rig.only();
    rig.cloud.load_balancers().insert(LoadBalancer::new(FOREIGN, "foreign"));
    service.annotate(ID, FOREIGN);
    let (standing, events) = service.served_with().await;
    let (reason, message) = warning(&events);
    assert_eq!(reason, "LoadBalancerIdIgnored");
    assert!(message.contains(FOREIGN) && message.contains(&own), "{message}");
    assert_eq!(standing.memo.as_ref(), Some(&own));
    assert_eq!(service.annotation(ID), Some(&*own), "it is put right");
    service.annotate(ID, FOREIGN);
    service.gone().await;
    assert_eq!(rig.only(), FOREIGN);
}

/// Cases: theft-by-name
#[tokio::test]
async fn theft_of_the_name_that_another_service_will_need_is_refused() {
    a_default_name_is_not_stolen::<DigitalOcean>().await;
}

/// Cases: theft-by-name
#[tokio::test]
async fn theft_of_a_default_name_at_hetzner_is_refused() {
    a_default_name_is_not_stolen::<Hetzner>().await;
}

async fn a_default_name_is_not_stolen<V: Vendor>() {
    let rig = ProviderRig::<V>::new(Behaviour::default(), &[]).await;
    let uid = "11111111-2222-3333-4444-555555555555";
    let mut thief = Service::new(&rig).named("thief", uid);
    thief.served().await;
    let writes = rig.writes();
    thief.set("name", NAME);
    let why = thief.invalid().await;
    assert!(why.contains("is not free to choose"), "{why}");
    assert_eq!(rig.writes(), writes);
}

async fn a_memo_that_names_another_services_creation_is_refused<V: Vendor>() {
    let rig = ProviderRig::<V>::new(Behaviour::default(), &[]).await;
    let mut service = Service::new(&rig).named("thief", "11111111-2222-3333-4444-555555555555");
    service.desired.memo = Some(format!("creating {NAME} since 7"));
    assert!(service.invalid().await.contains("is not one of this provider"));
    assert!(service.delete().await.is_err());
    assert_eq!(rig.requests(), [""; 0]);
}

#[tokio::test]
async fn an_id_and_an_address_in_the_status_are_proof() {
    let rig = with_foreign(&[]).await;
    let mut service = Service::new(&rig);
    service.annotate(ID, FOREIGN);
    service.desired.current_ingress = shows(&address(&rig));
    // Two steps: it is remembered first, so that the host can refuse what another Service has.
    let unfinished = service.pending().await;
    assert_eq!(unfinished.status.memo.as_deref(), Some(FOREIGN));
    assert_eq!(rig.writes(), [""; 0]);
}

#[tokio::test]
async fn an_id_and_an_address_in_the_status_are_proof_for_a_deletion() {
    let rig = with_foreign(&[]).await;
    let mut service = Service::new(&rig);
    service.annotate(ID, FOREIGN);
    service.desired.current_ingress = shows(&address(&rig));
    assert!(matches!(service.delete().await, Ok(Deletion::Pending(_))));
    assert_eq!(rig.writes(), [""; 0]);
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert!(rig.cloud.load_balancers().all().is_empty());
}

/// A load balancer to steal: type, target port and droplets.
fn prey(kind: &str, target_port: u32, droplet_ids: Vec<u64>) -> LoadBalancer {
    let rules = vec![ForwardingRule::new("tcp", 80, "tcp", target_port)];
    let attributes = Attributes { kind: kind.to_owned(), droplet_ids, ..Attributes::new("foreign", "fra1", rules) };
    LoadBalancer { attributes, ..LoadBalancer::new(FOREIGN, "foreign") }
}

/// Why the Service of port 80 on node port 30080, before droplet 1, does not get a load balancer by its id.
async fn not_proven(prey: LoadBalancer) {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().insert(prey);
    let mut thief = Service::new(&rig);
    thief.annotate(ID, FOREIGN);
    assert!(thief.invalid().await.contains("cannot be proven to be this Service's"));
    thief.gone_without(FOREIGN).await;
    assert_eq!(rig.writes(), [""; 0]);
}

/// Cases: theft-by-node-port
#[tokio::test]
async fn own_node_ports_and_own_droplets_are_proof() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().insert(prey("REGIONAL", 30_080, vec![1]));
    let mut service = Service::new(&rig);
    service.annotate(ID, FOREIGN);
    let unfinished = service.pending().await;
    assert_eq!(unfinished.status.memo.as_deref(), Some(FOREIGN));
    assert_eq!(rig.writes(), [""; 0]);
}

/// Cases: theft-by-node-port
#[tokio::test]
async fn theft_by_another_services_node_port_is_refused() {
    not_proven(prey("REGIONAL", 30_081, vec![1])).await;
    let mut two = prey("REGIONAL", 30_080, vec![1]);
    two.attributes.forwarding_rules.push(ForwardingRule::new("tcp", 81, "tcp", 30_081));
    not_proven(two).await;
}

/// Cases: theft-by-node-port
#[tokio::test]
async fn theft_of_what_has_targets_outside_the_cluster_is_refused() {
    not_proven(prey("REGIONAL", 30_080, vec![1, 2])).await;
    not_proven(prey("REGIONAL", 30_080, vec![2])).await;
    not_proven(prey("REGIONAL", 30_080, Vec::new())).await;
}

/// Cases: theft-by-node-port
#[tokio::test]
async fn theft_of_what_passes_packets_through_is_refused() {
    // Its targets' ports are those of a Service, and any Service can have these.
    not_proven(prey("REGIONAL_NETWORK", 30_080, vec![1])).await;
}

/// Cases: theft-by-node-port
#[tokio::test]
async fn the_clusters_droplets_are_proof_for_a_deletion() {
    let rig = rig(&[("clusterId", "c-1")]).await;
    rig.cloud.load_balancers().insert(prey("REGIONAL", 30_080, vec![1, 2]));
    rig.cloud.droplets().insert(Droplet::new(1, "web-1").tag("k8s:c-1"));
    let mut service = Service::new(&rig);
    service.annotate(ID, FOREIGN);
    service.gone_without(FOREIGN).await;
    rig.cloud.droplets().insert(Droplet::new(2, "web-2").tag("k8s:c-1"));
    service.gone().await;
    assert!(rig.cloud.load_balancers().all().is_empty());
}

async fn an_address_alone_is_no_proof<V: Vendor>() {
    let rig = ProviderRig::<V>::new(Behaviour::default(), &[]).await;
    let foreign = V::add_foreign(rig.cloud.account(), "foreign");
    let mut service = Service::new(&rig);
    service.desired.current_ingress = shows(&V::built(rig.cloud.account())[0].addresses[0]);
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert_eq!(rig.only(), foreign);
}

#[tokio::test]
async fn an_operator_may_let_an_id_be_enough() {
    let rig = with_foreign(&[("adoptById", "true")]).await;
    let mut service = Service::new(&rig);
    service.annotate(ID, &FOREIGN.to_uppercase());
    let unfinished = service.pending().await;
    assert_eq!(unfinished.status.memo.as_deref(), Some(FOREIGN), "in the form that all Services share");
    assert_eq!(rig.writes(), [""; 0]);
    service.served().await;
    assert_eq!(rig.cloud.load_balancers().get(FOREIGN).unwrap().name(), NAME);
}

#[tokio::test]
async fn an_invalid_id_is_refused_without_a_request() {
    let rig = with_foreign(&[]).await;
    for id in ["foreign", "../droplets/1", "4de7ac8b-495b-4884-9a69-1050c6793cd6/droplets", "*"] {
        let mut service = Service::new(&rig);
        service.annotate(ID, id);
        assert_eq!(service.invalid().await, format!("annotation {ID}: {id:?} is not the UUID of a load balancer"));
        assert_eq!(rig.requests(), [""; 0]);
    }
}
