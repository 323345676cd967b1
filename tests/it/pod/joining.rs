//! Nodes that wait for the cloud, and Pods that come to them all the same.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use tests::kubelet::{UNINITIALIZED, addresses, is_uninitialized};
use tests::pod::{Site, TAINTS};

use crate::seen::{is_ready, name, node, place, pods, restarts, until};

/// Asserts that a node is as a kubelet registers it for a cloud.
pub(crate) fn waits_for_the_cloud(node: &Node) {
    let spec = node.spec.clone().unwrap();
    let taints = spec.taints.unwrap();
    for key in TAINTS.iter().map(|it| it.0).chain([UNINITIALIZED]) {
        assert!(taints.iter().any(|it| it.key == key), "{key} is not in {taints:#?}");
    }
    assert_eq!(spec.provider_id, None);
    assert!(!has_addresses(node), "{:?}", addresses(node));
    assert!(!is_node_ready(node));
}

fn is_node_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|it| it.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True")
}

async fn nodes(site: &Site) -> Vec<Node> {
    Api::<Node>::all(site.admin.clone()).list(&ListParams::default()).await.unwrap().items
}

/// Waits until one node is initialised, on which a Pod runs. Returns its name.
pub(crate) async fn first_initialised(site: &Site) -> String {
    until(site, "a node is initialised", async || {
        nodes(site).await.iter().find(|it| !is_uninitialized(it)).map(ResourceExt::name_any)
    })
    .await
}

/// Waits until all nodes are initialised, and asserts that they are what the cloud says.
pub(crate) async fn all_are_initialised(site: &Site) {
    until(site, "all nodes are initialised", async || {
        // Addresses are in the status, which is written by itself.
        nodes(site).await.iter().all(|it| !is_uninitialized(it) && has_addresses(it)).then_some(())
    })
    .await;
    for number in 0..site.machines.len() {
        let node = node(site, &Site::node(number)).await;
        let id = node.spec.as_ref().and_then(|it| it.provider_id.clone());
        assert_eq!(id, Some(format!("digitalocean://{}", 100 + number)));
    }
}

/// Whether a node has an address besides its name.
fn has_addresses(node: &Node) -> bool {
    addresses(node).iter().any(|it| it.0 == "InternalIP")
}

/// Waits until the kubelets report their nodes as ready, and keep what the cloud said.
pub(crate) async fn nodes_are_ready(site: &Site) {
    until(site, "all nodes are ready", async || nodes(site).await.iter().all(is_node_ready).then_some(())).await;
    for node in nodes(site).await {
        assert!(has_addresses(&node), "{:?}", addresses(&node));
    }
}

/// Waits until so many Pods are ready.
pub(crate) async fn pods_are_ready(site: &Site, count: usize) -> Vec<Pod> {
    until(site, "the Pods are ready", async || {
        let pods = pods(site).await;
        (pods.len() == count && pods.iter().all(is_ready)).then_some(pods)
    })
    .await
}

/// Asserts that each machine has one of the Pods, at the first attempt, with the image of the registry.
pub(crate) fn one_on_each_machine(site: &Site, pods: &[Pod]) {
    let places: BTreeSet<_> = pods.iter().map(place).collect();
    assert_eq!(places, (0..site.machines.len()).map(Site::node).collect());
    let image = format!("{}@{}", site.release.place, site.release.image);
    for pod in pods {
        assert_eq!(restarts(pod), 0, "{}", name(pod));
        let status = &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
        assert_eq!(status.image_id, image);
    }
}

/// The messages of events with this reason about Pods.
pub(crate) async fn events(site: &Site, reason: &str) -> Vec<(String, String)> {
    let events: Api<Event> = Api::namespaced(site.admin.clone(), "kube-system");
    let all = events.list(&ListParams::default().fields(&format!("reason={reason}"))).await.unwrap().items;
    all.into_iter().map(|it| (it.involved_object.name.unwrap_or_default(), it.message.unwrap_or_default())).collect()
}
