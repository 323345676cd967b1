//! How long nodes take that join while another version of the provider takes the place of the one that serves, and what both
//! versions take of memory.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::aerostat::message;
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::operator::{Process, Setup, initialized};
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry};
use tests::versioned::{Cloud, version};

use crate::table::Table;
use crate::usage::Usage;

/// How long nodes join before and after, and the trial.
const PHASE: Duration = Duration::from_secs(10);
/// After so long something is wrong.
const PATIENCE: Duration = Duration::from_secs(120);

/// The measurements in a part of the time: a column.
struct Phase {
    name: &'static str,
    /// From the creation of each node until it was initialised.
    joins: Vec<Duration>,
    /// At the most, in bytes.
    resident: u64,
}

/// A process whose nodes join one after the other, so that each pause of it shows.
struct Run {
    cluster: Cluster,
    cloud: Cloud,
    process: Process,
    joined: usize,
}

/// Swaps once while nodes join, and prints how long they took.
pub(crate) async fn measure() -> Result<()> {
    let (cluster, cloud) = (cluster().await, Cloud::start().await);
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let (first, second) = (Artifact::new(&version("version=1.0.0")), Artifact::new(&version("version=1.1.0")));
    registry.push(&first, None).await;
    registry.push(&second, None).await;
    let trial = format!("--module-trial={}s", PHASE.as_secs());
    let mut setup = Setup::guest(&cluster, guests::VERSIONED)
        .flags(&["--module-look=200ms", &trial])
        .edit(|it| it["endpoints"] = json!([cloud.endpoint()]));
    setup.rewrite(|it| it["provider"]["module"] = module(&registry, &first));
    let process = setup.started().await;
    let mut run = Run { cluster, cloud, process, joined: 0 };

    // The first node pays for connections and caches.
    run.join().await?;
    let before = run.until("at rest", None).await?;
    setup.rewrite(|it| it["provider"]["module"] = module(&registry, &second));
    let coming = run.until("while another comes", Some("serves from now on")).await?;
    let trial = run.until("both in memory", Some("what served before is dropped")).await?;
    let after = run.until("afterwards", None).await?;
    run.process.stop().await;
    print(&[before, coming, trial, after])
}

/// `provider.module` for a module that a registry has.
fn module(registry: &RealRegistry, artifact: &Artifact) -> Value {
    let (image, digest) = (format!("{}/{REPOSITORY}:1", registry.address()), format!("sha256:{}", artifact.digest()));
    json!({ "oci": { "image": image, "digest": digest, "tls": { "caFile": registry.ca_file() } } })
}

impl Run {
    /// A machine comes, and its node. Returns how long it took until that was initialised.
    async fn join(&mut self) -> Result<Duration> {
        self.joined += 1;
        let name = format!("worker-{}", self.joined);
        self.cloud.add_machine(&name);
        let start = Instant::now();
        tests::kubelet::join(&self.cluster.admin, &name).await?;
        initialized(&self.cluster, &name).await;
        Ok(start.elapsed())
    }

    /// Lets nodes join until the log says this, or for as long as a phase takes.
    async fn until(&mut self, name: &'static str, says: Option<&str>) -> Result<Phase> {
        let start = Instant::now();
        let mut phase = Phase { name, joins: Vec::new(), resident: 0 };
        loop {
            phase.joins.push(self.join().await?);
            let usage = Usage::of(self.process.aerostat.pid())?;
            phase.resident = phase.resident.max(usage.resident);
            let mut is_over = says.is_none() && start.elapsed() >= PHASE;
            while let Ok(line) = self.process.aerostat.log.try_recv() {
                is_over |= says.is_some_and(|it| message(&line).contains(it));
            }
            if is_over {
                return Ok(phase);
            }
            ensure!(start.elapsed() < PATIENCE, "aerostat did not say {says:?}");
        }
    }
}

impl Phase {
    fn longest(&self) -> Result<Duration> {
        self.joins.iter().copied().max().context("no node has joined")
    }

    fn median(&self) -> Result<Duration> {
        let mut sorted = self.joins.clone();
        sorted.sort();
        sorted.get(sorted.len() / 2).copied().context("no node has joined")
    }
}

fn print(phases: &[Phase]) -> Result<()> {
    let columns: Vec<_> = phases.iter().map(|it| it.name).collect();
    let mut table = Table::new("nodes that join one after the other", &columns);
    let times = |of: fn(&Phase) -> Result<Duration>| -> Result<Vec<String>> {
        phases.iter().map(|it| Ok(format!("{:.0} ms", of(it)?.as_secs_f64() * 1000.0))).collect()
    };
    table.row("nodes", &phases.iter().map(|it| it.joins.len().to_string()).collect::<Vec<_>>());
    table.row("median", &times(Phase::median)?);
    table.row("longest", &times(Phase::longest)?);
    let resident: Vec<_> = phases.iter().map(|it| format!("{:.1} MB", it.resident as f64 / 1e6)).collect();
    table.row("RSS at the most", &resident);
    table.row("wanted", &["", "longest as at rest", "longest as at rest", ""].map(str::to_owned));
    table.print()
}
