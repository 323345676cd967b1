//! Nodes whose machines are instances of a VPC.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::Recorded;

use super::{AskedOfIbm, simulator};
use crate::comparison::{hundredths, seconds};
use crate::contender::{Flags, aerostat};
use crate::requests::{between, kinds, sum};
use crate::steps::SteppedCluster;
use crate::table::{beside_vendor, row};
use crate::{changes, join, services, steady};

/// As many as ten pages have.
const NODES: usize = 1000;

/// Two periods of load balancers and a tenth: in the first one a list shows the new ones, in the second one each is compared as a whole.
const LEAD: Duration = Duration::from_mins(34);
const HOUR: Duration = Duration::from_hours(1);

/// Nodes that join all at once. One is there before, so that the contender is at work.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let round = join::round(aerostat(Flags::Default), &control_plane, cloud, NODES - 1).await?;
    control_plane.stop().await?;
    let mut table = beside_vendor(&format!("{NODES} nodes without provider id join at IBM Cloud"));
    let asked = AskedOfIbm::of(&round.cloud);
    row(&mut table, "reads + writes", asked.text(), &format!("{NODES} + 0; labels: 0 + 0"), "22 + 0 or less");
    row(&mut table, "requests for tokens", asked.tokens.to_string(), "", "");
    let pages = |path: &str| round.cloud.iter().filter(|it| it.is("GET", path)).count().to_string();
    row(&mut table, "  of them lists of instances", pages("/v1/instances"), &NODES.to_string(), "pages of 100");
    row(&mut table, "  of them lists of floating addresses", pages("/v1/floating_ips"), "0", "");
    row(&mut table, "  of them reads of one instance", pages("/v1/instances/*"), "0", "");
    row(&mut table, join::TIME, seconds(round.time), "", "");
    row(&mut table, "API requests a node", hundredths(sum(&round.api) / NODES as f64), "", "3 or less");
    table.print()
}

/// An hour in which nothing happens, with the periods that are shipped. What each load balancer costs in twelve hours is counted before it.
pub(crate) async fn steady() -> Result<()> {
    let ground = SteppedCluster::start(simulator(steady::NODES).await?).await?;
    ground.join(changes::NODES..steady::NODES, steady::NODES).await?;
    ground.make(services::numbered(0..changes::SERVICES), changes::SERVICES).await?;
    let made = SystemTime::now();
    tokio::time::sleep(LEAD).await;
    let since = SystemTime::now();
    tokio::time::sleep(HOUR).await;
    let compared = Comparisons::of(&between(&ground.cloud, made, since));
    let requests = between(&ground.cloud, since, since + HOUR);
    ground.end().await?;
    let title = format!("an hour at {} nodes and {} load balancers at IBM Cloud", steady::NODES, changes::SERVICES);
    let mut table = beside_vendor(&title);
    let AskedOfIbm { reads, writes, tokens } = AskedOfIbm::of(&requests);
    let share = compared.of_an_hour();
    row(&mut table, "reads", format!("{:.0}", reads as f64 + share), "12", "60 or less");
    row(&mut table, "  of them in this hour", reads.to_string(), "", "");
    row(&mut table, "  of them a twelfth of what is asked in twelve hours", format!("{share:.0}"), "", "");
    row(&mut table, "load balancers compared as a whole before", compared.balancers.to_string(), "0", "");
    row(&mut table, "writes", writes.to_string(), "0", "0");
    row(&mut table, "requests for tokens", tokens.to_string(), "", "");
    for (kind, times) in &kinds(&requests) {
        row(&mut table, &format!("    {kind}"), format!("{times:.0}"), "", "");
    }
    table.print()
}

/// The cost of a comparison of load balancers as a whole.
struct Comparisons {
    balancers: usize,
    reads: usize,
}

impl Comparisons {
    /// Those among the requests of a time in which nothing else is asked of single load balancers.
    fn of(requests: &[Recorded]) -> Self {
        let balancers = requests.iter().filter(|it| it.is("GET", "/v1/load_balancers/*")).count();
        let reads = requests.iter().filter(|it| it.path.starts_with("/v1/load_balancers/")).count();
        Self { balancers, reads }
    }

    /// Reads in an hour, where each load balancer is compared once in twelve: its own, and one that shows whose account it is.
    fn of_an_hour(&self) -> f64 {
        (self.reads + self.balancers) as f64 / 12.0
    }
}
