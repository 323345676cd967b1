//! Each replica replaces the module for itself, and one takes over from another in the middle of it.

use std::time::Duration;

use serde_json::json;
use tests::control_plane::cluster;
use tests::operator::Setup;
use tests::versioned::version;
use tests::{guests, wait};

use super::rig::{FAST, Rig, names};

/// How long it may take until everything is built, or gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Services, and nodes, that come at each handover.
const EACH: usize = 5;
/// When the leader ends, and whether it was asked to.
const HANDOVERS: [(&str, bool); 6] = [
    ("names another module", false),
    ("serves from now on", false),
    ("names another module", true),
    ("serves from now on", true),
    ("names another module", false),
    ("serves from now on", false),
];

impl Rig {
    /// The files of another replica, with the same config.
    fn replica(&self) -> Setup {
        let mut replica = Setup::guest(&self.cluster, guests::VERSIONED).flags(&FAST);
        replica.flags.extend(["--module-look=200ms", "--module-trial=10m"].map(str::to_owned));
        replica.config = self.setup.config.clone();
        replica
    }

    /// Puts a version into the registry, and names it in the config of each replica. Returns its digest.
    async fn comes_to(&self, replicas: &mut [Setup], words: &str) -> String {
        let digest = self.push(&version(words)).await;
        for replica in replicas {
            replica.rewrite(|it| it["provider"]["module"] = self.module(&digest));
        }
        digest
    }
}

#[tokio::test]
async fn a_standby_replica_prepares_and_swaps_once_it_leads() {
    let rig = Rig::over(cluster().await, "version=1.0.0").await;
    let mut replicas = [rig.replica(), rig.replica()];
    let mut leader = replicas[0].started().await;
    let mut standby = replicas[1].start();
    standby.says("standing by").await;
    rig.create(&names("web", 0..EACH)).await;
    let digest = rig.comes_to(&mut replicas, "version=1.1.0 sizes").await;
    leader.says("versioned 1.1.0 serves from now on").await;
    wait::until("the standby has fetched and compiled it, and asks the cloud nothing", async || {
        let page = rig.page(&standby).await;
        (page["state"] == json!("described")).then_some(page)
    })
    .await;
    let page = rig.page(&standby).await;
    assert_eq!((&page["version"], &page["quarantine"]), (&json!("1.0.0"), &json!(null)));
    assert_eq!(page["candidate"]["digest"], json!(format!("sha256:{digest}")));

    leader.kill_and_shorten_its_lease(&rig.cluster).await;
    standby.says("versioned 1.1.0 serves from now on").await;
    rig.joins("worker-1").await;
    assert_eq!(rig.page(&standby).await["state"], json!("on-trial"), "its trial is its own");
    rig.cloud.finish_balancers();
    rig.settles(names("web", 0..EACH), PATIENCE).await;
    assert_eq!(rig.cloud.made(), EACH);
    standby.stop().await;
}

/// Cases: swap under load
#[tokio::test]
async fn a_handover_during_a_swap_loses_nothing() {
    let rig = Rig::over(cluster().await, "version=1.0.0").await;
    rig.cloud.set_latency(Duration::from_millis(20));
    let mut replicas = [rig.replica(), rig.replica()];
    let mut leader = replicas[0].started().await;
    let mut standby = replicas[1].start();
    standby.says("standing by").await;
    for (turn, (moment, is_asked)) in HANDOVERS.into_iter().enumerate() {
        let minor = turn + 1;
        rig.comes_to(&mut replicas, &format!("version=1.{minor}.0 {}", ["sizes", ""][turn % 2])).await;
        let numbers = turn * EACH..minor * EACH;
        let (services, nodes) = (names("web", numbers.clone()), names("worker", numbers));
        tokio::join!(rig.create(&services), rig.join(&nodes));
        leader.says(moment).await;
        match is_asked {
            true => leader.stop().await,
            false => leader.kill_and_shorten_its_lease(&rig.cluster).await,
        }
        standby.says(&format!("versioned 1.{minor}.0 serves from now on")).await;
        leader = standby;
        standby = replicas[turn % 2].start();
        standby.says("standing by").await;
    }
    rig.cloud.finish_balancers();
    let all = names("web", 0..HANDOVERS.len() * EACH);
    rig.settles(all.clone(), PATIENCE).await;
    assert_eq!(rig.cloud.made(), all.len(), "one was made for each Service");
    rig.delete(&all).await;
    rig.settles(Vec::new(), PATIENCE).await;
    assert_eq!(rig.cloud.made(), all.len());
    tokio::join!(leader.stop(), standby.stop());
}
