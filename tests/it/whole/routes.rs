//! Routes at Hetzner, with the binary between a cluster and a cloud that takes one change of a network at a time: `kill -9`
//! at requests that change routes, while networks of pods go from one node to another.
//!
//! Cases: kill-9

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use tests::clouds::hetzner::{Route, Taking};
use tests::kubelet;
use tests::random::{self, Random};
use tests::simulator::Side;
use tests::vendor::hetzner::NETWORK_ID;
use tests::vendor::{Behaviour, Hetzner, Vendor};
use tests::wait;

use crate::setup::{CloudRig, is_write, worker};

/// How often the process is killed, unless `AEROSTAT_POINTS` says it.
const POINTS: u64 = 10;
/// Networks of pods, each with a node.
const NETWORKS: u64 = 12;
const PATIENCE: Duration = Duration::from_secs(60);
const FLAGS: [&str; 4] = [
    "--cluster-cidr=10.244.0.0/16",
    "--route-reconciliation-period=5s",
    "--route-deletion-warm-up=0s",
    "--route-deletion-budget=100",
];

/// A cluster and a cloud in which the process is killed.
struct CrashTest {
    rig: CloudRig<Hetzner>,
    /// The machine behind each network of pods.
    machines: BTreeMap<u64, u64>,
    foreign: Vec<Route>,
}

fn destination(network: u64) -> String {
    format!("10.244.{network}.0/24")
}

/// The private address of a machine.
fn gateway(machine: u64) -> String {
    let [.., high, low] = (machine + 1).to_be_bytes();
    format!("10.0.{high}.{low}")
}

impl CrashTest {
    async fn start() -> Self {
        let rig = CloudRig::<Hetzner>::with(Behaviour::default()).await.flags(&FLAGS);
        rig.cloud.account().behave(|behaviour| {
            behaviour.locks = true;
            behaviour.actions = Taking::Time(Duration::from_millis(200));
        });
        // Outside of --cluster-cidr.
        let foreign = vec![Route::new("10.9.0.0/24", &gateway(1)), Route::new("192.168.7.0/24", "10.0.200.200")];
        rig.cloud.networks().update(NETWORK_ID, |it| it.routes.clone_from(&foreign));
        let mut test = Self { rig, machines: BTreeMap::new(), foreign };
        for network in 0..NETWORKS {
            test.join(network, network + 1).await;
        }
        test
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.rig.cluster.admin.clone())
    }

    /// A machine comes, and its node with a network of pods.
    async fn join(&mut self, network: u64, machine: u64) {
        self.rig.add_machine(machine);
        let mut node = kubelet::node(&worker(machine));
        let spec = node.spec.get_or_insert_default();
        spec.pod_cidr = Some(destination(network));
        spec.pod_cidrs = Some(vec![destination(network)]);
        kubelet::join_as(&self.rig.cluster.admin, node).await.unwrap();
        self.machines.insert(network, machine);
    }

    /// A network of pods goes to another machine.
    async fn moves(&mut self, network: u64) {
        let before = self.machines[&network];
        self.nodes().delete(&worker(before), &DeleteParams::default()).await.unwrap();
        Hetzner::remove_machine(self.rig.cloud.account(), before);
        let after = self.machines.values().max().unwrap() + 1;
        self.join(network, after).await;
    }

    fn routes(&self) -> Vec<Route> {
        self.rig.cloud.networks().routes(NETWORK_ID)
    }

    /// At no time has a destination two routes, and nobody else's is ever touched.
    fn check(&self) {
        let routes = self.routes();
        let destinations: BTreeSet<_> = routes.iter().map(|it| &it.destination).collect();
        assert_eq!(destinations.len(), routes.len(), "{routes:?}");
        assert!(self.foreign.iter().all(|it| routes.contains(it)), "{routes:?}");
    }

    /// Waits until each network has its route, and each node says so.
    async fn settles(&self) {
        let own = self.machines.iter().map(|(network, machine)| Route::new(&destination(*network), &gateway(*machine)));
        let expected: BTreeSet<_> = self.foreign.iter().cloned().chain(own).collect();
        let settled = wait::within(PATIENCE, async || {
            (self.routes().into_iter().collect::<BTreeSet<_>>() == expected).then_some(())
        });
        assert!(settled.await.is_some(), "{:#?} instead of {expected:#?}", self.routes());
        for machine in self.machines.values() {
            let name = worker(*machine);
            wait::until(&format!("node {name} has its route"), async || {
                let node = self.nodes().get(&name).await.ok()?;
                let conditions = node.status?.conditions?;
                conditions.iter().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False").then_some(())
            })
            .await;
        }
    }
}

#[tokio::test]
async fn kill_9_leaves_hetzner_one_route_for_each_network() {
    let mut test = CrashTest::start().await;
    let (mut random, seed) = Random::seeded();
    for point in 0..random::number("AEROSTAT_POINTS").unwrap_or(POINTS) {
        let side = if random.below(2) == 0 { Side::Before } else { Side::After };
        let nth = 1 + random.below(3);
        let hold = test.rig.cloud.hold(nth, side, |it| is_write(it) && it.path.starts_with("/v1/networks/"));
        let networks = [random.below(6), 6 + random.below(6)];
        for network in networks {
            test.moves(network as u64).await;
        }
        let process = test.rig.setup.start();
        let reached = tokio::time::timeout(PATIENCE, hold.reached()).await;
        assert!(reached.is_ok(), "AEROSTAT_SEED={seed}: point {point} was not reached");
        process.kill_and_let_its_window_pass(&test.rig.cluster).await;
        hold.cut();
        test.check();
    }
    let process = test.rig.setup.start();
    test.settles().await;
    test.check();
    process.stop().await;
}
