//! Another replica, and the same one after a restart: nothing is asked or written twice.
//!
//! Cases: replicas

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, Vendor};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, service};

/// How long a thousand nodes may take to join on a machine that is busy with other things.
const JOIN: Duration = Duration::from_secs(240);
/// How long a list of machines counts for nodes.
const FRESH: Duration = Duration::from_secs(10);

#[tokio::test]
async fn after_sigterm_another_replica_leads_within_five_seconds() {
    another_replica_leads_soon::<DigitalOcean>().await;
}

#[tokio::test]
async fn after_sigterm_another_replica_leads_hetzner_soon() {
    another_replica_leads_soon::<Hetzner>().await;
}

async fn another_replica_leads_soon<V: Vendor>() {
    let mut rig = CloudRig::<V>::with(Behaviour::default()).await;
    // The usual times: what helps is that the Lease is given back.
    rig.setup.flags.retain(|it| !it.starts_with("--leader-elect"));
    let leader = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("web", &[80], &[])).await;
    rig.served("web").await;
    let mut other = V::setup(&rig.cluster, &rig.cloud);
    other.config = rig.setup.config.clone();
    let mut standby = other.start();
    standby.says("standing by").await;

    leader.stop().await;
    let released = Instant::now();
    standby.says("started service-lb-controller").await;
    // A Lease that was not given back lasts fifteen seconds.
    assert!(released.elapsed() < Duration::from_secs(10), "{:?}", released.elapsed());
    rig.ports("web", &[80, 81]).await;
    wait::until("the other replica works", async || (rig.only_built().ports.len() == 2).then_some(())).await;
    standby.stop().await;
}

#[tokio::test]
async fn a_restart_with_1000_nodes_costs_ten_requests_and_no_write() {
    a_restart_asks_little_and_writes_nothing::<DigitalOcean>(10, 1_000 / 200).await;
}

#[tokio::test]
async fn a_restart_with_1000_nodes_at_hetzner_costs_one_list() {
    // A page of the cloud has 50 machines.
    a_restart_asks_little_and_writes_nothing::<Hetzner>(1_000 / 50 + 3, 1_000 / 50).await;
}

/// `most` is how many requests to the cloud a restart may cost, and `list` how many of them are one list. A list counts for ten seconds: where
/// the nodes take longer than that, the last of them need another one.
async fn a_restart_asks_little_and_writes_nothing<V: Vendor>(most: usize, list: usize) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.flags(&["--concurrent-node-syncs=20"]);
    let process = rig.start().await;
    rig.join(1_000).await;
    let nodes: Api<Node> = Api::all(rig.cluster.admin.clone());
    let initialised = wait::within(JOIN, async || {
        let all = nodes.list(&ListParams::default()).await.unwrap().items;
        (all.len() == 1_000 && !all.iter().any(kubelet::is_uninitialized)).then_some(())
    });
    assert!(initialised.await.is_some(), "a thousand nodes join");
    process.stop().await;

    let (asked, audit) = (rig.cloud.requests().len(), rig.cluster.audit().from_now().unwrap());
    let process = rig.start().await;
    rig.cloud.wait_for("the first list of all nodes", |requests| requests.len() >= asked + 5).await;
    let requests = || rig.cloud.requests().split_off(asked);
    rig.never(Duration::from_secs(15), async || {
        let all = requests();
        let stale = all[0].at + FRESH;
        let soon = all.iter().filter(|it| it.at < stale).count();
        (soon > most || all.len() > most + list).then(|| format!("{all:?}"))
    })
    .await;
    process.stop().await;
    audit.settle(&rig.cluster.admin).await.unwrap();
    let writes: Vec<_> = audit.writes().unwrap().iter().map(|it| format!("{} {}", it.verb, it.uri)).collect();
    assert_eq!(writes, [""; 0]);
}
