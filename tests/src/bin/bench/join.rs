//! Nodes that join all at once.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Event, Node};
use kube::Client;
use kube::api::{Api, ListParams};
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::{Cloud, Recorded, Simulator};
use tests::{kubelet, wait};

use crate::account::Account;
use crate::cloud::{limited, simulator};
use crate::comparison::{Comparison, count, hundredths, seconds};
use crate::contender::{AEROSTAT, BASELINE, Contender, FLOOR, Program};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, api_requests, between, kinds, refused, sum};
use crate::usage::Used;

/// How long nodes may take to join. Where the cloud refuses, some contenders take minutes.
const PATIENCE: Duration = Duration::from_secs(900);

/// How long the last events may be on their way. Some of the baseline's never come.
const EVENTS: Duration = Duration::from_secs(60);

/// The times and requests of one round.
pub(crate) struct Round {
    /// From the first creation to the last taint gone, in seconds. Infinite: some are still there.
    pub(crate) time: f64,
    /// From the first creation to the last.
    created: f64,
    pub(crate) api: Kinds,
    pub(crate) cloud: Vec<Recorded>,
    /// From the first creation to the last event.
    used: Option<Used>,
}

/// Measures and prints all contenders, one after the other, with a cloud that allows everything.
pub(crate) async fn measure(nodes: usize) -> Result<()> {
    measure_each(nodes, AEROSTAT.into_iter().chain(FLOOR).chain(BASELINE).collect()).await
}

/// As [`measure`], without the baselines, which take hours for thousands of nodes.
pub(crate) async fn measure_alone(nodes: usize) -> Result<()> {
    measure_each(nodes, AEROSTAT.into_iter().chain(FLOOR).collect()).await
}

async fn measure_each(nodes: usize, contenders: Vec<Contender>) -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let mut rounds = Vec::new();
    for contender in &contenders {
        let round = round(*contender, &control_plane, simulator(nodes + 1).await?, nodes).await;
        rounds.push(round.with_context(|| contender.name())?);
    }
    control_plane.stop().await?;
    print(nodes, &contenders, &rounds)
}

/// Measures with a cloud that allows as much as the real one. The baselines, which wait most of the time, run side by side.
pub(crate) async fn measure_limited(nodes: usize) -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let (mut free, mut rounds) = (Vec::new(), Vec::new());
    for contender in AEROSTAT {
        free.push(round(contender, &control_plane, simulator(nodes + 1).await?, nodes).await?);
        rounds.push(round(contender, &control_plane, limited(nodes + 1).await?, nodes).await?);
    }
    control_plane.stop().await?;
    let side_by_side = BASELINE.map(|contender| async move {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let round = round(contender, &control_plane, limited(nodes + 1).await?, nodes).await?;
        control_plane.stop().await?;
        anyhow::Ok(round)
    });
    rounds.extend(try_join_all(side_by_side).await?);

    let contenders: Vec<_> = AEROSTAT.into_iter().chain(BASELINE).collect();
    let mut table = Comparison::new(&format!("{nodes} nodes join, 250 cloud requests a minute"), &contenders);
    let figures = |of: fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    table.row(TIME, &figures(|it| it.time), seconds, "");
    let free: Vec<_> = free.iter().map(|it| Some(it.time)).collect();
    table.detail("without the limit", &free, seconds);
    let slower: Vec<_> = free.iter().zip(&rounds).map(|(free, it)| free.map(|free| it.time / free)).collect();
    table.row("time ÷ that without the limit", &slower, hundredths, "no slower: about 1");
    let cloud: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &cloud.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "10 or less");
    table.details(&cloud);
    table.row("refused of them (429)", &figures(|it| refused(&it.cloud)), count, "0");
    table.print()
}

pub(crate) const TIME: &str = "time, first creation to last taint gone";

/// Lets the contender serve one node, so that it is at work, and then all others at once.
pub(crate) async fn round<C: Cloud>(
    contender: Contender,
    control_plane: &ControlPlane,
    cloud: Simulator<C>,
    nodes: usize,
) -> Result<Round>
where
    Simulator<C>: Account,
{
    let admin = control_plane.admin().await?;
    Leadership::of(control_plane).await?.clear().await?;
    let running = contender.start(control_plane, &cloud).await?;
    objects::create(control_plane, vec![objects::node(nodes)], Api::all).await?;
    objects::wait_for_nodes(control_plane, 1, PATIENCE).await?;

    let audit = control_plane.audit().from_now()?;
    let (before, since) = (running.usage()?, SystemTime::now());
    let (time, created) = join(control_plane, &admin, nodes).await?;
    settle(&admin, nodes).await?;
    let used = before.zip(running.usage()?).map(|(before, after)| Used { before, after });
    let cloud_calls = between(&cloud, since, SystemTime::now());
    let api = api_requests(&audit, &admin, contender).await?;
    running.stop().await?;
    cloud.stop().await;
    objects::clear(control_plane).await?;
    Ok(Round { time, created, api, cloud: cloud_calls, used })
}

/// Creates the nodes, and waits until the last taint is gone.
async fn join(control_plane: &ControlPlane, admin: &Client, nodes: usize) -> Result<(f64, f64)> {
    let all = (0..nodes).map(objects::node).collect();
    let initialised = |it: &Node| !kubelet::is_uninitialized(it);
    let start = Instant::now();
    let create = objects::create(control_plane, all, Api::all);
    // The one that was served before is among them.
    let wait = objects::wait_for(Api::all(admin.clone()), nodes + 1, PATIENCE, initialised);
    let (created, last) = tokio::try_join!(create, wait)?;
    let since = |it: Instant| it.duration_since(start).as_secs_f64();
    Ok((last.map_or(f64::INFINITY, since), since(created)))
}

/// The last status and the last event may still be on their way.
async fn settle(admin: &Client, nodes: usize) -> Result<()> {
    let events: Api<Event> = Api::namespaced(admin.clone(), "default");
    let all = wait::within(EVENTS, async || {
        let count = events.list_metadata(&ListParams::default()).await.ok()?.items.len();
        (count > nodes).then_some(())
    });
    // Whether they come is not what is measured.
    let _: Option<()> = all.await;
    Ok(())
}

fn print(nodes: usize, contenders: &[Contender], rounds: &[Round]) -> Result<()> {
    let mut table = Comparison::new(&format!("{nodes} nodes join"), contenders);
    let figures = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    table.row(TIME, &figures(&|it| it.time), seconds, "");
    table.detail("of it creation", &figures(&|it| it.created), seconds);
    let floor = |contender: &Contender| {
        let same = |it: &Contender| it.program == Program::Floor && it.flags == contender.flags;
        contenders.iter().position(same).map(|index| rounds[index].time)
    };
    let above = contenders.iter().zip(rounds).map(|(contender, round)| match contender.program {
        Program::Aerostat => floor(contender).map(|it| round.time / it),
        Program::Baseline | Program::ControllerManager | Program::Vendor | Program::Floor => None,
    });
    table.row("time ÷ floor", &above.collect::<Vec<_>>(), hundredths, "1.3 or less");
    let cloud: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &cloud.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "10 or less");
    table.details(&cloud);
    table.row("API requests a node", &figures(&|it| sum(&it.api) / nodes as f64), hundredths, "3 or less");
    table.details(&rounds.iter().map(|it| it.api.clone()).collect::<Vec<_>>());
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}
