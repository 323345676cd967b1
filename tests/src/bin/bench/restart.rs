//! The requests of a restart, where there is nothing to do.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use kube::api::Api;
use tests::clouds::digitalocean::{Recorded, Simulator};
use tests::control_plane::{ControlPlane, Options};

use crate::cloud::simulator;
use crate::comparison::{Comparison, count};
use crate::contender::{AEROSTAT, BASELINE, Contender};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, api_requests, between, kinds, sum};
use crate::usage::{Usage, Used};

const NODES: usize = 1000;

/// How long all nodes may take to join.
const PATIENCE: Duration = Duration::from_secs(300);

/// So long after the lease everything counts. One worker needs 50 s to ask for 1,000 nodes.
const WINDOW: Duration = Duration::from_secs(75);

struct Round {
    cloud: Vec<Recorded>,
    api: Kinds,
    used: Option<Used>,
}

/// Measures and prints: one cluster, in which one contender after the other starts again.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let [_, quick] = AEROSTAT;
    let running = quick.start(&control_plane, &cloud).await?;
    objects::create(&control_plane, (0..NODES).map(objects::node).collect(), Api::all).await?;
    objects::wait_for_nodes(&control_plane, NODES, PATIENCE).await?;
    running.stop().await?;

    let contenders: Vec<_> = AEROSTAT.into_iter().chain(BASELINE).collect();
    let mut rounds = Vec::new();
    for contender in &contenders {
        rounds.push(round(*contender, &control_plane, &cloud).await.with_context(|| contender.name())?);
    }
    cloud.stop().await;
    control_plane.stop().await?;
    print(&contenders, &rounds)
}

async fn round(contender: Contender, control_plane: &ControlPlane, cloud: &Simulator) -> Result<Round> {
    let admin = control_plane.admin().await?;
    let leadership = Leadership::of(control_plane).await?;
    leadership.clear().await?;
    let (audit, since) = (control_plane.audit().from_now()?, SystemTime::now());
    let running = contender.start(control_plane, cloud).await?;
    leadership.wait_for_another(None).await?;
    tokio::time::sleep(WINDOW).await;
    let requests = between(cloud, since, SystemTime::now());
    let api = api_requests(&audit, &admin, contender).await?;
    let used = running.usage()?.map(|after| Used { before: Usage::default(), after });
    running.stop().await?;
    Ok(Round { cloud: requests, api, used })
}

fn print(contenders: &[Contender], rounds: &[Round]) -> Result<()> {
    let title = format!("restart at {NODES} nodes, {} s", WINDOW.as_secs());
    let mut table = Comparison::new(&title, contenders);
    let cloud: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &cloud.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "10 or less");
    table.details(&cloud);
    let writes = |it: &Round| it.api.iter().filter(|(kind, _)| !kind.starts_with("get ")).map(|it| *it.1).sum::<f64>();
    let writes: Vec<_> = rounds.iter().map(|it| Some(writes(it))).collect();
    table.row("writes to nodes, Services and events", &writes, count, "0");
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}
