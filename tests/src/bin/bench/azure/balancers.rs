//! Load balancers: all Services share one, and one security group.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams};
use tests::clouds::azure::Simulator;
use tests::control_plane::{ControlPlane, Options};

use super::{AskedOfAzure, row, several, simulator, table};
use crate::changes;
use crate::cloud::name;
use crate::comparison::seconds;
use crate::contender::{Flags, Running, aerostat};
use crate::leadership::Leadership;
use crate::requests::{Kinds, between, kinds, quiet};
use crate::table::Table;
use crate::{objects, services};

/// How long each operation takes.
const OPERATION: Duration = Duration::from_secs(2);
/// After so long without a request, a step is over: two looks at what is under way have passed.
const PAUSE: Duration = Duration::from_secs(25);
const PATIENCE: Duration = Duration::from_secs(1800);

/// A cluster, its subscription and the contender.
struct AzureGround {
    control_plane: ControlPlane,
    cloud: Simulator,
    running: Running,
}

/// The requests of a step, and how long it took until the last address, or until the last request.
struct AzureStep {
    asked: AskedOfAzure,
    time: f64,
    kinds: Kinds,
}

impl AzureGround {
    async fn start(cloud: Simulator) -> Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let running = changes::at_rest(aerostat(Flags::Default), &control_plane, &cloud, Vec::new(), &[]).await?;
        Ok(Self { control_plane, cloud, running })
    }

    async fn api(&self) -> Result<Api<Service>> {
        Ok(services::api(self.control_plane.admin().await?))
    }

    /// The requests since a moment, once there are no more.
    async fn step(&self, since: SystemTime, time: Option<f64>) -> Result<AzureStep> {
        quiet(&self.cloud, PAUSE, PATIENCE).await?;
        let requests = between(&self.cloud, since, SystemTime::now());
        let last = requests.iter().map(|it| it.at).max().and_then(|it| it.duration_since(since).ok());
        let time = time.unwrap_or_else(|| last.unwrap_or_default().as_secs_f64());
        Ok(AzureStep { asked: AskedOfAzure::of(&requests), time, kinds: kinds(&requests) })
    }

    /// Makes Services with these numbers at once, and waits until as many have an address.
    async fn make(&self, numbers: std::ops::Range<usize>, all: usize) -> Result<AzureStep> {
        let (since, start) = (SystemTime::now(), Instant::now());
        let create = objects::create(&self.control_plane, numbers.map(services::service).collect(), services::api);
        let wait = objects::wait_for(self.api().await?, all, PATIENCE, services::has_address);
        let (_, last) = tokio::try_join!(create, wait)?;
        let time = last.context("Services have no address")?.duration_since(start).as_secs_f64();
        self.step(since, Some(time)).await
    }

    async fn end(self) -> Result<()> {
        self.running.stop().await?;
        self.cloud.stop().await;
        self.control_plane.stop().await
    }
}

/// Twenty at once, a start with these, and a node that leaves.
pub(crate) async fn measure() -> Result<()> {
    let mut ground = AzureGround::start(simulator(changes::NODES, OPERATION).await?).await?;
    let mut table = table(&format!(
        "load balancers of Azure: reads + writes for them, and seconds; operations of {} s, {} nodes",
        OPERATION.as_secs(),
        changes::NODES
    ));
    show(&mut table, "the first external one", &ground.make(0..1, 1).await?, "23 + 5", "");
    show(&mut table, "a further one", &ground.make(1..2, 2).await?, "18 + 3", "");
    let step = ground.make(2..22, 22).await?;
    show(&mut table, "twenty at once", &step, "496 + 62, 318 s", "15 s or less");
    let shared = format!("{} + {}", step.asked.balancers, step.asked.groups);
    row(&mut table, "  writes of load balancer + security group", shared, "20 + 20", "2 + 2 or less");

    ground.running.stop().await?;
    Leadership::of(&ground.control_plane).await?.clear().await?;
    let since = SystemTime::now();
    ground.running = aerostat(Flags::Default).start(&ground.control_plane, &ground.cloud).await?;
    Leadership::of(&ground.control_plane).await?.wait_for_another(None).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "it starts again, with these", &step, "205 + 0", "4 + 0 or less");

    let since = SystemTime::now();
    let nodes: Api<Node> = Api::all(ground.control_plane.admin().await?);
    nodes.delete(&name(0), &DeleteParams::default()).await?;
    show(&mut table, "a node leaves, with these", &ground.step(since, None).await?, "167 + 1", "4 + 1 or less");
    ground.end().await?;
    table.print()
}

/// Twice as many at once as one load balancer has rules for: there are several. Of the vendor's manager, one at a time was recorded.
pub(crate) async fn many() -> Result<()> {
    let ground = AzureGround::start(several(changes::NODES, OPERATION).await?).await?;
    let title = "500 load balancers of Azure at once, pools of addresses, operations of";
    let mut table = table(&format!("{title} {} s", OPERATION.as_secs()));
    let step = ground.make(0..500, 500).await?;
    show(&mut table, "500 at once", &step, "12 + 3 for each", "");
    let shared = format!("{} + {}", step.asked.balancers, step.asked.groups);
    row(&mut table, "  writes of load balancer + security group", shared, "1 + 1 for each", "");
    ground.end().await?;
    table.print()
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &AzureStep, vendor: &str, wanted: &str) {
    row(table, name, format!("{}, {}", step.asked.of_balancers(), seconds(step.time)), vendor, wanted);
    row(table, "  beside them reads of machines and the network", step.asked.machines.to_string(), "", "");
    row(table, "  questions about operations", step.asked.operations.to_string(), "", "");
    for (kind, times) in &step.kinds {
        row(table, &format!("    {kind}"), format!("{times:.0}"), "", "");
    }
}
