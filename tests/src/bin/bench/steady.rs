//! An hour in which nothing happens, from eleven minutes of it. Only requests count, so all clusters run side by side.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use futures::future::try_join_all;
use kube::api::Api;
use tests::control_plane::{ControlPlane, Options};
use tests::kubelet;
use tests::simulator::{Cloud, Recorded, Simulator};

use crate::account::Account;
use crate::cloud::{name, simulator};
use crate::comparison::{Comparison, HALF, count, megabytes, seconds};
use crate::contender::{Contender, Flags, aerostat, baseline};
use crate::objects;
use crate::requests::{Kinds, between, kinds, quiet, sum};
use crate::usage::Used;

pub(crate) const NODES: usize = 1000;

/// Nodes that are not Ready, where some are not: 5 %.
const NOT_READY: usize = NODES / 20;

/// How long all nodes may take to join.
const PATIENCE: Duration = Duration::from_secs(900);

/// Two address periods, of 5 min each, and the time that they take.
const WINDOW: Duration = Duration::from_secs(11 * 60);

/// From the first mark that nodes are not Ready to the beginning of the window.
const LEAD: Duration = Duration::from_secs(30);

pub(crate) struct Round {
    cloud: Vec<Recorded>,
    used: Used,
}

/// Measures and prints. The baseline runs once, with the flags with which its nodes join at once: what it asks for in an hour does not
/// depend on them.
pub(crate) async fn measure() -> Result<()> {
    let contenders = [aerostat(Flags::Default), baseline(Flags::WorkersAndApi)];
    let all =
        [0, NOT_READY].into_iter().flat_map(|not_ready| contenders.map(|it| round(it, simulator(NODES), not_ready)));
    let rounds = try_join_all(all).await?;
    for (title, rounds) in ["all Ready", "5 % NotReady"].into_iter().zip(rounds.chunks(contenders.len())) {
        print(&format!("an hour at {NODES} nodes, {title}"), &contenders, rounds, "ratio 0.020 or less")?;
    }
    Ok(())
}

pub(crate) async fn round<C: Cloud>(
    contender: Contender,
    cloud: impl Future<Output = Result<Simulator<C>>>,
    not_ready: usize,
) -> Result<Round>
where
    Simulator<C>: Account,
{
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = cloud.await?;
    let running = contender.start(&control_plane, &cloud).await?;
    objects::create(&control_plane, (0..NODES).map(objects::node).collect(), Api::all).await?;
    objects::wait_for_nodes(&control_plane, NODES, PATIENCE).await?;
    quiet(&cloud, Duration::from_secs(5), PATIENCE).await?;
    let admin = control_plane.admin().await?;
    for number in 0..not_ready {
        kubelet::post_ready(&admin, &name(number), false).await?;
    }
    tokio::time::sleep(LEAD).await;

    let (since, before) = (SystemTime::now(), running.usage()?);
    tokio::time::sleep(WINDOW).await;
    let after = running.usage()?;
    let requests = between(&cloud, since, since + WINDOW);
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    let (before, after) = before.zip(after).expect("neither contender is the floor");
    Ok(Round { cloud: requests, used: Used { before, after } })
}

pub(crate) fn print(title: &str, contenders: &[Contender], rounds: &[Round], wanted: &str) -> Result<()> {
    let hour = 3600.0 / WINDOW.as_secs_f64();
    let mut table = Comparison::new(title, contenders);
    let cloud =
        rounds.iter().map(|it| kinds(&it.cloud).into_iter().map(|(kind, count)| (kind, count * hour)).collect());
    let cloud: Vec<Kinds> = cloud.collect();
    table.row("cloud calls", &cloud.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, wanted);
    table.details(&cloud);
    let figures = |of: fn(&Used) -> f64| rounds.iter().map(|it| Some(of(&it.used))).collect::<Vec<_>>();
    let cpu: Vec<_> = rounds.iter().map(|it| Some(it.used.cpu() * hour)).collect();
    table.row("CPU time", &cpu, seconds, HALF);
    table.row("RSS", &figures(|it| it.after.resident as f64), megabytes, HALF);
    table.row("peak RSS", &figures(|it| it.after.peak as f64), megabytes, HALF);
    table.print()
}
