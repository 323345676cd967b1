//! Steps of one cluster, one after the other: what each asks the cloud for, and how long it takes.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams};
use tests::control_plane::{ControlPlane, Options};
use tests::kubelet;
use tests::simulator::{Cloud, Recorded, Simulator};

use crate::account::Account;
use crate::cloud::name;
use crate::contender::{Flags, Running, aerostat};
use crate::leadership::Leadership;
use crate::requests::{between, kinds, quiet};
use crate::table::{Table, row};
use crate::{changes, objects, services};

/// After so long without a request, a step is over: two looks at what is under way have passed.
pub(crate) const PAUSE: Duration = Duration::from_secs(25);
/// How long a step may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1800);

/// A cluster, its cloud, and aerostat at work.
pub(crate) struct SteppedCluster<C: Cloud> {
    control_plane: ControlPlane,
    pub(crate) cloud: Simulator<C>,
    running: Running,
}

/// The requests of a step, and how long it took until the last address, or until the last request.
pub(crate) struct MeasuredStep {
    pub(crate) requests: Vec<Recorded>,
    pub(crate) time: f64,
}

impl<C: Cloud> SteppedCluster<C>
where
    Simulator<C>: Account,
{
    /// With [`changes::NODES`] nodes that have joined.
    pub(crate) async fn start(cloud: Simulator<C>) -> Result<Self> {
        Self::start_with(cloud, &[]).await
    }

    /// The same with these flags.
    pub(crate) async fn start_with(cloud: Simulator<C>, flags: &[&str]) -> Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let running = changes::at_rest(aerostat(Flags::Default), &control_plane, &cloud, Vec::new(), flags).await?;
        Ok(Self { control_plane, cloud, running })
    }

    pub(crate) async fn services(&self) -> Result<Api<Service>> {
        Ok(services::api(self.control_plane.admin().await?))
    }

    /// The requests since a moment, once there are no more.
    pub(crate) async fn step(&self, since: SystemTime, time: Option<f64>) -> Result<MeasuredStep> {
        quiet(&self.cloud, PAUSE, PATIENCE).await?;
        let requests = between(&self.cloud, since, SystemTime::now());
        let last = requests.iter().map(|it| it.at).max().and_then(|it| it.duration_since(since).ok());
        let time = time.unwrap_or_else(|| last.unwrap_or_default().as_secs_f64());
        Ok(MeasuredStep { requests, time })
    }

    /// Makes Services at once, and waits until as many have an address.
    pub(crate) async fn make(&self, services: Vec<Service>, all: usize) -> Result<MeasuredStep> {
        let (since, start) = (SystemTime::now(), Instant::now());
        let create = objects::create(&self.control_plane, services, services::api);
        let wait = objects::wait_for(self.services().await?, all, PATIENCE, services::has_address);
        let (_, last) = tokio::try_join!(create, wait)?;
        let time = last.context("Services have no address")?.duration_since(start).as_secs_f64();
        self.step(since, Some(time)).await
    }

    /// Ends the process, and starts another one with these flags, which leads. Says when it was started.
    pub(crate) async fn restart(mut self, flags: &[&str]) -> Result<(Self, SystemTime)> {
        self.running.stop().await?;
        let leadership = Leadership::of(&self.control_plane).await?;
        leadership.clear().await?;
        let since = SystemTime::now();
        self.running = aerostat(Flags::Default).start_with(&self.control_plane, &self.cloud, flags).await?;
        leadership.wait_for_another(None).await?;
        Ok((self, since))
    }

    /// Lets the nodes with these numbers join, and waits until all of so many are initialised.
    pub(crate) async fn join(&self, numbers: impl IntoIterator<Item = usize>, all: usize) -> Result<()> {
        let nodes = numbers.into_iter().map(objects::node).collect();
        objects::create(&self.control_plane, nodes, Api::all).await?;
        objects::wait_for_nodes(&self.control_plane, all, PATIENCE).await.map(drop)
    }

    /// Lets a node leave. Its machine stays.
    pub(crate) async fn leave(&self, number: usize) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.control_plane.admin().await?);
        Ok(nodes.delete(&name(number), &DeleteParams::default()).await.map(drop)?)
    }

    /// Lets a node's kubelet say that it is not ready.
    pub(crate) async fn fail(&self, number: usize) -> Result<()> {
        kubelet::post_ready(&self.control_plane.admin().await?, &name(number), false).await.map(drop)
    }

    pub(crate) async fn end(self) -> Result<()> {
        self.running.stop().await?;
        self.cloud.stop().await;
        self.control_plane.stop().await
    }
}

impl MeasuredStep {
    /// A row for each kind of request.
    pub(crate) fn details(&self, table: &mut Table) {
        for (kind, times) in &kinds(&self.requests) {
            row(table, &format!("    {kind}"), format!("{times:.0}"), "", "");
        }
    }
}
