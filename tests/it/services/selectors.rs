//! Annotations that select nodes: the provider is given those that match, whatever labels it may see.

use std::time::Instant;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};
use tests::wait;

use crate::cloud::{Cloud, NODES};
use crate::controller::{
    Controller, addressed, called, create, events, join, node, one, patch, patch_node, service, settled, told,
};
use crate::hosts::{UPDATED, hosts};

fn pooled(nth: usize, pool: &str) -> Node {
    let mut node = node(nth);
    node.metadata.labels.get_or_insert_default().insert("pool".to_owned(), pool.to_owned());
    node
}

fn labels(pool: &str) -> Value {
    json!({ "metadata": { "labels": { "pool": pool } } })
}

/// Gives a Service another selector.
async fn select(cluster: &Cluster, name: &str, selector: &str) {
    patch(cluster, name, json!({ "metadata": { "annotations": { NODES: selector } } })).await;
}

#[tokio::test]
async fn a_service_gets_the_nodes_that_its_selector_matches() {
    let cluster = cluster().await;
    let cloud = Cloud::selecting_nodes();
    for (nth, pool) in [(1, "web"), (2, "db"), (3, "web")] {
        join(&cluster, &pooled(nth, pool)).await;
    }
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut selecting = service("s1");
    selecting.metadata.annotations.get_or_insert_default().insert(NODES.to_owned(), "pool in (web)".to_owned());
    create(&cluster, &selecting).await;
    create(&cluster, &service("s2")).await;
    assert_eq!(hosts(&cloud, "s1", 1).await, ["n1", "n3"]);
    assert_eq!(hosts(&cloud, "s2", 1).await, ["n1", "n2", "n3"]);
    addressed(&cluster, "s1", "192.0.2.1").await;
    addressed(&cluster, "s2", "192.0.2.1").await;

    patch_node(&cluster, "n2", labels("web")).await;
    assert_eq!(hosts(&cloud, "s1", 2).await, ["n1", "n2", "n3"], "another label is another backend");
    told(&cluster, "s1", "UpdatedLoadBalancer", 1).await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s2").len(), 1, "who selects nothing is not asked about");
    assert!(events(&cluster, "s1").iter().any(|it| it == UPDATED));
}

/// Cases: hcloud 38
#[tokio::test]
async fn a_selector_that_cannot_be_read_is_said_and_makes_no_call() {
    let cluster = cluster().await;
    let cloud = Cloud::selecting_nodes();
    join(&cluster, &pooled(1, "web")).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut wrong = service("s1");
    wrong.metadata.annotations.get_or_insert_default().insert(NODES.to_owned(), "pool in web".to_owned());
    create(&cluster, &wrong).await;
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let expected = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: annotation \
                    example.com/nodes is no selector of node labels, such as \"pool=web,!spot\": found \"web\", expected '('";
    assert_eq!(events, [expected]);
    assert_eq!(cloud.calls().len(), 0);
    select(&cluster, "s1", "pool=web").await;
    called(&cloud, "s1", 1).await;
    addressed(&cluster, "s1", "192.0.2.1").await;

    select(&cluster, "s1", "pool=").await;
    assert_eq!(hosts(&cloud, "s1", 2).await, [""; 0], "nobody has the empty value");

    // One that works already stays as it is.
    select(&cluster, "s1", "pool in web").await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 2).await;
    patch_node(&cluster, "n1", labels("db")).await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2, "no target is taken away or added");
}

#[tokio::test]
async fn adv_105_a_kubelet_that_flips_a_label_is_limited() {
    const FLIPS: usize = 25;
    let cluster = cluster().await;
    let cloud = Cloud::selecting_nodes();
    for nth in [1, 2] {
        join(&cluster, &pooled(nth, "web")).await;
    }
    let controller = Controller::start(&cluster, &cloud, one());
    let mut selecting = service("s1");
    selecting.metadata.annotations.get_or_insert_default().insert(NODES.to_owned(), "pool=web".to_owned());
    create(&cluster, &selecting).await;
    addressed(&cluster, "s1", "192.0.2.1").await;

    let kubelet = Api::<Node>::all(cluster.control_plane.kubelet("n2").await.expect("a client"));
    let is_worked_on = || controller.of_node_queue("workqueue_depth") == 0.0;
    wait::until("a first pass", async || is_worked_on().then_some(())).await;
    let (began, changes) = (Instant::now(), || controller.of_node_queue("workqueue_adds_total"));
    for nth in 0..FLIPS {
        let before = changes();
        let pool = if nth % 2 == 0 { "db" } else { "web" };
        kubelet.patch("n2", &PatchParams::default(), &Patch::Merge(labels(pool))).await.expect("its own label");
        wait::until("a pass", async || (changes() > before && is_worked_on()).then_some(())).await;
    }
    // One when the Service came, ten at once, and one each ten seconds.
    let allowed = 1 + 10 + began.elapsed().as_secs() as usize / 10 + 1;
    let calls = cloud.about("s1").len();
    assert!((11..=allowed).contains(&calls) && allowed < FLIPS, "{calls} calls, {allowed} are allowed");
}
