//! Nodes whose machines are members of a uniform scale set.

use std::time::Duration;

use anyhow::Result;
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::Recorded;

use super::{AskedOfAzure, scale_set};
use crate::comparison::{hundredths, seconds};
use crate::contender::{Flags, aerostat};
use crate::requests::sum;
use crate::table::{beside_vendor, row};
use crate::{join, steady};

const NODES: usize = 1000;

/// Nodes that join all at once. One is there before, so that the contender is at work.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = scale_set(NODES, Duration::ZERO).await?;
    let round = join::round(aerostat(Flags::Default), &control_plane, cloud, NODES - 1).await?;
    control_plane.stop().await?;
    let mut table = beside_vendor(&format!("{NODES} nodes of a scale set without provider id join at Azure"));
    let asked = AskedOfAzure::of(&round.cloud);
    row(&mut table, "reads + writes", asked.text(), "", "pages, and no read for each node");
    row(&mut table, "  of them pages of machines", pages(&round.cloud, "/virtualMachines").to_string(), "", "");
    row(&mut table, "  of them pages of interfaces", pages(&round.cloud, "/networkInterfaces").to_string(), "", "");
    row(&mut table, "  of them reads of one machine", singles(&round.cloud).to_string(), "", "0");
    row(&mut table, join::TIME, seconds(round.time), "", "");
    row(&mut table, "API requests a node", hundredths(sum(&round.api) / NODES as f64), "", "3 or less");
    table.print()
}

fn pages(requests: &[Recorded], list: &str) -> usize {
    requests.iter().filter(|it| it.path.ends_with(list)).count()
}

fn singles(requests: &[Recorded]) -> usize {
    requests.iter().filter(|it| it.path.rsplit('/').nth(1) == Some("virtualMachines")).count()
}

/// An hour in which nothing happens.
pub(crate) async fn steady() -> Result<()> {
    let contender = aerostat(Flags::Default);
    let round = steady::round(contender, scale_set(steady::NODES, Duration::ZERO), 0).await?;
    let title = format!("an hour at {} nodes of a scale set at Azure, all Ready", steady::NODES);
    steady::print(&title, &[contender], &[round], "pages for each period")
}
