//! Nodes that have a route each.

pub(crate) mod change;
pub(crate) mod idle;
pub(crate) mod join;
pub(crate) mod restart;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use tests::clouds::hetzner::Simulator;
use tests::control_plane::ControlPlane;
use tests::{kubelet, wait};

use crate::contender::{Contender, Flags, aerostat, baseline};
use crate::hetzner::{NETWORK, pods, route};
use crate::objects;

/// The flags of all contenders.
const ARGUMENTS: [&str; 1] = ["--cluster-cidr=10.244.0.0/16"];

/// Aerostat as it is by default; the baseline as it is by default, as the vendor starts it, and woken by changes, which both leave to a
/// feature gate.
const CONTENDERS: [Contender; 4] =
    [aerostat(Flags::Default), baseline(Flags::Default), baseline(Flags::Seconds30), baseline(Flags::Watch)];

/// How long all nodes may wait for their routes. A contender that runs into the cloud's limit waits for minutes.
const PATIENCE: Duration = Duration::from_secs(900);

/// A node that waits for the cloud and has its pod network.
fn node(number: usize) -> Node {
    let mut node = objects::node(number);
    let spec = node.spec.get_or_insert_default();
    (spec.pod_cidr, spec.pod_cidrs) = (Some(pods(number)), Some(vec![pods(number)]));
    node
}

/// Whether a node was told that its route is there.
pub(crate) fn is_routed(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|it| it.conditions.iter().flatten());
    conditions.any(|it| it.type_ == "NetworkUnavailable" && it.status == "False")
}

/// Creates nodes with these numbers, and waits until all have what they wait for. Returns when the last was created and when the last was ready.
async fn join(
    control_plane: &ControlPlane,
    numbers: impl Iterator<Item = usize>,
    ready: usize,
) -> Result<(Instant, Option<Instant>)> {
    let is_ready = |it: &Node| !kubelet::is_uninitialized(it) && is_routed(it);
    let admin = control_plane.admin().await?;
    let create = objects::create(control_plane, numbers.map(node).collect(), Api::all);
    tokio::try_join!(create, objects::wait_for(Api::all(admin), ready, PATIENCE, is_ready))
}

/// How many routes are missing or too many, if there is to be one for each of so many nodes.
fn wrong(cloud: &Simulator, nodes: usize) -> usize {
    let mut desired: Vec<_> = (0..nodes).map(route).collect();
    desired.sort();
    let present = cloud.networks().routes(NETWORK);
    let missing = desired.iter().filter(|it| !present.contains(it)).count();
    missing + present.iter().filter(|it| !desired.contains(it)).count()
}

/// Waits until there is a route for each of so many nodes and no other. Returns when.
async fn right(cloud: &Simulator, nodes: usize, time: Duration) -> Option<Instant> {
    wait::within(time, async || (wrong(cloud, nodes) == 0).then(Instant::now)).await
}

/// A cluster at rest: so many nodes, each with its route.
async fn settle(control_plane: &ControlPlane, cloud: &Simulator, nodes: usize) -> Result<()> {
    let (_, last) = join(control_plane, 0..nodes, nodes).await?;
    last.context("nodes have no routes")?;
    right(cloud, nodes, PATIENCE).await.map(drop).context("the cloud's routes are wrong")
}
