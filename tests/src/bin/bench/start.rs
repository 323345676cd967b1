//! From the start of the process to the lease and to the first node.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::DeleteParams;
use tests::aerostat::{Aerostat, message};
use tests::control_plane::ControlPlane;
use tests::{kubelet, wait};

use crate::table::Table;
use crate::usage::{Usage, megabytes};
use crate::{flags, name, simulator};

const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 5;

struct Round {
    compile: Duration,
    lease: Duration,
    node: Duration,
    usage: Usage,
}

/// Starts aerostat several times beside a node that waits for it, and prints the middle of the figures.
pub(crate) async fn measure(control_plane: &ControlPlane) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(control_plane).await?);
    }
    let median = |of: fn(&Round) -> Duration| {
        let mut all: Vec<_> = rounds.iter().map(of).collect();
        all.sort();
        format!("{:.0} ms", all[all.len() / 2].as_secs_f64() * 1000.0)
    };
    let most = |of: fn(&Usage) -> u64| megabytes(rounds.iter().map(|it| of(&it.usage)).max().unwrap_or_default());
    let mut table = Table::new(&format!("start, median of {ROUNDS}"), &["aerostat", "wanted"]);
    table.row("compiling the module", &[median(|it| it.compile)]);
    table.row("start to lease, without compiling", &[median(|it| it.lease - it.compile), "under 500 ms".into()]);
    table.row("start to lease", &[median(|it| it.lease)]);
    table.row("start to the first node initialised", &[median(|it| it.node)]);
    table.row("RSS at rest", &[most(|it| it.resident)]);
    table.row("peak RSS (compiling included)", &[most(|it| it.peak)]);
    table.print()
}

async fn round(control_plane: &ControlPlane) -> Result<Round> {
    let cloud = simulator(1).await?;
    let flags = flags(control_plane, &cloud).await?;
    let admin = control_plane.admin().await?;
    let nodes: Api<Node> = Api::all(admin.clone());
    kubelet::join(&admin, &name(0)).await?;

    let start = Instant::now();
    let mut aerostat = Aerostat::start(&flags)?;
    let loaded = aerostat.wait_for("compiled in", PATIENCE).await?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    let lease = start.elapsed();
    let initialised = wait::within(PATIENCE, async || {
        nodes.get(&name(0)).await.ok().filter(|it| !kubelet::is_uninitialized(it)).map(|_| start.elapsed())
    });
    let node = initialised.await.context("the node is not initialised")?;
    let compile = message(&loaded).split("compiled in ").nth(1).and_then(|it| it.split(' ').next()?.parse().ok());
    let compile = compile.context("the log does not tell the compile time in milliseconds")?;
    let usage = Usage::of(aerostat.pid())?;
    aerostat.stop().await?;
    nodes.delete(&name(0), &DeleteParams::default()).await?;
    cloud.stop().await;
    Ok(Round { compile: Duration::from_millis(compile), lease, node, usage })
}
