//! Nodes whose machines are servers of Nova.

use std::time::Duration;

use anyhow::Result;
use tests::control_plane::{ControlPlane, Options};

use super::{asked, reads_and_writes, simulator};
use crate::comparison::{count, hundredths, seconds};
use crate::contender::{Flags, aerostat};
use crate::requests::sum;
use crate::table::{beside_vendor, row};
use crate::{join, steady};

/// As many as a page has.
const NODES: usize = 1000;
/// The requests with which OpenStack's own manager asks about one node: Neutron's versions, the server, its flavour, its ports.
const OF_A_NODE: usize = 4;

/// Nodes that join all at once. One is there before, so that the contender is at work.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES, Duration::ZERO).await?;
    let round = join::round(aerostat(Flags::Default), &control_plane, cloud, NODES - 1).await?;
    control_plane.stop().await?;
    let mut table = beside_vendor(&format!("{NODES} nodes without provider id join at OpenStack"));
    let vendor = format!("{} + 0", OF_A_NODE * NODES);
    let of = |is_one: fn(&str) -> bool| asked(&round.cloud).filter(|it| is_one(&it.path)).count().to_string();
    row(&mut table, "reads + writes", reads_and_writes(&round.cloud), &vendor, "pages, and no read for each node");
    row(&mut table, "  of them pages of servers", of(|it| it.ends_with("/servers/detail")), &NODES.to_string(), "");
    row(&mut table, "  of them pages of ports", of(|it| it.ends_with("/ports")), &NODES.to_string(), "");
    let is_server = |it: &str| it.contains("/servers/") && !it.ends_with("/detail");
    row(&mut table, "  of them reads of one server", of(is_server), "0", "0");
    row(&mut table, join::TIME, seconds(round.time), "", "");
    row(&mut table, "API requests a node", hundredths(sum(&round.api) / NODES as f64), "", "3 or less");
    table.print()
}

/// An hour in which nothing happens.
pub(crate) async fn steady() -> Result<()> {
    let contender = aerostat(Flags::Default);
    let round = steady::round(contender, simulator(steady::NODES, Duration::ZERO), 0).await?;
    // It asks about each node once in each period for its addresses, five minutes.
    let vendor = count((OF_A_NODE * steady::NODES * 12) as f64);
    let title = format!(
        "an hour at {} nodes at OpenStack, all Ready; OpenStack's own manager asks {vendor} times",
        steady::NODES
    );
    steady::print(&title, &[contender], &[round], "pages for each period")
}
