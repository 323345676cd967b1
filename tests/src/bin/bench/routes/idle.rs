//! An hour in which no route changes, from a part of it. Only requests count, so all clusters run side by side.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use tests::control_plane::{ControlPlane, Options};

use super::{ARGUMENTS, CONTENDERS, settle};
use crate::comparison::{Comparison, HALF, count, megabytes, seconds};
use crate::contender::Contender;
use crate::hetzner::simulator;
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, between, kinds, sum};
use crate::usage::Used;

const NODES: usize = 90;

/// How long all nodes may take to join where there are no routes.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long a cluster is left alone before the window begins.
const LEAD: Duration = Duration::from_secs(30);

/// Twice the longest time between two lists of aerostat: each 10 min and up to a tenth.
const WINDOW: Duration = Duration::from_secs(22 * 60);

struct Round {
    cloud: Kinds,
    used: Used,
}

/// Measures and prints. What a contender asks for because of routes is what it asks for beside what it asks for without them.
pub(crate) async fn measure() -> Result<()> {
    let both = CONTENDERS.into_iter().flat_map(|it| [round(it, true), round(it, false)]);
    let rounds = try_join_all(both).await?;
    let (with, without): (Vec<_>, Vec<_>) = rounds.chunks(2).map(|it| (&it[0], &it[1])).unzip();

    let hour = 3600.0 / WINDOW.as_secs_f64();
    let mut table = Comparison::new(&format!("an hour at {NODES} nodes with routes"), &CONTENDERS);
    let cloud = |rounds: &[&Round]| -> Vec<Kinds> {
        let of_one = |it: &&Round| it.cloud.iter().map(|(kind, count)| (kind.clone(), count * hour)).collect();
        rounds.iter().map(of_one).collect()
    };
    let (with_routes, others) = (cloud(&with), cloud(&without));
    let routes: Vec<_> = with_routes.iter().zip(&others).map(|(all, others)| Some(sum(all) - sum(others))).collect();
    table.row("route calls", &routes, count, "12 or less");
    table.row("cloud calls", &with_routes.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&with_routes);
    let others: Vec<_> = others.iter().map(|it| Some(sum(it))).collect();
    table.row("cloud calls without routes", &others, count, "");
    let figures = |of: fn(&Used) -> f64| with.iter().map(|it| Some(of(&it.used))).collect::<Vec<_>>();
    let cpu: Vec<_> = with.iter().map(|it| Some(it.used.cpu() * hour)).collect();
    table.row("CPU time", &cpu, seconds, HALF);
    table.row("RSS", &figures(|it| it.after.resident as f64), megabytes, HALF);
    table.row("peak RSS", &figures(|it| it.after.peak as f64), megabytes, HALF);
    table.print()
}

async fn round(contender: Contender, routes: bool) -> Result<Round> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let switch = if routes { "--configure-cloud-routes=true" } else { "--configure-cloud-routes=false" };
    let arguments: Vec<_> = ARGUMENTS.into_iter().chain([switch]).collect();
    let running = contender.start_with(&control_plane, &cloud, &arguments).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    if routes {
        settle(&control_plane, &cloud, NODES).await.with_context(|| contender.name())?;
    } else {
        let nodes = (0..NODES).map(super::node).collect();
        objects::create(&control_plane, nodes, kube::Api::all).await?;
        objects::wait_for_nodes(&control_plane, NODES, PATIENCE).await?;
    }
    tokio::time::sleep(LEAD).await;

    let (since, before) = (SystemTime::now(), running.usage()?);
    tokio::time::sleep(WINDOW).await;
    let after = running.usage()?;
    let requests = between(&cloud, since, since + WINDOW);
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    let (before, after) = before.zip(after).context("a contender with a process")?;
    Ok(Round { cloud: kinds(&requests), used: Used { before, after } })
}
