//! 500 nodes come, some go again, and meanwhile the binary is killed with `kill -9` in each of ten lives: at the end no two
//! nodes have one network, and none is taken that nobody has.
//!
//! A proxy stands before the API server. In two of three lives it does one of two things while networks are written: answers
//! are lost, so that the process does not know which of its writes have happened, and has to count its networks right all the
//! same; or requests are held up, and arrive once the next process has given networks to other nodes. When the process dies
//! comes from a seed, which is printed; `AEROSTAT_SEED` repeats it.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use kube::api::{DeleteParams, ListParams};
use serde_json::Value;
use tests::audit_log::Request;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults, Reply};
use tests::http_proxy::HttpProxy;
use tests::operator::{Process, Setup, admin_token};
use tests::proxy::Proxy;
use tests::random::Random;
use tests::rig::nodes::nodes;
use tests::{guests, wait};

use crate::setup::{all_given, assert_distinct, delete, join, join_all, networks};

const LIVES: usize = 10;
const NODES: usize = 500;
/// Nodes of each life.
const EACH: usize = NODES / LIVES;
/// Nodes that go in each life, and come again under their names.
const REMADE: usize = 5;
/// Twelve blocks more than nodes: what leaks is missed.
const FLAGS: [&str; 5] = [
    "--controllers=node-ipam-controller",
    "--allocate-node-cidrs",
    "--cluster-cidr=10.0.0.0/16",
    "--node-cidr-mask-size=25",
    "--leader-elect-retry-period=200ms",
];
/// How long a life waits for a write that may never come.
const PATIENCE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn kill_9_gives_no_network_twice_and_leaks_none() {
    let (mut random, seed) = Random::seeded();
    println!("to repeat it: AEROSTAT_SEED={seed}");
    let cluster = cluster().await;
    let (mut held, mut lost) = (None, 0);
    for life in 0..LIVES {
        let (proxy, doubted, ended) = live(&cluster, life, held, &mut random).await;
        println!("life {life}: {ended}");
        held = Some(proxy);
        lost += doubted;
    }
    assert!(lost > 0, "no write has happened whose answer was lost");
    let last = setup(&cluster, None);
    let process = last.start();
    let all = all_given(&cluster, NODES).await;
    // What was held up in the last life arrives now.
    held.into_iter().for_each(|it| it.release());
    assert_distinct(&all);
    let token = admin_token(&cluster).await;
    takes(&process, &token, NODES).await;
    assert_eq!(all_given(&cluster, NODES).await, all, "nothing was written over");
    nodes(&cluster).delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    takes(&process, &token, 0).await;
    process.stop().await;
}

/// The trouble of a life while networks are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Trouble {
    Nothing,
    LostAnswers,
    HeldRequests,
}

/// One life of the process. `held` is what its predecessor's requests were held up by. Returns that of its own, how many of its
/// writes have happened without its knowledge, and how it ended.
async fn live(cluster: &Cluster, life: usize, held: Option<Proxy>, random: &mut Random) -> (Proxy, usize, String) {
    let trouble = [Trouble::Nothing, Trouble::LostAnswers, Trouble::HeldRequests][life % 3];
    let own: Vec<_> = (life * EACH..(life + 1) * EACH).map(name).collect();
    let (early, late) = own.split_at(random.below(EACH / 2));
    join_all(cluster, early.to_vec()).await;
    let (proxy, faults) = (cluster.proxy().await, Faults::new());
    let http_proxy = HttpProxy::through(cluster.faulty(&faults)).await;
    let server = match trouble {
        Trouble::LostAnswers => http_proxy.url(),
        Trouble::Nothing | Trouble::HeldRequests => format!("https://{}", proxy.address()),
    };
    let own_setup = setup(cluster, Some(&server));
    let mut process = own_setup.start();
    process.says("started node-ipam-controller").await;
    // Its first networks are given out while the last life's are still on their way.
    let begun =
        wait::within(wait::DEADLINE, async || (given(cluster, early).await >= early.len().min(1)).then_some(()));
    assert!(begun.await.is_some(), "life {life} has given nothing to {} nodes", early.len());
    held.into_iter().for_each(|it| it.release());
    let mut doubted = 0;
    if trouble == Trouble::LostAnswers {
        doubted = lose_answers(cluster, &faults, late, random).await;
        // The process that has lost them counts right, and not only its successor.
        all_given(cluster, (life + 1) * EACH).await;
        takes(&process, &admin_token(cluster).await, (life + 1) * EACH).await;
    } else {
        let (some, rest) = late.split_at(random.below(late.len() + 1));
        join_all(cluster, some.to_vec()).await;
        if trouble == Trouble::HeldRequests {
            proxy.hold_requests();
        }
        join_all(cluster, rest.to_vec()).await;
        let wanted = random.below(EACH + 1);
        let _ = wait::within(PATIENCE, async || (given(cluster, &own).await >= wanted).then_some(())).await;
    }
    for _ in 0..REMADE {
        let name = name(random.below((life + 1) * EACH));
        delete(cluster, &name).await;
        join(cluster, &name).await;
    }
    let given = given(cluster, &own).await;
    let ended = format!("{trouble:?}, {doubted} writes doubted, killed when {given} of {EACH} had networks");
    process.kill_and_shorten_its_lease(cluster).await;
    (proxy, doubted, ended)
}

/// Loses the answers to some of what is written once these nodes have joined. Returns how many nodes the process had to read
/// because their write had happened.
async fn lose_answers(cluster: &Cluster, faults: &Faults, nodes: &[String], random: &mut Random) -> usize {
    let log = cluster.audit().from_now().unwrap();
    let count = 1 + random.below(nodes.len());
    faults.set(Fault::new(Method::PATCH, "/api/v1/nodes/", Reply::LostAnswer).times(count as u32));
    join_all(cluster, nodes.to_vec()).await;
    let all = async || (given(cluster, nodes).await == nodes.len()).then_some(());
    wait::until("all nodes have networks", all).await;
    log.settle(&cluster.admin).await.unwrap();
    doubted(&log.requests().unwrap())
}

/// How many nodes were read right after a write of theirs that had happened: only whoever got no answer does that.
fn doubted(requests: &[Request]) -> usize {
    let mut written = BTreeSet::new();
    let mut doubted = 0;
    for it in requests.iter().filter(|it| it.resource() == "nodes") {
        match it.verb.as_str() {
            "patch" if it.response.code == 200 => {
                written.insert(&it.object.name);
            }
            "get" => doubted += usize::from(written.remove(&it.object.name)),
            _ => {
                written.remove(&it.object.name);
            }
        }
    }
    doubted
}

fn name(nth: usize) -> String {
    format!("n{nth}")
}

/// The binary, with the API server behind a proxy at this address.
fn setup(cluster: &Cluster, server: Option<&str>) -> Setup {
    let mut setup = Setup::guest(cluster, guests::HOSTILE).flags(&FLAGS);
    if let Some(server) = server {
        let kubeconfig = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
        let mut kubeconfig: Value = serde_json::from_str(&kubeconfig).unwrap();
        kubeconfig["clusters"][0]["cluster"]["server"] = server.into();
        let path = setup.folder.write("kubeconfig", kubeconfig.to_string());
        setup.flags.retain(|it| !it.starts_with("--kubeconfig="));
        setup.flags.push(format!("--kubeconfig={}", path.display()));
    }
    setup
}

/// How many of these nodes have a network.
async fn given(cluster: &Cluster, names: &[String]) -> usize {
    let all = nodes(cluster).list(&ListParams::default()).await.unwrap();
    let has = |node: &&k8s_openapi::api::core::v1::Node| {
        node.metadata.name.as_ref().is_some_and(|it| names.contains(it)) && !networks(node).is_empty()
    };
    all.iter().filter(has).count()
}

/// Waits until so many blocks are taken, by the metrics.
async fn takes(process: &Process, token: &str, count: usize) {
    let mut last = None;
    let found = wait::within(wait::DEADLINE, async || {
        let page = process.get("/metrics", Some(token)).await.body;
        let value = |name: &str| -> Option<f64> {
            let line = page.lines().find(|it| it.starts_with(&format!("node_ipam_controller_{name}{{")))?;
            line.rsplit(' ').next()?.parse().ok()
        };
        last = Some(value("cidrset_usage_cidrs")? * value("cirdset_max_cidrs")?);
        (last?.round() == count as f64).then_some(())
    });
    assert!(found.await.is_some(), "{count} blocks should be taken, and {last:?} are");
}
