//! `kill -9` in the middle of swaps: nothing is lost, there is one load balancer for each Service, and none after its deletion.
//!
//! In each life of the process another version comes, while Services and nodes come and go, and the process is killed: after it
//! has seen the config, or while the version is on trial; in the other run a version crashes on trial, and the process is killed
//! before it is rolled back, or after. When exactly comes from a seed, which a failure prints; `AEROSTAT_SEED` repeats it, and
//! `AEROSTAT_POINTS` says at how many points the process dies in both runs together. A point counts only if a swap was under way,
//! by the log of the process that died.

use std::time::Duration;

use serde_json::{Map, Value};
use tests::aerostat::message;
use tests::control_plane::cluster;
use tests::operator::{Process, event, forget_writes, shorten_lease};
use tests::random::{self, Random};

use super::rig::{FAST, Heard, LEASE, Rig, names};

/// At how many points the process dies in both runs together, unless `AEROSTAT_POINTS` says it.
const POINTS: u64 = 12;
/// So many of the Services that are there stay.
const STAY: usize = 6;
/// How long the cloud takes for a request.
const LATENCY: Duration = Duration::from_millis(20);
/// After how many reads a load balancer is built.
const READS: usize = 5;
/// Without a sign of life for so long, the process is killed where it is.
const QUIET: Duration = Duration::from_secs(1);
/// How long it may take until everything is built, or gone.
const END: Duration = Duration::from_secs(90);
/// The next step in the quarantine's message if no earlier version is kept.
const NEXT: &str = "name a sound version in provider.module of --cloud-config";

/// A cluster and a cloud in which the process is killed.
struct KillRun {
    rig: Rig,
    random: Random,
    seed: u64,
    points: u64,
    lives: usize,
    heard: Heard,
    /// The Services that should be there, and how many there were.
    services: Vec<String>,
    made: usize,
    joined: usize,
    /// Whether the config names a version that crashes.
    is_fragile: bool,
}

/// Cases: swap under load
#[tokio::test]
async fn kill_9_in_the_middle_of_swaps_loses_nothing() {
    let points = all_points().div_ceil(2);
    let mut run = KillRun::start().await;
    while run.points < points {
        run.live(KillRun::sound_version).await;
        println!("in the middle of swaps: {} points in {} lives", run.points, run.lives);
    }
    run.end().await;
}

/// Cases: swap under load
#[tokio::test]
async fn kill_9_between_swap_and_rollback_loses_nothing() {
    let points = all_points() / 2;
    let mut run = KillRun::start().await;
    while run.points < points {
        if run.is_fragile {
            run.live(KillRun::rescue).await;
        } else {
            run.live(KillRun::fragile_version).await;
        }
        println!("between swap and rollback: {} points in {} lives", run.points, run.lives);
    }
    run.end().await;
}

fn all_points() -> u64 {
    random::number("AEROSTAT_POINTS").unwrap_or(POINTS)
}

impl KillRun {
    async fn start() -> Self {
        let (random, seed) = Random::seeded();
        let mut rig = Rig::over(cluster().await, "version=1.0.0").await;
        rig.setup.flags.extend(FAST.map(str::to_owned));
        rig.setup.flags.push("--module-trial=20s".to_owned());
        rig.cloud.set_latency(LATENCY);
        rig.cloud.finish_after(READS);
        let heard = Heard::default();
        Self { rig, random, seed, points: 0, lives: 0, heard, services: vec![], made: 0, joined: 0, is_fragile: false }
    }

    /// One life of the process: it loads what the config names, and then `story` leads to the moment at which it is killed.
    async fn live(&mut self, story: impl AsyncFn(&mut Self, &mut Process) -> Option<()>) {
        self.lives += 1;
        assert!(self.lives < 600, "the process does not die in the middle of swaps");
        let mut process = self.rig.setup.start();
        let begin = self.heard.0.len();
        self.heard.says(&mut process, "provider versioned ").await;
        // It ends by itself, as it must, when the machine is so slow that the Lease is lost.
        let has_ended = story(self, &mut process).await.is_none();
        self.heard.0.extend(process.aerostat.killed().await);
        shorten_lease(&self.rig.cluster).await;
        forget_writes(&self.rig.cluster).await;
        let is_point = !has_ended && is_under_way(&self.heard.0[begin..]);
        self.points += u64::from(is_point);
        let says = [("message".to_owned(), format!("=== killed; it counts: {is_point}").into())];
        self.heard.0.push(says.into_iter().collect());
        self.check_once();
    }

    /// A sound version comes.
    async fn sound_version(&mut self, process: &mut Process) -> Option<()> {
        let words = ["", "sizes"][self.random.below(2)];
        self.rig.comes(&format!("version=1.{}.0 {words}", self.lives)).await;
        self.is_fragile = false;
        self.change(1).await;
        let moment = ["names another module", "serves from now on"][self.random.below(2)];
        self.heard.hears(process, moment).await?;
        self.signs(process, 40).await
    }

    /// A version comes that crashes on trial, and is rolled back.
    async fn fragile_version(&mut self, process: &mut Process) -> Option<()> {
        self.rig.cloud.becomes_old();
        self.rig.comes(&format!("version=1.{}.1 fragile", self.lives)).await;
        self.is_fragile = true;
        self.change(1).await;
        self.heard.hears(process, "serves from now on").await?;
        self.rig.cloud.becomes_new();
        // A version that crashes over fewer objects is not rolled back.
        self.change(6).await;
        if self.random.below(4) == 0 {
            self.heard.hears(process, "serves again").await?;
        }
        self.signs(process, 40).await
    }

    /// The config names a version that crashes, and no version before it is kept: the operator names another digest.
    async fn rescue(&mut self, process: &mut Process) -> Option<()> {
        // The life before may have ended by itself, and sooner than that.
        self.rig.cloud.becomes_new();
        self.change(5).await;
        self.heard.hears(process, "in quarantine").await?;
        event(&self.rig.cluster, LEASE, &["in quarantine", NEXT]).await;
        self.sound_version(process).await
    }

    /// Waits for a few signs of life, at most so many: requests to the cloud, and lines of the log.
    async fn signs(&mut self, process: &mut Process, most: usize) -> Option<()> {
        let count = self.random.below(most);
        let mut steps = self.rig.cloud.steps();
        for _ in 0..count {
            let sign = async {
                tokio::select! {
                    () = steps.next() => Some(None),
                    entry = process.aerostat.log.recv() => entry.map(Some),
                }
            };
            match tokio::time::timeout(QUIET, sign).await {
                Ok(sign) => self.heard.0.extend(sign?),
                // It has nothing more to do.
                Err(_) => break,
            }
        }
        Some(())
    }

    /// Two Services come and one goes, and so many nodes join.
    async fn change(&mut self, nodes: usize) {
        let services = names("web", self.made..self.made + 2);
        self.made += 2;
        self.services.extend(services.clone());
        let gone = if self.services.len() > STAY { self.random.below(STAY) } else { self.services.len() };
        let gone: Vec<_> = self.services.splice(gone..(gone + 1).min(self.services.len()), []).collect();
        let nodes = names("worker", self.joined..self.joined + nodes);
        self.joined += nodes.len();
        tokio::join!(self.rig.create(&services), self.rig.delete(&gone), self.rig.join(&nodes));
    }

    /// At no time has a Service two load balancers.
    fn check_once(&self) {
        let mut balancers = self.rig.cloud.balancers();
        balancers.sort();
        let twice: Vec<_> = balancers.windows(2).filter(|it| it[0] == it[1]).map(|it| &it[0]).collect();
        assert!(twice.is_empty(), "two load balancers each: {twice:?}");
    }

    /// The last life: everything that users want is done, and then undone.
    async fn end(mut self) {
        let mut process = self.rig.setup.start();
        self.heard.says(&mut process, "provider versioned ").await;
        if self.is_fragile {
            self.rig.cloud.becomes_new();
            self.change(5).await;
            self.heard.says(&mut process, "in quarantine").await;
        }
        self.rig.comes("version=2.0.0").await;
        self.heard.says(&mut process, "versioned 2.0.0 serves from now on").await;
        self.rig.settles(self.services.clone(), END).await;
        self.check_made();
        self.rig.delete(&std::mem::take(&mut self.services)).await;
        self.rig.settles(Vec::new(), END).await;
        self.check_made();
        process.stop().await;
    }

    /// No Service ever had a second load balancer.
    fn check_made(&self) {
        let made = self.rig.cloud.made_for();
        let twice: Vec<_> = made.windows(2).filter(|it| it[0] == it[1]).map(|it| &it[0]).collect();
        assert!(twice.is_empty(), "made twice: {twice:?}");
    }
}

impl Drop for KillRun {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (seed, lives, points) = (self.seed, self.lives, self.points);
            eprintln!(
                "\nto repeat it: AEROSTAT_SEED={seed}\nafter {lives} lives, {points} points{}\nthe cloud has carried out:\n{}",
                self.heard.tail(),
                self.rig.cloud.carried_out().join("\n"),
            );
        }
    }
}

/// Whether a swap was under way when a process died that had said this.
fn is_under_way(entries: &[Map<String, Value>]) -> bool {
    const BEGUN: [&str; 2] = ["--cloud-config names another module", "serves from now on"];
    const OVER: [&str; 3] = ["what served before is dropped", "serves again", "is not put in place"];
    let is = |entry, them: &[&str]| them.iter().any(|it| message(entry).contains(it));
    entries.iter().fold(false, |before, it| is(it, &BEGUN) || before && !is(it, &OVER))
}
