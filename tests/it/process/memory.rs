//! Memory of a provider's calls, all at once.

use std::fs;

use serde_json::json;
use tests::control_plane::cluster;
use tests::{guests, kubelet, wait};

use crate::setup::Setup;

/// Calls about nodes that are made at once.
const GUESTS: usize = 100;
/// All places for calls: a quarter of them is kept for calls about load balancers.
const PLACES: usize = 136;

/// The limit of each guest, and the size that it takes, in mebibytes. The difference is its stack, its code and its
/// data.
const LIMIT: usize = 8;
const TAKEN: usize = 6;

/// A field of `/proc/PID/status` in mebibytes, rounded up.
fn status(pid: u32, field: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap().div_ceil(1 << 10)
}

#[tokio::test]
async fn adv_122_a_hundred_guests_at_their_limit_stay_in_bounds() {
    let cluster = cluster().await;
    let workers = format!("--concurrent-node-syncs={GUESTS}");
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&[&workers]).edit(|config| {
        config["provider"]["limits"] = json!({ "concurrency": PLACES, "memory": format!("{LIMIT}Mi") });
    });
    let mut process = setup.start();
    // Beside the guests' memory 14 MiB each; there is no endpoint, and so no answer.
    process.says(&format!("take at most {} MiB of memory: {PLACES} at once", PLACES * (LIMIT + 14))).await;
    process.says("started cloud-node-controller").await;
    let pid = process.aerostat.pid();
    let before = status(pid, "VmRSS");
    for number in 0..GUESTS {
        kubelet::join(&cluster.admin, &format!("hold-memory.{TAKEN}.{number}")).await.unwrap();
    }
    wait::until("all guests hold their memory at once", async || {
        (status(pid, "VmRSS") >= before + GUESTS * TAKEN).then_some(())
    })
    .await;
    let most = status(pid, "VmHWM");
    println!("{before} MiB before, {most} MiB at most with {GUESTS} guests of {LIMIT} MiB");
    // What manager/cloud/memory.rs reckons with, for this process and for each call.
    assert!(most <= 128 + GUESTS * (LIMIT + 10), "{most} MiB");
    process.kill();
}
