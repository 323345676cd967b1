//! `kill -9` between any two requests about load balancers: there is one for each Service, and none after its deletion.
//!
//! Services are created, changed and deleted, all at once. Meanwhile aerostat is killed again and again, each time when the cloud has
//! received, or has carried out, the nth request from then on. For each Service that was not yet as its user wants it this is
//! one point at which the process died. Numbers and faults come from a seed, which a failure prints; `AEROSTAT_SEED`
//! repeats it. `AEROSTAT_POINTS` says how many points there are to be, and `AEROSTAT_PENDING` how many seconds each change of a load
//! balancer of OpenStack, IBM Cloud and Alibaba Cloud, and each operation of Azure and Google Cloud, takes.
//!
//! Cases: kill-9

mod run;

use std::time::Duration;

use tests::random;
use tests::vendor::{
    AlibabaCloud, Aws, AzureCloud, Behaviour, Creation, DigitalOcean, GoogleCloud, Hetzner, IbmCloud, OpenStack, Vendor,
};

use self::run::CrashTest;

/// How many points each test tries at least, unless `AEROSTAT_POINTS` says it: few, so that `make test` stays short.
const POINTS: u64 = 15;

#[tokio::test]
async fn kill_9_leaves_one_load_balancer_for_each_service() {
    in_a_failing_cloud::<DigitalOcean>(12, &[]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_hetzner() {
    in_a_failing_cloud::<Hetzner>(12, &[]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_aws() {
    // A call makes three times as many requests as elsewhere. Each load balancer has a security group of its own, too.
    in_a_failing_cloud::<Aws>(36, &[("loadBalancers.nlbSecurityGroupMode", "Managed")]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_azure() {
    // A public address, parts of a load balancer that all share, and a security rule: each write is an operation.
    in_a_cloud_that_takes::<AzureCloud>(pending(), 36, &[("gatherMilliseconds", "100")]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_openstack() {
    // Each change is made in one write after the other, and the load balancer is PENDING meanwhile.
    in_a_cloud_that_takes::<OpenStack>(pending(), 36, &[]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_google_cloud() {
    // Each write has an operation. Half of the Services share a health check and an instance group, the others a check of another kind.
    in_a_cloud_that_takes::<GoogleCloud>(pending(), 36, &[]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_ibm_cloud() {
    // One request makes a load balancer with everything in it, and each change afterwards waits for the one before.
    in_a_cloud_that_takes::<IbmCloud>(pending(), 36, &[]).await;
}

#[tokio::test]
async fn kill_9_leaves_one_for_each_service_at_alibaba_cloud() {
    // Half of the Services have a Network Load Balancer, whose changes are jobs, and groups that stand by themselves.
    in_a_cloud_that_takes::<AlibabaCloud>(pending(), 36, &[]).await;
}

async fn in_a_failing_cloud<V: Vendor>(one_in: u64, settings: &[(&str, &str)]) {
    in_a_cloud_that_takes::<V>(Creation::Reads(2), one_in, settings).await;
}

/// One in so many requests fails, lists are late, and a name can be had twice where the cloud leaves it open.
async fn in_a_cloud_that_takes<V: Vendor>(creation: Creation, one_in: u64, settings: &[(&str, &str)]) {
    let behaviour =
        Behaviour { creation, names_are_unique: false, lists_late_by: Duration::from_secs(1), ..Behaviour::default() };
    let settings = [V::FAST, settings].concat();
    CrashTest::<V>::start(behaviour, one_in, &settings).await.run(points()).await;
}

/// How long a change takes where clouds take their time.
fn pending() -> Creation {
    let pending = random::number("AEROSTAT_PENDING").map(Duration::from_secs);
    pending.map_or(Creation::Reads(2), Creation::Takes)
}

fn points() -> u64 {
    random::number("AEROSTAT_POINTS").unwrap_or(POINTS)
}
