//! `kill -9` between any two requests about load balancers: there is one for each Service, and none after its deletion.
//!
//! Ten Services are created, changed and deleted. Meanwhile aerostat is killed again and again, each time when the cloud has
//! received, or has carried out, the nth request from then on. For each Service that was not yet as its user wants it this is
//! one point at which the process died. Numbers and faults come from a seed, which a failure prints; `AEROSTAT_SEED`
//! repeats it.
//!
//! Cases: kill-9

mod run;

use std::time::Duration;

use tests::simulator::Chaos;
use tests::vendor::{Behaviour, Creation, DigitalOcean, Hetzner, Vendor};

use self::run::CrashTest;

/// How many points each test is to try, of two hundred together.
const POINTS: usize = 110;

#[tokio::test]
async fn kill_9_leaves_one_load_balancer_for_each_service() {
    in_a_working_cloud::<DigitalOcean>().await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_hetzner() {
    in_a_working_cloud::<Hetzner>().await;
}

#[tokio::test]
async fn kill_9_in_a_failing_cloud_leaves_one_load_balancer_each() {
    in_a_failing_cloud::<DigitalOcean>().await;
}

#[tokio::test]
async fn kill_9_in_a_failing_hetzner_leaves_one_each() {
    in_a_failing_cloud::<Hetzner>().await;
}

async fn in_a_working_cloud<V: Vendor>() {
    let behaviour = Behaviour { creation: Creation::Takes(Duration::from_secs(1)), ..Behaviour::default() };
    CrashTest::<V>::start(behaviour, None).await.run(POINTS).await;
}

async fn in_a_failing_cloud<V: Vendor>() {
    let behaviour = Behaviour {
        creation: Creation::Reads(2),
        names_are_unique: false,
        lists_late_by: Duration::from_secs(1),
        ..Behaviour::default()
    };
    let chaos = |seed| Chaos { seed, one_in: 12, hangs: true };
    CrashTest::<V>::start(behaviour, Some(chaos)).await.run(POINTS).await;
}
