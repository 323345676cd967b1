//! Nodes whose machines are instances of a VPC.

use std::time::SystemTime;

use anyhow::Result;
use tests::control_plane::{ControlPlane, Options};

use super::{AskedOfIbm, simulator};
use crate::comparison::{hundredths, seconds};
use crate::contender::{Flags, aerostat};
use crate::requests::{between, kinds, sum};
use crate::steps::SteppedCluster;
use crate::table::{beside_vendor, row};
use crate::{changes, join, services, steady};

/// As many as ten pages have.
const NODES: usize = 1000;

/// Nodes that join all at once. One is there before, so that the contender is at work.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let round = join::round(aerostat(Flags::Default), &control_plane, cloud, NODES - 1).await?;
    control_plane.stop().await?;
    let mut table = beside_vendor(&format!("{NODES} nodes without provider id join at IBM Cloud"));
    let asked = AskedOfIbm::of(&round.cloud);
    row(&mut table, "reads + writes", asked.text(), &format!("{NODES} + 0"), "22 + 0 or less");
    row(&mut table, "requests for tokens", asked.tokens.to_string(), "", "");
    let pages = |path: &str| round.cloud.iter().filter(|it| it.is("GET", path)).count().to_string();
    row(&mut table, "  of them lists of instances", pages("/v1/instances"), &NODES.to_string(), "pages of 100");
    row(&mut table, "  of them lists of floating addresses", pages("/v1/floating_ips"), "0", "");
    row(&mut table, "  of them reads of one instance", pages("/v1/instances/*"), "0", "");
    row(&mut table, join::TIME, seconds(round.time), "", "");
    row(&mut table, "API requests a node", hundredths(sum(&round.api) / NODES as f64), "", "3 or less");
    table.print()
}

/// An hour in which nothing happens, from eleven minutes of it.
pub(crate) async fn steady() -> Result<()> {
    let ground = SteppedCluster::start(simulator(steady::NODES).await?).await?;
    ground.join(changes::NODES..steady::NODES, steady::NODES).await?;
    ground.make(services::numbered(0..changes::SERVICES), changes::SERVICES).await?;
    // New ones are compared as a whole once more, after the first list that shows them.
    tokio::time::sleep(steady::WINDOW).await;
    let since = SystemTime::now();
    tokio::time::sleep(steady::WINDOW).await;
    let requests = between(&ground.cloud, since, since + steady::WINDOW);
    ground.end().await?;
    let hour = 3600.0 / steady::WINDOW.as_secs_f64();
    let title = format!("an hour at {} nodes and {} load balancers at IBM Cloud", steady::NODES, changes::SERVICES);
    let mut table = beside_vendor(&title);
    let AskedOfIbm { reads, writes, tokens } = AskedOfIbm::of(&requests);
    let of_an_hour = |count: usize| format!("{:.0}", count as f64 * hour);
    row(&mut table, "reads", of_an_hour(reads), "12", "60 or less");
    row(&mut table, "writes", of_an_hour(writes), "0", "0");
    row(&mut table, "requests for tokens", of_an_hour(tokens), "", "");
    for (kind, times) in &kinds(&requests) {
        row(&mut table, &format!("    {kind}"), format!("{:.0}", times * hour), "", "");
    }
    table.print()
}
