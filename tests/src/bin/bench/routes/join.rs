//! Nodes that join all at once, and get a route each.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use tests::clouds::hetzner::{Recorded, Simulator};
use tests::control_plane::{ControlPlane, Options};

use super::{ARGUMENTS, CONTENDERS, PATIENCE, join, right, wrong};
use crate::cloud::{LATENCY, name};
use crate::comparison::{Comparison, count, hundredths, seconds};
use crate::contender::Contender;
use crate::hetzner::{CHANGE, add_server, remove_server, simulator};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, answered, api_requests, between, kinds, refused, sum};
use crate::usage::Used;

/// How long the last requests may be on their way.
const REST: Duration = Duration::from_secs(5);

struct Round {
    /// From the first creation until the last node knows of its route, in seconds. Infinite: some do not.
    time: f64,
    /// From the first creation to the last.
    created: f64,
    /// The same of one node that comes alone afterwards, when another one has gone.
    alone: f64,
    /// Routes that are missing or too many at the end.
    wrong: usize,
    api: Kinds,
    cloud: Vec<Recorded>,
    used: Option<Used>,
}

/// Measures and prints all contenders, one after the other.
pub(crate) async fn measure(nodes: usize) -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let mut rounds = Vec::new();
    for contender in CONTENDERS {
        rounds.push(round(contender, &control_plane, nodes).await.with_context(|| contender.name())?);
    }
    control_plane.stop().await?;
    print(nodes, &rounds)
}

/// Lets the contender serve one node that has no pod network, so that it is at work, and then all others at once.
async fn round(contender: Contender, control_plane: &ControlPlane, nodes: usize) -> Result<Round> {
    let cloud = simulator(nodes + 1).await?;
    let admin = control_plane.admin().await?;
    let leadership = Leadership::of(control_plane).await?;
    leadership.clear().await?;
    let running = contender.start_with(control_plane, &cloud, &ARGUMENTS).await?;
    leadership.wait_for_another(None).await?;
    objects::create(control_plane, vec![objects::node(nodes)], Api::all).await?;
    objects::wait_for_nodes(control_plane, 1, PATIENCE).await?;

    let audit = control_plane.audit().from_now()?;
    let (before, since, start) = (running.usage()?, SystemTime::now(), Instant::now());
    let (created, last) = join(control_plane, 0..nodes, nodes).await?;
    tokio::time::sleep(REST).await;
    let used = before.zip(running.usage()?).map(|(before, after)| Used { before, after });
    let cloud_calls = between(&cloud, since, SystemTime::now());
    let api = api_requests(&audit, &admin, contender).await?;
    let amiss = wrong(&cloud, nodes);
    let alone = replace(control_plane, &cloud, nodes).await?;
    running.stop().await?;
    cloud.stop().await;
    objects::clear(control_plane).await?;
    let elapsed = |it: Instant| it.duration_since(start).as_secs_f64();
    let time = last.map_or(f64::INFINITY, elapsed);
    Ok(Round { time, created: elapsed(created), alone, wrong: amiss, api, cloud: cloud_calls, used })
}

/// Lets the last node go with its server, and another one come in its place. Returns how long that one waited, in seconds.
async fn replace(control_plane: &ControlPlane, cloud: &Simulator, nodes: usize) -> Result<f64> {
    let last = nodes - 1;
    let api: Api<Node> = Api::all(control_plane.admin().await?);
    remove_server(cloud, last);
    api.delete(&name(last), &DeleteParams::default()).await?;
    right(cloud, last, PATIENCE).await.context("the route of a node that is gone stays")?;
    add_server(cloud, last);
    let start = Instant::now();
    let (_, ready) = join(control_plane, last..nodes, nodes).await?;
    Ok(ready.map_or(f64::INFINITY, |it| it.duration_since(start).as_secs_f64()))
}

fn print(nodes: usize, rounds: &[Round]) -> Result<()> {
    let title = format!("{nodes} nodes join and get routes, {} ms a change of the network", CHANGE.as_millis());
    let mut table = Comparison::new(&title, &CONTENDERS);
    let figures = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    table.row("time, first creation to last NetworkUnavailable=False", &figures(&|it| it.time), seconds, "");
    table.detail("of it creation", &figures(&|it| it.created), seconds);
    table.row("time of one node that comes alone", &figures(&|it| it.alone), seconds, "");
    // The network takes one change after the other.
    let cloud = (LATENCY + CHANGE).as_secs_f64() * nodes as f64;
    table.row("time ÷ the cloud's own", &figures(&|it| it.time / cloud), hundredths, "");
    table.row("routes missing or too many", &figures(&|it| it.wrong as f64), count, "0");
    let calls: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &calls.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&calls);
    table.detail("refused of them, network locked (409)", &figures(&|it| answered(&it.cloud, 409)), count);
    table.row("refused of them, too many (429)", &figures(&|it| refused(&it.cloud)), count, "0");
    table.row("API requests a node", &figures(&|it| sum(&it.api) / nodes as f64), hundredths, "");
    table.details(&rounds.iter().map(|it| it.api.clone()).collect::<Vec<_>>());
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}
