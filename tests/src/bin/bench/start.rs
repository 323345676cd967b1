//! From the start of the process to the lease and to the first node.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::DeleteParams;
use tests::aerostat::message;
use tests::control_plane::{ControlPlane, Options};
use tests::{kubelet, wait};

use crate::cloud::{name, simulator};
use crate::comparison::{Comparison, HALF, megabytes, seconds};
use crate::contender::{Contender, Flags, Running, aerostat, baseline};
use crate::leadership::Leadership;
use crate::usage::Usage;

const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 5;

/// How long after its first node a contender counts as being at rest.
const REST: Duration = Duration::from_secs(2);

/// Times in seconds from the start of the process.
struct Round {
    /// For compiling the module. The baseline has none.
    compile: Option<f64>,
    lease: f64,
    node: f64,
    usage: Usage,
}

/// Starts each contender several times beside a node that waits for it, and prints the middle of the figures.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let contenders = [aerostat(Flags::Default), baseline(Flags::Default)];
    let mut all = Vec::new();
    for contender in contenders {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(round(contender, &control_plane).await?);
        }
        all.push(rounds);
    }
    control_plane.stop().await?;

    let median = |of: fn(&Round) -> Option<f64>| {
        let of_one = |rounds: &Vec<Round>| {
            let mut figures: Vec<_> = rounds.iter().filter_map(of).collect();
            figures.sort_by(f64::total_cmp);
            figures.get(figures.len() / 2).copied()
        };
        all.iter().map(of_one).collect::<Vec<_>>()
    };
    let mut table = Comparison::new(&format!("start, median of {ROUNDS}"), &contenders);
    table.row("compiling the module", &median(|it| it.compile), seconds, "");
    table.row("start to lease, without compiling", &median(|it| Some(it.lease - it.compile?)), seconds, "under 0.5 s");
    table.row("start to lease", &median(|it| Some(it.lease)), seconds, "");
    table.row("start to the first node initialised", &median(|it| Some(it.node)), seconds, "");
    table.row("RSS at rest", &median(|it| Some(it.usage.resident as f64)), megabytes, HALF);
    table.row("peak RSS", &median(|it| Some(it.usage.peak as f64)), megabytes, HALF);
    table.row("CPU time", &median(|it| Some(it.usage.cpu.as_secs_f64())), seconds, "");
    table.print()
}

async fn round(contender: Contender, control_plane: &ControlPlane) -> Result<Round> {
    let cloud = simulator(1).await?;
    let leadership = Leadership::of(control_plane).await?;
    leadership.clear().await?;
    let admin = control_plane.admin().await?;
    let nodes: Api<Node> = Api::all(admin.clone());
    kubelet::join(&admin, &name(0)).await?;

    let start = Instant::now();
    let mut running = contender.start(control_plane, &cloud).await?;
    leadership.wait_for_another(None).await?;
    let lease = start.elapsed().as_secs_f64();
    let initialised = wait::within(PATIENCE, async || {
        let node = nodes.get(&name(0)).await.ok().filter(|it| !kubelet::is_uninitialized(it));
        node.map(|_| start.elapsed().as_secs_f64())
    });
    let node = initialised.await.context("the node is not initialised")?;
    tokio::time::sleep(REST).await;
    let usage = running.usage()?.context("a contender with a process")?;
    let compile = compile_time(&mut running).await?;
    running.stop().await?;
    nodes.delete(&name(0), &DeleteParams::default()).await?;
    cloud.stop().await;
    Ok(Round { compile, lease, node, usage })
}

/// Aerostat's words about it in its log.
async fn compile_time(running: &mut Running) -> Result<Option<f64>> {
    let Running::Aerostat(aerostat) = running else { return Ok(None) };
    let loaded = aerostat.wait_for("compiled in", PATIENCE).await?;
    let milliseconds = message(&loaded).split("compiled in ").nth(1).and_then(|it| it.split(' ').next()?.parse().ok());
    let milliseconds: f64 = milliseconds.context("the log does not say the compile time in milliseconds")?;
    Ok(Some(milliseconds / 1000.0))
}
