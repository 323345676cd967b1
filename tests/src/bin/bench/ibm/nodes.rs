//! Nodes whose machines are instances of a VPC.

use anyhow::Result;
use tests::control_plane::{ControlPlane, Options};

use super::{AskedOfIbm, simulator};
use crate::comparison::{hundredths, seconds};
use crate::contender::{Flags, aerostat};
use crate::requests::sum;
use crate::table::{beside_vendor, row};
use crate::{join, steady};

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

/// An hour in which nothing happens.
pub(crate) async fn steady() -> Result<()> {
    let contender = aerostat(Flags::Default);
    let round = steady::round(contender, simulator(steady::NODES), 0).await?;
    let title =
        format!("an hour at {} nodes at IBM Cloud, all Ready; the vendor's manager asks for none", steady::NODES);
    steady::print(&title, &[contender], &[round], "no write")
}
