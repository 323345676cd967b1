//! A real Pod: the release's image, pulled by containerd from a registry, started by a kubelet where the scheduler wants it.
//!
//! `make test-pod` runs it, as root. One story, because each step begins with what the one before has made, and because a
//! cluster with two machines takes half a minute until it is there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compiler;
mod hand_over;
mod hung;
mod joining;
mod restricted;
mod seen;
mod update;

use std::time::Instant;

use futures::FutureExt as _;
use tests::pod::{Installation, Site};

use crate::compiler::Compilers;

/// How many machines the control plane has.
const MACHINES: usize = 2;

/// The time of the story, and of its steps.
struct Clock {
    began: Instant,
    last: Instant,
}

impl Clock {
    fn new() -> Self {
        Self { began: Instant::now(), last: Instant::now() }
    }

    /// Says how long the step took that has ended.
    fn step(&mut self, what: &str) {
        eprintln!("{:7.1} s  {what}: {:.1} s", self.began.elapsed().as_secs_f64(), self.last.elapsed().as_secs_f64());
        self.last = Instant::now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_real_pod_initialises_its_own_node() {
    let mut clock = Clock::new();
    let mut site = Site::open(MACHINES).await.unwrap();
    eprintln!("           the image: {:?}", site.release.size);
    clock.step("control plane, cloud, and a registry with the release");
    for _ in 0..MACHINES {
        joining::waits_for_the_cloud(&site.join().await.unwrap());
    }
    clock.step("two machines have joined");
    let told = std::panic::AssertUnwindSafe(story(&site, &mut clock)).catch_unwind().await;
    if let Err(panic) = told {
        eprintln!("{}", site.told());
        std::panic::resume_unwind(panic);
    }
    let folders: Vec<_> = site.machines.iter().map(|it| it.folder().to_owned()).collect();
    site.close().await.unwrap();
    for folder in folders {
        restricted::nothing_is_left(&folder);
    }
    clock.step("machines and control plane have ended, and nothing is left");
}

/// All that happens while machines run.
async fn story(site: &Site, clock: &mut Clock) {
    let compilers = Compilers::watch(site);
    let installed = Instant::now();
    let installation = Installation::new(site).await.unwrap();
    clock.step("helm install");
    let node = joining::first_initialised(site).await;
    eprintln!("           {node} is initialised {:.1} s after helm was called", installed.elapsed().as_secs_f64());
    joining::all_are_initialised(site).await;
    clock.step("nodes are initialised");
    for number in 0..MACHINES {
        site.install_network(number).await.unwrap();
    }
    joining::nodes_are_ready(site).await;
    let pods = joining::pods_are_ready(site, MACHINES).await;
    joining::one_on_each_machine(site, &pods);
    clock.step("nodes and Pods are ready");

    compilers.were_confined(site).await;
    restricted::processes_have_no_rights(site);
    restricted::files_are_readable_and_root_is_not_writable(site);
    restricted::probes_are_answered(site).await;
    clock.step("what the Pods may do");

    hand_over::drain(site, &installation).await;
    clock.step("a drained node hands the Lease over");
    update::rolls(site, &installation).await;
    clock.step("rolling update");
    hung::leader_is_replaced_and_restarted(site).await;
    clock.step("a process that hangs");
    site.cloud.assert_valid();
    installation.uninstall().unwrap();
    clock.step("helm uninstall");
}
