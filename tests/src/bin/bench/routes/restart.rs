//! The requests of a restart, where all routes are there.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use tests::clouds::hetzner::{Recorded, Simulator};
use tests::control_plane::{ControlPlane, Options};

use super::{ARGUMENTS, CONTENDERS, settle, wrong};
use crate::comparison::{Comparison, count};
use crate::contender::Contender;
use crate::hetzner::simulator;
use crate::leadership::Leadership;
use crate::requests::{Kinds, api_requests, between, kinds, sum, total};
use crate::usage::{Usage, Used};

const NODES: usize = 90;

/// So long after the lease everything counts: longer than aerostat leaves routes alone after its start.
const WINDOW: Duration = Duration::from_secs(75);

struct Round {
    cloud: Vec<Recorded>,
    api: Kinds,
    wrong: usize,
    used: Option<Used>,
}

/// Measures and prints: one cluster, in which one contender after the other starts again.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let [ours, ..] = CONTENDERS;
    let running = ours.start_with(&control_plane, &cloud, &ARGUMENTS).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    settle(&control_plane, &cloud, NODES).await?;
    running.stop().await?;

    let mut rounds = Vec::new();
    for contender in CONTENDERS {
        rounds.push(round(contender, &control_plane, &cloud).await.with_context(|| contender.name())?);
    }
    cloud.stop().await;
    control_plane.stop().await?;
    print(&rounds)
}

async fn round(contender: Contender, control_plane: &ControlPlane, cloud: &Simulator) -> Result<Round> {
    let admin = control_plane.admin().await?;
    let leadership = Leadership::of(control_plane).await?;
    leadership.clear().await?;
    let (audit, since) = (control_plane.audit().from_now()?, SystemTime::now());
    let running = contender.start_with(control_plane, cloud, &ARGUMENTS).await?;
    leadership.wait_for_another(None).await?;
    tokio::time::sleep(WINDOW).await;
    let requests = between(cloud, since, SystemTime::now());
    let api = api_requests(&audit, &admin, contender).await?;
    let used = running.usage()?.map(|after| Used { before: Usage::default(), after });
    running.stop().await?;
    Ok(Round { cloud: requests, api, wrong: wrong(cloud, NODES), used })
}

fn print(rounds: &[Round]) -> Result<()> {
    let title = format!("restart at {NODES} nodes with routes, {} s", WINDOW.as_secs());
    let mut table = Comparison::new(&title, &CONTENDERS);
    let figures = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    let writes = |kinds: &Kinds, read: &str| total(kinds.iter().filter(|it| !it.0.starts_with(read)).map(|it| it.1));
    table.row("writes to the cloud", &figures(&|it| writes(&kinds(&it.cloud), "GET ")), count, "0");
    table.row("routes missing or too many", &figures(&|it| it.wrong as f64), count, "0");
    let cloud: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &cloud.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&cloud);
    table.row("writes to nodes and events", &figures(&|it| writes(&it.api, "get ")), count, "0");
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}
