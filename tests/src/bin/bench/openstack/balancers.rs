//! Load balancers of Octavia, each of which is PENDING after each write.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Service;
use tests::clouds::openstack::{Assets, Kind};

use super::{asked, reads_and_writes, simulator};
use crate::changes::{JOINING, NODES};
use crate::comparison::seconds;
use crate::services::with_ports;
use crate::steps::{MeasuredStep, SteppedCluster};
use crate::table::{Table, beside_vendor, row};

/// How long a load balancer is PENDING after a write.
const PROVISIONING: Duration = Duration::from_secs(2);
/// As many as the recordings have, with 32 pools.
const BALANCERS: usize = 20;
/// A node comes or goes so often, where many do.
const CHANGE: Duration = Duration::from_secs(5);

/// The nodes and ports of a large cluster.
const MANY: usize = 1000;
const PORTS: usize = 10;
/// The most bytes of a body, with room below what Octavia takes.
const LARGEST: usize = 100_000;

/// As in the recordings: one has ten ports, three have two, the others one.
fn recorded(number: usize) -> Service {
    with_ports(number, [PORTS, 2, 2, 2].get(number).copied().unwrap_or(1))
}

/// Twenty load balancers: they are made, a new process reads them, and nodes come and go.
pub(crate) async fn churn() -> Result<()> {
    let ground = SteppedCluster::start(simulator(NODES + JOINING, PROVISIONING).await?).await?;
    let services: Vec<_> = (0..BALANCERS).map(recorded).collect();
    let pools: usize = services.iter().map(ports).sum();
    let mut table = beside_vendor(&format!(
        "{BALANCERS} load balancers of OpenStack with {pools} pools: reads + writes, and seconds; PENDING for {} s",
        PROVISIONING.as_secs()
    ));
    let step = ground.make(services, BALANCERS).await?;
    show(&mut table, "they are made at once", &step, "", "2 writes each");
    let (ground, since) = ground.restart(&[]).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "another process begins", &step, "216 + 0, 68 s", "60 + 0 or less");

    let since = SystemTime::now();
    ground.join([NODES], NODES + 1).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "a node joins", &step, "320 + 30, 420 s", &format!("{pools} writes"));
    let since = SystemTime::now();
    ground.leave(NODES).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "it leaves", &step, "326 + 32, 368 s", &format!("{pools} writes"));

    let since = SystemTime::now();
    for number in 0..JOINING {
        ground.join([NODES + number], NODES + 1).await?;
        tokio::time::sleep(CHANGE).await;
        ground.leave(number).await?;
        tokio::time::sleep(CHANGE).await;
    }
    let step = ground.step(since, None).await?;
    let all = format!("{} changes of nodes, one each {} s", 2 * JOINING, CHANGE.as_secs());
    show(&mut table, &all, &step, "", "fewer than for each change alone");
    has_members(&ground, pools, NODES)?;
    ground.end().await?;
    table.print()
}

/// A Service of ten ports over so many nodes that no request holds their members.
pub(crate) async fn large() -> Result<()> {
    let ground = SteppedCluster::start(simulator(MANY + 1, PROVISIONING).await?).await?;
    ground.join(NODES..MANY, MANY).await?;
    let mut table = beside_vendor(&format!(
        "a load balancer of OpenStack with {PORTS} ports over {MANY} nodes: reads + writes, and seconds; PENDING for {} s",
        PROVISIONING.as_secs()
    ));
    let step = ground.make(vec![with_ports(0, PORTS)], 1).await?;
    // The recorded one had 110 nodes.
    show_with_bodies(&mut table, "it is made", &step, "413 for ever")?;
    has_members(&ground, PORTS, MANY)?;
    let since = SystemTime::now();
    ground.leave(0).await?;
    show_with_bodies(&mut table, "a node leaves", &ground.step(since, None).await?, "")?;
    has_members(&ground, PORTS, MANY - 1)?;
    let since = SystemTime::now();
    ground.join([MANY], MANY).await?;
    show_with_bodies(&mut table, "another one joins", &ground.step(since, None).await?, "")?;
    has_members(&ground, PORTS, MANY)?;
    ground.end().await?;
    table.print()
}

fn ports(service: &Service) -> usize {
    service.spec.as_ref().and_then(|it| it.ports.as_ref()).map_or(0, Vec::len)
}

/// Whether there are so many pools, and each has so many members: otherwise figures are those of something unfinished.
fn has_members(ground: &SteppedCluster<Assets>, pools: usize, members: usize) -> Result<()> {
    let mut by_pool = BTreeMap::<_, usize>::new();
    for member in ground.cloud.account().all(Kind::Member) {
        *by_pool.entry(member["_pool"].to_string()).or_default() += 1;
    }
    ensure!(by_pool.len() == pools && by_pool.values().all(|it| *it == members), "the members are {by_pool:?}");
    Ok(())
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &MeasuredStep, vendor: &str, wanted: &str) {
    let figures = format!("{}, {}", reads_and_writes(&step.requests), seconds(step.time));
    row(table, name, figures, vendor, wanted);
    step.details(table);
}

/// The same, with the largest body and whether one was too large.
fn show_with_bodies(table: &mut Table, name: &str, step: &MeasuredStep, vendor: &str) -> Result<()> {
    show(table, name, step, vendor, "");
    let largest = asked(&step.requests).map(|it| it.body.len()).max().unwrap_or_default();
    row(table, "  bytes of the largest body", largest.to_string(), "", &format!("{LARGEST} or less"));
    let refused = asked(&step.requests).filter(|it| it.status == Some(413)).count();
    ensure!(refused == 0 && largest <= LARGEST, "{refused} refused, {largest} bytes");
    Ok(())
}
