//! Nodes that get their pod networks, all at once.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use tests::control_plane::{ControlPlane, Options};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::cloud::simulator;
use crate::comparison::{Comparison, count, hundredths, seconds};
use crate::contender::{Contender, FLOOR, Flags, Program, Running, aerostat};
use crate::floor::{self, Floor};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, api_requests, sum};
use crate::usage::Used;

/// How long all nodes may wait. With its default limit on requests the baseline needs 50 s.
const PATIENCE: Duration = Duration::from_secs(300);

/// The flags of both programs: 1,024 networks, one for each node.
const ARGUMENTS: [&str; 3] =
    ["--controllers=node-ipam-controller", "--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/14"];

/// Aerostat has no limit on requests to the API server unless one is given. The baseline is Kubernetes' own controller, as it is and without
/// its limit.
const CONTENDERS: [Contender; 3] = [
    aerostat(Flags::Default),
    Contender { program: Program::ControllerManager, flags: Flags::Default },
    Contender { program: Program::ControllerManager, flags: Flags::Api },
];

struct Round {
    /// From the first creation to the last node that has its network, in seconds. Infinite: some have none.
    time: f64,
    /// From the first creation to the last.
    created: f64,
    /// How many nodes have a network that another one has.
    twice: usize,
    api: Kinds,
    used: Option<Used>,
}

/// Measures and prints all contenders, one after the other.
pub(crate) async fn measure(nodes: usize) -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let [ours, theirs @ ..] = CONTENDERS;
    let contenders: Vec<_> = [ours].into_iter().chain(FLOOR).chain(theirs).collect();
    let mut rounds = Vec::new();
    for contender in &contenders {
        rounds.push(round(*contender, &control_plane, nodes).await.with_context(|| contender.name())?);
    }
    control_plane.stop().await?;
    print(nodes, &contenders, &rounds)
}

/// Lets the contender serve one node, so that it is at work, and then all others at once.
async fn round(contender: Contender, control_plane: &ControlPlane, nodes: usize) -> Result<Round> {
    let cloud = simulator(0).await?;
    let admin = control_plane.admin().await?;
    Leadership::of(control_plane).await?.clear().await?;
    let running = match contender.program {
        Program::Floor => Running::Floor(floor(contender, control_plane).await?),
        _ => contender.start_with(control_plane, &cloud, &ARGUMENTS).await?,
    };
    objects::create(control_plane, vec![objects::node(nodes)], Api::all).await?;
    let first = objects::wait_for(Api::all(admin.clone()), 1, PATIENCE, has_network).await?;
    first.context("the first node has no network")?;

    let audit = control_plane.audit().from_now()?;
    let before = running.usage()?;
    let start = Instant::now();
    let create = objects::create(control_plane, (0..nodes).map(objects::node).collect(), Api::all);
    // The one that was served before is among them.
    let wait = objects::wait_for(Api::all(admin.clone()), nodes + 1, PATIENCE, has_network);
    let (created, last) = tokio::try_join!(create, wait)?;
    let used = before.zip(running.usage()?).map(|(before, after)| Used { before, after });
    let since = |it: Instant| it.duration_since(start).as_secs_f64();
    let api = api_requests(&audit, &admin, contender).await?;
    let twice = twice(&Api::all(admin)).await?;
    running.stop().await?;
    cloud.stop().await;
    objects::clear(control_plane).await?;
    Ok(Round { time: last.map_or(f64::INFINITY, since), created: since(created), twice, api, used })
}

fn network(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.pod_cidr.as_deref()
}

fn has_network(node: &Node) -> bool {
    network(node).is_some()
}

/// How many nodes have a network that another one has.
async fn twice(nodes: &Api<Node>) -> Result<usize> {
    let all = nodes.list(&ListParams::default()).await?.items;
    let networks: Vec<_> = all.iter().filter_map(network).collect();
    let distinct: BTreeSet<_> = networks.iter().collect();
    Ok(networks.len() - distinct.len())
}

/// A bare client that gives out the networks one after the other, with so many patches at once as the contender's flags say.
async fn floor(contender: Contender, control_plane: &ControlPlane) -> Result<Floor> {
    let client = floor::client(control_plane).await?;
    let (found, nodes) = mpsc::unbounded_channel();
    let nodes = Arc::new(Mutex::new(nodes));
    let mut tasks = JoinSet::new();
    tasks.spawn(watch(client.clone(), found));
    for _ in 0..contender.flags.workers() {
        tasks.spawn(work(client.clone(), nodes.clone()));
    }
    Ok(Floor::of(tasks))
}

/// Finds the nodes, each with the number of its network.
async fn watch(client: Client, found: mpsc::UnboundedSender<(u32, Node)>) -> Result<()> {
    let nodes: Api<Node> = Api::all(client);
    let mut nodes = pin!(watcher(nodes, watcher::Config::default()).applied_objects());
    let mut next = 0;
    while let Some(node) = nodes.try_next().await? {
        if !has_network(&node) {
            found.send((next, node))?;
            next += 1;
        }
    }
    Ok(())
}

async fn work(client: Client, nodes: Arc<Mutex<mpsc::UnboundedReceiver<(u32, Node)>>>) -> Result<()> {
    let api: Api<Node> = Api::all(client);
    loop {
        let Some((number, node)) = nodes.lock().await.recv().await else { return Ok(()) };
        let [_, high, low, _] = (number << 8).to_be_bytes();
        let network = format!("10.{}.{low}.0/24", 244 + u32::from(high));
        let patch = json!({ "spec": { "podCIDR": network, "podCIDRs": [network] } });
        api.patch(&node.name_any(), &PatchParams::default(), &Patch::Strategic(patch)).await?;
    }
}

fn print(nodes: usize, contenders: &[Contender], rounds: &[Round]) -> Result<()> {
    let mut table = Comparison::new(&format!("{nodes} nodes get pod networks"), contenders);
    let figures = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(|it| Some(of(it))).collect::<Vec<_>>();
    table.row("time, first creation to last network", &figures(&|it| it.time), seconds, "");
    table.detail("of it creation", &figures(&|it| it.created), seconds);
    // Aerostat writes several at once, as the second floor does.
    let floor = contenders.iter().zip(rounds).filter(|(it, _)| it.program == Program::Floor).map(|(_, it)| it.time);
    let floor = floor.fold(f64::INFINITY, f64::min);
    let above = contenders.iter().zip(rounds).map(|(contender, round)| match contender.program {
        Program::Floor => None,
        _ => Some(round.time / floor),
    });
    table.row("time ÷ floor", &above.collect::<Vec<_>>(), hundredths, "");
    table.row("API requests a node", &figures(&|it| sum(&it.api) / nodes as f64), hundredths, "1 or less");
    table.details(&rounds.iter().map(|it| it.api.clone()).collect::<Vec<_>>());
    table.row("networks given out twice", &figures(&|it| it.twice as f64), count, "0");
    table.usage(&rounds.iter().map(|it| it.used).collect::<Vec<_>>());
    table.print()
}
