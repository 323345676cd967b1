//! Kubelets that are not honest, with no more rights than the API server gives a kubelet.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{Fault, LoadBalancer, Options};
use tests::operator::{event, node};
use tests::vendor::DigitalOcean;
use tests::{kubelet, wait};

use crate::setup::{Rig, is_about_load_balancers, service, worker};

/// Longer than nodes that change all the time are waited for.
const WINDOW: Duration = Duration::from_secs(7);

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

/// A Node that its own kubelet creates without the taint, with this provider id.
async fn create_untainted(rig: &Rig, name: &str, provider_id: &str) -> Client {
    let kubelet = rig.cluster.control_plane.kubelet(name).await.unwrap();
    let mut node = kubelet::node(name);
    let spec = node.spec.as_mut().unwrap();
    spec.taints = None;
    spec.provider_id = Some(provider_id.to_owned());
    Api::<Node>::all(kubelet.clone()).create(&PostParams::default(), &node).await.unwrap();
    write_address(&kubelet, name, "203.0.113.66").await;
    kubelet
}

fn droplets(load_balancer: &LoadBalancer) -> Vec<u64> {
    let mut droplets = load_balancer.attributes.droplet_ids.clone();
    droplets.sort_unstable();
    droplets
}

#[tokio::test]
async fn adv_105_a_kubelets_words_do_not_change_load_balancers() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    let kubelet = rig.cluster.control_plane.kubelet("worker-1").await.unwrap();
    write(&kubelet, "worker-1", json!({ "metadata": { "labels": { "topology.kubernetes.io/region": "nyc3" } } })).await;
    create_untainted(&rig, "rogue", "digitalocean://4711").await;

    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;
    let built = rig.only();
    assert_eq!((built.attributes.region.as_str(), droplets(&built)), ("fra1", vec![1, 2]));
    let warning = event(&rig.cluster, "rogue", &["is no backend of load balancers", "no instance"]).await;
    assert_eq!(warning.count.unwrap_or(1), 1);

    let asked = || rig.cloud.requests().iter().filter(|it| is_about_load_balancers::<DigitalOcean>(it)).count();
    let before = asked();
    for nth in 0..30 {
        write_address(&kubelet, "worker-1", &format!("203.0.113.{nth}")).await;
    }
    rig.never(WINDOW, async || (asked() > before).then(&asked)).await;
    assert_eq!(droplets(&rig.only()), [1, 2]);
    process.stop().await;
}

#[tokio::test]
async fn adv_105_a_restart_takes_no_standing_backend_away() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(9).await;
    for name in ["web", "going"] {
        rig.create(&service(name, &[80], &[])).await;
        rig.served(name).await;
    }
    process.stop().await;

    rig.cloud.inject(Fault::status("GET", "/v2/droplets", 500));
    let before = rig.writes().len();
    let process = rig.start().await;
    rig.ports("web", &[80, 81]).await;
    rig.delete("going").await;
    rig.gone("going").await;
    rig.warned("web", "SyncLoadBalancerFailed", &["has not said yet which nodes exist"]).await;
    let written = || rig.writes()[before..].to_vec();
    let others: Vec<_> = written().into_iter().filter(|it| !it.starts_with("DELETE")).collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(droplets(&rig.only()), (1..=9).collect::<Vec<_>>());

    rig.cloud.clear_faults();
    let changed = wait::within(Duration::from_secs(60), async || {
        (rig.only().attributes.forwarding_rules.len() == 2).then_some(())
    });
    assert!(changed.await.is_some(), "the Service is reconciled once the list is there: {:?}", written());
    assert_eq!(droplets(&rig.only()), (1..=9).collect::<Vec<_>>());
    process.stop().await;
}

#[tokio::test]
async fn adv_111_a_claimed_provider_id_stays_its_nodes_own() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    process.stop().await;
    // Its name comes first in every list.
    create_untainted(&rig, "a-rogue", "digitalocean://1").await;
    let address = [198, 18, 99, 1];
    rig.cloud.droplets().update(1, |it| it.public_v4 = vec![address.into()]);

    let process = rig.start().await;
    event(&rig.cluster, "a-rogue", &["digitalocean://1 is node worker-1's"]).await;
    wait::until("the real node has its machine's new address", async || {
        let node = node(&rig.cluster, &worker(1)).await;
        kubelet::addresses(&node).contains(&("ExternalIP", "198.18.99.1")).then_some(())
    })
    .await;
    let rogue = node(&rig.cluster, "a-rogue").await;
    assert!(kubelet::addresses(&rogue).iter().all(|(_, it)| *it == "203.0.113.66"), "it gets nothing of that machine");
    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;
    assert_eq!(droplets(&rig.only()), [1, 2]);
    process.stop().await;
}
