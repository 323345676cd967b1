//! 500 nodes come, some go again, and meanwhile the process is killed ten times, and loses answers: at the end no two nodes
//! have one network, and none is taken that nobody has.
//!
//! A point is one write of one node that goes wrong: it never arrives, or its answer never comes, and with the last point
//! of each life the process dies. Which nodes and which faults comes from a seed, which a failure prints.
//! `AEROSTAT_SEED` repeats it; `AEROSTAT_POINTS` says how many points there are.

use std::time::{SystemTime, UNIX_EPOCH};

use http::Method;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults, Reply};
use tests::rig::nodes::nodes;
use tests::wait;
use tokio::sync::watch;

use crate::setup::{all_given, assert_distinct, begin, delete, join, join_all, options, start, takes};

const LIVES: usize = 10;
const NODES: usize = 500;
/// Points of all lives together.
const POINTS: usize = 30;
/// Nodes that go in each life, and come again under their names.
const REMADE: usize = 5;

#[tokio::test]
async fn no_network_is_given_twice_whatever_becomes_of_writes() {
    let seed = number("AEROSTAT_SEED")
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs());
    println!("to repeat it: AEROSTAT_SEED={seed}");
    let points = usize::try_from(number("AEROSTAT_POINTS").unwrap_or(POINTS as u64)).unwrap().div_ceil(LIVES);
    let cluster = cluster().await;
    let mut random = Random(seed);
    for life in 0..LIVES {
        live(&cluster, life, points, &mut random).await;
    }
    // Twelve blocks more than nodes: what leaks is missed.
    let last = start(&cluster, range()).await;
    let all = all_given(&cluster, NODES).await;
    assert_distinct(&all);
    takes(&last, NODES).await;
    nodes(&cluster)
        .delete_collection(&kube::api::DeleteParams::default(), &kube::api::ListParams::default())
        .await
        .unwrap();
    takes(&last, 0).await;
}

fn range() -> controllers::node_ipam::Options {
    options(&[("10.0.0.0/16", 25)])
}

/// One life of the process, up to its last point.
async fn live(cluster: &Cluster, life: usize, points: usize, random: &mut Random) {
    const EACH: usize = NODES / LIVES;
    let name = |nth: usize| format!("n{nth}");
    let own: Vec<_> = (life * EACH..(life + 1) * EACH).map(name).collect();
    let (faults, (_never, held)) = (Faults::new(), watch::channel(false));
    let mut dies_at = String::new();
    for _ in 0..points {
        dies_at.clone_from(&own[random.below(own.len())]);
        let reply = match random.below(4) {
            // Not even sent when the process dies.
            0 => Reply::Held(held.clone()),
            1 => Reply::Broken,
            2 => Reply::Status { code: 504, reason: "Timeout".to_owned(), message: "injected failure".to_owned() },
            _ => Reply::LostAnswer,
        };
        faults.set(Fault::new(Method::PATCH, &format!("^/api/v1/nodes/{dies_at}$"), reply).times(1));
    }
    // In half of the lives the nodes are there first.
    let comes_first = random.below(2) == 0;
    if comes_first {
        join_all(cluster, own.clone()).await;
    }
    let process = begin(cluster.faulty(&faults), range());
    if !comes_first {
        join_all(cluster, own).await;
    }
    for _ in 0..REMADE {
        let nth = random.below((life + 1) * EACH);
        delete(cluster, &name(nth)).await;
        join(cluster, &name(nth)).await;
    }
    let died = format!("/api/v1/nodes/{dies_at}");
    wait::until("the last point of this life", async || {
        faults.answered().iter().any(|it| it.uri == died).then_some(())
    })
    .await;
    drop(process);
}

#[expect(clippy::disallowed_methods, reason = "a seed that failed has to be given to the test")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|it| it.parse().expect("a number"))
}

/// The generator splitmix64: enough to choose places.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).expect("31 bits fit") % end
    }
}
