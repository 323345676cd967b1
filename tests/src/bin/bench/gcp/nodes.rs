//! Nodes whose machines are instances of Compute Engine.

use std::time::Duration;

use anyhow::Result;
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::Recorded;

use super::{Asked, simulator};
use crate::comparison::{count, hundredths, seconds};
use crate::contender::{Flags, aerostat};
use crate::requests::sum;
use crate::table::{beside_vendor, row};
use crate::{join, steady};

/// As many as two pages have.
const NODES: usize = 1000;

/// Nodes that join all at once. One is there before, so that the contender is at work.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES, Duration::ZERO).await?;
    let round = join::round(aerostat(Flags::Default), &control_plane, cloud, NODES - 1).await?;
    control_plane.stop().await?;
    let mut table = beside_vendor(&format!("{NODES} nodes without provider id join at Google Cloud"));
    let asked = Asked::of(&round.cloud);
    // A read in each zone until it is found, and one for its metadata, of nodes in two zones.
    let vendor = format!("{} + 0", 2 * NODES);
    row(&mut table, "reads + writes", asked.text(), &vendor, "pages of 500, and no read for each node");
    row(&mut table, "  of them pages", pages(&round.cloud).to_string(), "0", "");
    row(&mut table, "  of them reads of one instance", singles(&round.cloud).to_string(), &(2 * NODES).to_string(), "");
    row(&mut table, join::TIME, seconds(round.time), "", "");
    row(&mut table, "API requests a node", hundredths(sum(&round.api) / NODES as f64), "", "3 or less");
    table.print()
}

fn pages(requests: &[Recorded]) -> usize {
    requests.iter().filter(|it| it.path.ends_with("/aggregated/instances")).count()
}

fn singles(requests: &[Recorded]) -> usize {
    requests.iter().filter(|it| it.is("GET", "/compute/v1/projects/*/zones/*/instances/*")).count()
}

/// An hour in which nothing happens.
pub(crate) async fn steady() -> Result<()> {
    let contender = aerostat(Flags::Default);
    let round = steady::round(contender, simulator(steady::NODES, Duration::ZERO), 0).await?;
    // The vendor's manager reads each instance once in each period for its addresses, five minutes.
    let vendor = count(steady::NODES as f64 * 12.0);
    let title = format!(
        "an hour at {} nodes at Google Cloud, all Ready; the vendor's manager reads {vendor} times",
        steady::NODES
    );
    steady::print(&title, &[contender], &[round], "two pages for each period")
}
