//! Nodes with routes that come and go. Mostly requests count, so all clusters run side by side.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use tests::clouds::hetzner::Recorded;
use tests::control_plane::{ControlPlane, Options};

use super::{ARGUMENTS, CONTENDERS, node, right, settle, wrong};
use crate::cloud::name;
use crate::comparison::{Comparison, count, seconds};
use crate::contender::Contender;
use crate::hetzner::{add_server, remove_server, simulator};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{answered, between, kinds, refused, sum};
use crate::usage::Used;

/// How many nodes there are at the beginning and at the end.
const NODES: usize = 60;

/// So many come together, and then go together.
const CHANGES: usize = 20;

/// How long a change may keep a contender at work: the same for all, so that those that poll do so as often.
const WINDOW: Duration = Duration::from_secs(120);

struct Round {
    cloud: Vec<Recorded>,
    /// From the first creation to the last route, and from the first deletion to the last route gone. Infinite: not within the window.
    times: [f64; 2],
    /// Routes that were missing or too many at the end of a window.
    wrong: usize,
    used: Option<Used>,
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let rounds = try_join_all(CONTENDERS.map(async |it| round(it).await.with_context(|| it.name()))).await?;

    let title = format!("{CHANGES} nodes come and go beside {NODES} with routes, {} s each", WINDOW.as_secs());
    let mut table = Comparison::new(&title, &CONTENDERS);
    let figures = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    let calls: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &calls.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&calls);
    table.detail("refused of them, network locked (409)", &figures(&|it| answered(&it.cloud, 409)), count);
    table.row("refused of them, too many (429)", &figures(&|it| refused(&it.cloud)), count, "0");
    table.row("time, first creation to last route", &figures(&|it| it.times[0]), seconds, "");
    table.row("time, first deletion to last route gone", &figures(&|it| it.times[1]), seconds, "");
    table.row("routes missing or too many", &figures(&|it| it.wrong as f64), count, "0");
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}

async fn round(contender: Contender) -> Result<Round> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let running = contender.start_with(&control_plane, &cloud, &ARGUMENTS).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    settle(&control_plane, &cloud, NODES).await?;
    tokio::time::sleep(WINDOW).await;

    let nodes: Api<Node> = Api::all(control_plane.admin().await?);
    let (since, before) = (SystemTime::now(), running.usage()?);
    let all = NODES + CHANGES;
    let start = Instant::now();
    (NODES..all).for_each(|it| add_server(&cloud, it));
    objects::create(&control_plane, (NODES..all).map(node).collect(), Api::all).await?;
    let come = right(&cloud, all, WINDOW).await.map(|it| it - start);
    tokio::time::sleep(WINDOW.saturating_sub(start.elapsed())).await;
    let mut amiss = wrong(&cloud, all);

    let start = Instant::now();
    (NODES..all).for_each(|it| remove_server(&cloud, it));
    try_join_all((NODES..all).map(async |it| nodes.delete(&name(it), &DeleteParams::default()).await)).await?;
    let go = right(&cloud, NODES, WINDOW).await.map(|it| it - start);
    tokio::time::sleep(WINDOW.saturating_sub(start.elapsed())).await;
    amiss += wrong(&cloud, NODES);

    let used = before.zip(running.usage()?).map(|(before, after)| Used { before, after });
    let calls = between(&cloud, since, SystemTime::now());
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    let times = [come, go].map(|it| it.map_or(f64::INFINITY, |it| it.as_secs_f64()));
    Ok(Round { cloud: calls, times, wrong: amiss, used })
}
