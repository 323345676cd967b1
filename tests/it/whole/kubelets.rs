//! Kubelets that are not honest, with no more rights than the API server gives a kubelet.

use std::net::Ipv4Addr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::operator::{event, event_after, node};
use tests::simulator::Fault;
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, Readdresses, Vendor};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, is_about_load_balancers, service, worker};

/// Longer than nodes that change all the time are waited for.
const WINDOW: Duration = Duration::from_secs(7);
/// A restart's questions about nodes begin after 3 s and pause for 1, 2, 4 and 8 s; their failures are told once 10 s have passed.
const FAILURES: Duration = Duration::from_secs(18);

/// Writes to a Node as its kubelet.
async fn write(kubelet: &Client, name: &str, patch: Value) {
    let nodes: Api<Node> = Api::all(kubelet.clone());
    nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// Writes to a Node's status as its kubelet.
async fn write_address(kubelet: &Client, name: &str, address: &str) {
    let nodes: Api<Node> = Api::all(kubelet.clone());
    let addresses = json!([{ "type": "InternalIP", "address": address }, { "type": "ExternalIP", "address": address }]);
    let patch = Patch::Strategic(json!({ "status": { "addresses": addresses } }));
    nodes.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

/// A Node that its own kubelet creates without the taint, with the provider id of this machine.
async fn create_untainted<V: Vendor>(rig: &CloudRig<V>, name: &str, machine: u64) -> Client {
    let kubelet = rig.cluster.control_plane.kubelet(name).await.unwrap();
    let mut node = kubelet::node(name);
    let spec = node.spec.as_mut().unwrap();
    spec.taints = None;
    spec.provider_id = Some(format!("{}{machine}", V::PROVIDER_ID));
    Api::<Node>::all(kubelet.clone()).create(&PostParams::default(), &node).await.unwrap();
    write_address(&kubelet, name, "203.0.113.66").await;
    kubelet
}

#[tokio::test]
async fn adv_105_a_kubelets_words_do_not_change_load_balancers() {
    a_kubelets_words_change_nothing::<DigitalOcean>(|rig| {
        let region = rig.cloud.load_balancers().all()[0].attributes.region.clone();
        assert_eq!(region, "fra1", "the machines' own");
    })
    .await;
}

#[tokio::test]
async fn adv_105_a_kubelets_words_do_not_change_those_at_hetzner() {
    a_kubelets_words_change_nothing::<Hetzner>(|_| ()).await;
}

async fn a_kubelets_words_change_nothing<V: Vendor>(check: impl Fn(&CloudRig<V>)) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    let kubelet = rig.cluster.control_plane.kubelet("worker-1").await.unwrap();
    write(&kubelet, "worker-1", json!({ "metadata": { "labels": { "topology.kubernetes.io/region": "nyc3" } } })).await;
    create_untainted(&rig, "rogue", 4_711).await;

    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;
    assert_eq!(rig.only_built().machines, [1, 2]);
    check(&rig);
    let warning = event(&rig.cluster, "rogue", &["is no backend of load balancers", "no instance"]).await;
    assert_eq!(warning.count.unwrap_or(1), 1);

    let asked = || rig.cloud.requests().iter().filter(|it| is_about_load_balancers::<V>(it)).count();
    let before = asked();
    for nth in 0..30 {
        write_address(&kubelet, "worker-1", &format!("203.0.113.{nth}")).await;
    }
    rig.never(WINDOW, async || (asked() > before).then(&asked)).await;
    assert_eq!(rig.only_built().machines, [1, 2]);
    process.stop().await;
}

#[tokio::test]
async fn adv_105_a_restart_takes_no_standing_backend_away() {
    a_restart_takes_no_backend_away::<DigitalOcean>().await;
}

#[tokio::test]
async fn adv_105_a_restart_at_hetzner_takes_no_backend_away() {
    a_restart_takes_no_backend_away::<Hetzner>().await;
}

async fn a_restart_takes_no_backend_away<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.workers(9).await;
    for name in ["web", "going"] {
        rig.create(&service(name, &[80], &[])).await;
        rig.served(name).await;
    }
    process.stop().await;

    rig.cloud.inject(Fault::status("GET", V::MACHINES, 500));
    let before = rig.writes().len();
    let process = rig.start().await;
    rig.ports("web", &[80, 81]).await;
    rig.delete("going").await;
    rig.gone("going").await;
    let warning = event_after(FAILURES, &rig.cluster, "web", &["has not said yet which nodes exist"]).await;
    assert_eq!(warning.reason.as_deref(), Some("SyncLoadBalancerFailed"));
    let written = || rig.writes()[before..].to_vec();
    let others: Vec<_> = written().into_iter().filter(|it| !it.starts_with("DELETE")).collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(rig.only_built().machines, (1..=9).collect::<Vec<_>>());

    rig.cloud.clear_faults();
    let changed = wait::within(Duration::from_secs(60), async || (rig.only_built().ports.len() == 2).then_some(()));
    assert!(changed.await.is_some(), "the Service is reconciled once the list is there: {:?}", written());
    assert_eq!(rig.only_built().machines, (1..=9).collect::<Vec<_>>());
    process.stop().await;
}

#[tokio::test]
async fn adv_111_a_claimed_provider_id_stays_its_nodes_own() {
    a_provider_id_stays_its_nodes_own::<DigitalOcean>().await;
}

#[tokio::test]
async fn adv_111_a_claimed_provider_id_at_hetzner_stays_its_own() {
    a_provider_id_stays_its_nodes_own::<Hetzner>().await;
}

async fn a_provider_id_stays_its_nodes_own<V: Readdresses>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    // Its name comes first in every list.
    create_untainted(&rig, "a-rogue", 1).await;
    V::readdress(rig.cloud.account(), 1, Ipv4Addr::new(198, 18, 99, 1));

    let process = rig.start().await;
    event(&rig.cluster, "a-rogue", &[&format!("{}1 is node worker-1's", V::PROVIDER_ID)]).await;
    wait::until("the real node has its machine's new address", async || {
        let node = node(&rig.cluster, &worker(1)).await;
        kubelet::addresses(&node).contains(&("ExternalIP", "198.18.99.1")).then_some(())
    })
    .await;
    let rogue = node(&rig.cluster, "a-rogue").await;
    assert!(kubelet::addresses(&rogue).iter().all(|(_, it)| *it == "203.0.113.66"), "it gets nothing of that machine");
    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;
    assert_eq!(rig.only_built().machines, [1, 2]);
    process.stop().await;
}
