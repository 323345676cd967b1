//! Nodes whose machines are instances of EC2.

use anyhow::{Context, Result};
use futures::future::try_join_all;
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::Recorded;

use super::simulator;
use crate::comparison::{Comparison, count, hundredths, seconds};
use crate::contender::{Contender, Flags, aerostat, vendor};
use crate::requests::{Kinds, kinds, sum};
use crate::{join, steady};

/// The vendor's manager puts questions of workers that ask at the same time into one request: it is measured with many of them, too.
const ABOUT_NODES: [Contender; 3] = [aerostat(Flags::Default), vendor(Flags::Default), vendor(Flags::WorkersAndApi)];

/// As many as one page of `DescribeInstances` has. A list of one instance more is two calls.
const NODES: usize = 1000;

/// The question that is about zones, and not about machines.
const ZONES: &str = "POST /ec2/DescribeAvailabilityZones";

/// Nodes that join all at once. One is there before, so that the contender is at work.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let mut rounds = Vec::new();
    for contender in ABOUT_NODES {
        let round = join::round(contender, &control_plane, simulator(NODES).await?, NODES - 1).await;
        rounds.push(round.with_context(|| contender.name())?);
    }
    control_plane.stop().await?;

    let mut table = Comparison::new(
        &format!("{NODES} nodes join, one before the others; each instance is a reservation of its own"),
        &ABOUT_NODES,
    );
    let cloud: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    let beside_zones = |it: &Kinds| sum(it) - it.get(ZONES).copied().unwrap_or_default();
    let calls: Vec<_> = cloud.iter().map(|it| Some(beside_zones(it))).collect();
    table.row("cloud calls beside those about zones", &calls, count, "3 or less");
    table.details(&cloud);
    let lists: Vec<_> = rounds.iter().map(|it| Some(it.cloud.iter().filter(|it| is_list(it)).count() as f64)).collect();
    table.detail("  of them lists of all instances", &lists, count);
    let api: Vec<_> = rounds.iter().map(|it| Some(sum(&it.api) / NODES as f64)).collect();
    table.row("API requests a node", &api, hundredths, "3 or less");
    let times: Vec<_> = rounds.iter().map(|it| Some(it.time)).collect();
    table.detail(join::TIME, &times, seconds);
    table.print()
}

/// Whether a request asks for all instances of the cluster.
fn is_list(request: &Recorded) -> bool {
    request.path == "/ec2/DescribeInstances" && request.query_value("Filter.1.Name").is_some_and(|it| it == "tag-key")
}

/// An hour in which nothing happens.
pub(crate) async fn steady() -> Result<()> {
    let rounds = try_join_all(ABOUT_NODES.map(|it| steady::round(it, simulator(steady::NODES), 0))).await?;
    steady::print(&format!("an hour at {} nodes, all Ready", steady::NODES), &ABOUT_NODES, &rounds, "")
}
