//! `kill -9` between any two requests about routes, while nodes come and go: in the end there is one route for each node's
//! network, and what is somebody else's is as it was.
//!
//! The binary runs with a provider over HTTP. Again and again it is killed, each time when the cloud has received, or has
//! carried out, the nth request about routes from then on; before, meanwhile and afterwards nodes join and leave, and
//! networks go from one node to another. Numbers come from a seed, which a failure prints; `AEROSTAT_SEED` repeats it, and
//! `AEROSTAT_POINTS` says how often the process is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::operator::{Process, Setup};
use tests::random::{self, Random};
use tests::script::{Route, Script, Side};
use tests::wait;

use crate::controller::{is, network, node_with, nodes};

/// How often the process is killed, unless `AEROSTAT_POINTS` says it.
const POINTS: u64 = 12;
/// Nodes that come and go.
const NODES: usize = 60;
/// How long it may take from one kill to the next, and to the end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it takes from one change of the nodes to the next.
const PACE: Duration = Duration::from_millis(200);
/// Lines of the log that a failure shows.
const LINES: usize = 60;
/// Routes go of nodes that went while nobody looked.
const FLAGS: [&str; 5] = [
    "--cluster-cidr=10.244.0.0/16",
    "--leader-elect-retry-period=200ms",
    "--route-reconciliation-period=5s",
    "--route-deletion-warm-up=0s",
    "--route-deletion-budget=100",
];

/// A cluster and a cloud in which the process is killed.
struct CrashTest {
    cluster: Cluster,
    script: Script,
    setup: Setup,
    random: Random,
    seed: u64,
    /// The nodes by the number of their network: networks go from one node to another.
    nodes: BTreeMap<usize, String>,
    /// How many nodes were made.
    made: usize,
    foreign: BTreeSet<Route>,
    log: Vec<String>,
}

#[tokio::test]
async fn kill_9_leaves_one_route_for_each_network_of_a_node() {
    let mut test = CrashTest::start().await;
    for _ in 0..random::number("AEROSTAT_POINTS").unwrap_or(POINTS) {
        test.kill_once().await;
    }
    test.end().await;
}

impl CrashTest {
    async fn start() -> Self {
        let cluster = cluster().await;
        let script = Script::start().await;
        let foreign = [
            Route::new("10.0.0.0/8", "gateway").foreign(),
            Route::new("10.244.250.0/24", "peering").foreign(),
            Route::new("10.9.0.0/24", "somebody's"),
            Route::new("0.0.0.0/0", "somebody's"),
        ];
        // What a cluster leaves that was switched off.
        let stale = (200..210).map(|nth| Route::new(&network(nth), "gone"));
        script.set_routes(foreign.iter().cloned().chain(stale));
        let mut setup = Setup::guest(&cluster, guests::SCRIPTED_NETWORK).flags(&FLAGS);
        setup.config["endpoints"] = json!([{
            "name": "script",
            "baseUrl": script.base_url(),
            "allow": [{ "methods": ["GET", "POST"], "paths": ["/routes"] }],
            "limits": { "requestsPerSecond": 1000, "concurrency": 100, "total": "5s" },
        }]);
        setup.config["provider"]["settings"] = json!({ "routeBatch": "5", "routeCalls": "2", "routePage": "25" });
        let (random, seed) = Random::seeded();
        let foreign = foreign.into_iter().collect();
        let mut test =
            Self { cluster, script, setup, random, seed, nodes: BTreeMap::new(), made: 0, foreign, log: Vec::new() };
        for nth in 0..NODES / 2 {
            test.join(nth).await;
        }
        test
    }

    /// Runs a process until it is killed at a request, while nodes come and go.
    async fn kill_once(&mut self) {
        let side = if self.random.below(2) == 0 { Side::Before } else { Side::After };
        let nth = 1 + self.random.below(9);
        let mut hold = self.script.hold_routes(nth, side);
        self.change(4).await;
        let mut process = self.setup.start();
        let deadline = Instant::now() + PATIENCE;
        // As long as it is not reached, nodes come and go.
        while tokio::time::timeout(PACE, hold.reached()).await.is_err() {
            self.change(1).await;
            if Instant::now() > deadline {
                self.read_log(&mut process, "=== not killed".to_owned());
                panic!("request {nth} about routes was not made within {PATIENCE:?}");
            }
        }
        self.read_log(&mut process, format!("=== killed at request {nth}, {side:?}"));
        process.kill_and_let_its_window_pass(&self.cluster).await;
        self.check();
    }

    /// At no time has a destination two routes, and nobody else's is ever touched.
    fn check(&self) {
        let routes = self.script.routes();
        let destinations: BTreeSet<_> = routes.iter().map(|it| &it.destination).collect();
        assert_eq!(destinations.len(), routes.len(), "{routes:?}");
        assert!(self.foreign.iter().all(|it| routes.contains(it)), "{routes:?}");
    }

    /// Runs a process that nobody kills.
    async fn end(mut self) {
        self.change(6).await;
        let mut process = self.setup.start();
        let foreign = self.foreign.iter().map(|it| (it.destination.clone(), it.next_hop.clone()));
        let own = self.nodes.iter().map(|(nth, name)| (network(*nth), name.clone()));
        let expected: BTreeSet<_> = foreign.chain(own).collect();
        let settled = wait::within(PATIENCE, async || (self.routes() == expected).then_some(())).await;
        let told = wait::within(PATIENCE, async || {
            let nodes = nodes(&self.cluster).list(&ListParams::default()).await.ok()?;
            nodes.iter().all(|it| is(it, "False RouteCreated")).then_some(())
        });
        let told = told.await;
        self.read_log(&mut process, "=== not killed".to_owned());
        assert!(settled.is_some(), "there should be {expected:#?}, and there are {:#?}", self.routes());
        assert!(told.is_some(), "every node has its route, and not every node says so");
        self.check();
        process.stop().await;
    }

    /// Destination and next hop of each route.
    fn routes(&self) -> BTreeSet<(String, String)> {
        self.script.routes().into_iter().map(|it| (it.destination, it.next_hop)).collect()
    }

    /// Has nodes join and leave.
    async fn change(&mut self, times: usize) {
        for _ in 0..times {
            let nth = self.random.below(NODES);
            match self.nodes.remove(&nth) {
                Some(name) => {
                    nodes(&self.cluster).delete(&name, &DeleteParams::default()).await.expect("the node is deleted");
                    // Its network goes to another node at once.
                    if self.random.below(3) == 0 {
                        self.join(nth).await;
                    }
                }
                None => self.join(nth).await,
            }
        }
    }

    async fn join(&mut self, nth: usize) {
        self.made += 1;
        let name = format!("node-{}", self.made);
        // In its cloud a route leads to the rest of the provider id.
        let mut node = node_with(&name, &[&network(nth)]);
        node.spec.get_or_insert_default().provider_id = Some(format!("fakecloud://{name}"));
        nodes(&self.cluster).create(&PostParams::default(), &node).await.expect("the node is created");
        self.nodes.insert(nth, name);
    }

    fn read_log(&mut self, process: &mut Process, ending: String) {
        while let Ok(entry) = process.aerostat.log.try_recv() {
            self.log.push(Value::Object(entry).to_string());
        }
        self.log.push(ending);
    }
}

impl Drop for CrashTest {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines = self.log.iter().rev().take(LINES).rev().cloned().collect::<Vec<_>>().join("\n  ");
            eprintln!("\nto repeat it: AEROSTAT_SEED={}\n  {lines}", self.seed);
        }
    }
}
