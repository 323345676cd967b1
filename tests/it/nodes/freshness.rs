//! The watch of nodes never goes back in time, and does not stay behind.

use std::time::{Duration, Instant};

use controllers::Nodes;
use http::Method;
use kube::Client;
use kube::api::DeleteParams;
use serde_json::json;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults, Reply};
use tests::kubelet;
use tests::lagging::{self, Recorded};
use tests::wait;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::controller::{create, nodes, patch};

/// The resourceVersion of a node, if it is known.
fn version(nodes: &Nodes, name: &str) -> Option<u64> {
    let node = nodes.all().into_iter().find(|it| it.metadata.name.as_deref() == Some(name))?;
    node.metadata.resource_version.as_deref()?.parse().ok()
}

/// How long a watch lasts in these tests; by default it is 40 s.
const LASTS: Duration = Duration::from_secs(3);

/// The pauses of a watch that gets older lists, of which each failure doubles the next.
const BACK_OFF: Duration = Duration::from_secs(20);

/// Nodes that are watched for as long as the second value lives.
fn watched(client: Client) -> (Nodes, JoinSet<()>) {
    let (nodes, watch) = Nodes::watch_in_turns(client, "the API server".to_owned(), LASTS);
    let mut task = JoinSet::new();
    task.spawn(async { match watch.await {} });
    (nodes, task)
}

#[tokio::test]
async fn an_older_list_makes_no_node_vanish_or_go_back() {
    older_list(&Faults::new()).await;
}

#[tokio::test]
async fn an_older_page_makes_no_node_vanish_or_go_back() {
    let faults = Faults::new();
    lagging::refuse_streams(&faults);
    older_list(&faults).await;
}

async fn older_list(faults: &Faults) {
    let cluster = cluster().await;
    let proxy = cluster.proxy().await;
    create(&cluster, &kubelet::node("n1")).await;
    let older = Recorded::now(&cluster.admin, "nodes").await;
    create(&cluster, &kubelet::node("n2")).await;
    patch(&cluster, "n1", json!({ "metadata": { "labels": { "is": "newer" } } })).await;
    let (known, _watch) = watched(cluster.through(&proxy, faults));
    let before = wait::until("both nodes are known", async || version(&known, "n1").zip(version(&known, "n2"))).await;

    older.answer(faults, 2);
    // Whoever believes the older list does not learn better from the watch that follows it.
    let (free, held) = watch::channel(false);
    let resumed = r"/nodes\?.*allowWatchBookmarks=true&resourceVersion=";
    faults.set(Fault::new(Method::GET, resumed, Reply::Held(held)));
    proxy.cut();
    wait::until("a list is answered with the older one", async || (Recorded::answered(faults) > 0).then_some(())).await;
    create(&cluster, &kubelet::node("n3")).await;
    wait::until_after(BACK_OFF, "the next node is known", async || {
        assert_eq!(version(&known, "n1").zip(version(&known, "n2")), Some(before), "nodes went back in time");
        version(&known, "n3")
    })
    .await;
    free.send_replace(true);
    nodes(&cluster).delete("n2", &DeleteParams::default()).await.expect("the node is there");
    wait::until("what is really gone is gone", async || version(&known, "n2").is_none().then_some(())).await;
}

#[tokio::test]
async fn a_silent_connection_is_given_up_and_new_nodes_are_seen() {
    let cluster = cluster().await;
    let proxy = cluster.proxy().await;
    let (known, _watch) = watched(cluster.through(&proxy, &Faults::new()));
    // The list has the first, and the watch that follows shows the second: it is open then.
    for name in ["n1", "n2"] {
        create(&cluster, &kubelet::node(name)).await;
        wait::until("the node is known", async || version(&known, name)).await;
    }
    for name in ["n3", "n4"] {
        proxy.silence();
        let silent = Instant::now();
        create(&cluster, &kubelet::node(name)).await;
        wait::until("the node is known", async || version(&known, name)).await;
        assert!(silent.elapsed() < 3 * LASTS, "{:?}", silent.elapsed());
    }
}
