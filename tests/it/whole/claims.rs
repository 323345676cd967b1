//! `kill -9` between any two requests about disks: there is one for each claim, at one machine, and none after the claim.
//!
//! Claims come, their disks are attached, move to another machine and grow, and all of it goes. Meanwhile aerostat is killed again and again, each
//! time when the cloud has received, or has carried out, the nth request from then on, and one in so many requests fails: its answer is
//! lost before or after the cloud has done it. Lists are late. In some phases, by turns, the next process finds another account's credential
//! for a while, or lists without any disk. For each claim that was not yet as desired this is one point at which the process died. Numbers and faults
//! come from a seed, which a failure prints; `AEROSTAT_SEED` repeats it. `AEROSTAT_POINTS` says how many points there are to be.
//!
//! Users, kube-controller-manager and kubelets are played by the test.
//!
//! Cases: kill-9-volumes

mod objects;
mod run;

use tests::random;
use tests::vendor::{DigitalOcean, Hetzner};

use self::run::DiskCrash;

/// How often the process is killed in a phase of the long run, and of the short one, which has one round.
const KILLS: (usize, usize) = (2, 1);

#[tokio::test]
async fn kill_9_leaves_one_disk_for_each_claim() {
    DiskCrash::<DigitalOcean>::start(kills()).await.run(points()).await;
}

#[tokio::test]
async fn kill_9_leaves_one_disk_for_each_claim_at_hetzner() {
    DiskCrash::<Hetzner>::start(kills()).await.run(points()).await;
}

fn kills() -> usize {
    if random::number("AEROSTAT_POINTS").is_some() { KILLS.0 } else { KILLS.1 }
}

fn points() -> u64 {
    random::number("AEROSTAT_POINTS").unwrap_or(1)
}
