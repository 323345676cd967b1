//! Nodes that join all at once: aerostat, and beside it the floor.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Event, Node};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use tests::aerostat::Aerostat;
use tests::audit_log::Request;
use tests::control_plane::ControlPlane;
use tests::{kubelet, wait};
use tokio::task::JoinSet;

use crate::floor::Floor;
use crate::table::Table;
use crate::usage::{Usage, megabytes, seconds};
use crate::{flags, name, simulator};

/// Clients that create nodes.
const CLIENTS: usize = 32;
const PATIENCE: Duration = Duration::from_secs(600);

/// What one round took.
struct Round {
    time: Duration,
    created: Duration,
    /// By verb and resource; what was answered 409 stands under `conflicts`.
    requests: BTreeMap<String, usize>,
    conflicts: usize,
    cloud_calls: usize,
    usage: Option<(Usage, Duration)>,
}

/// Measures and prints: aerostat with its default flags and with 50 workers, and a bare client with as many.
pub(crate) async fn measure(control_plane: &ControlPlane, nodes: usize) -> Result<()> {
    for (title, workers) in [("default flags", 1), ("50 workers", 50)] {
        let floor = round_of_floor(control_plane, nodes, workers).await?;
        let aerostat = round_of_aerostat(control_plane, nodes, workers).await?;
        print(&format!("{nodes} nodes join, {title}"), nodes, &aerostat, &floor)?;
    }
    Ok(())
}

async fn round_of_aerostat(control_plane: &ControlPlane, nodes: usize, workers: usize) -> Result<Round> {
    let cloud = simulator(nodes).await?;
    let mut flags = flags(control_plane, &cloud).await?;
    if workers != 1 {
        flags.push(format!("--concurrent-node-syncs={workers}"));
    }
    let mut aerostat = Aerostat::start(&flags)?;
    aerostat.wait_for("successfully acquired lease", PATIENCE).await?;
    let before = Usage::of(aerostat.pid())?;
    let mut round = round(control_plane, nodes).await?;
    let after = Usage::of(aerostat.pid())?;
    round.usage = Some((after, after.cpu.saturating_sub(before.cpu)));
    round.cloud_calls = cloud.requests().len();
    aerostat.stop().await?;
    cloud.stop().await;
    clear(control_plane).await?;
    Ok(round)
}

async fn round_of_floor(control_plane: &ControlPlane, nodes: usize, workers: usize) -> Result<Round> {
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    let _floor = Floor::start(&Client::try_from(control_plane.config(&kubeconfig).await?)?, workers);
    let round = round(control_plane, nodes).await?;
    clear(control_plane).await?;
    Ok(round)
}

/// Creates the nodes, waits until the last taint is gone, and counts what the API server was asked.
async fn round(control_plane: &ControlPlane, nodes: usize) -> Result<Round> {
    let admin = control_plane.admin().await?;
    let audit = control_plane.audit().from_now()?;
    let api: Api<Node> = Api::all(admin.clone());
    let mut watch = pin!(watcher(api, watcher::Config::default()).applied_objects());
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(control_plane.admin().await?);
    }

    let start = Instant::now();
    let mut creators = JoinSet::new();
    let next = Arc::new(AtomicUsize::new(0));
    for client in clients {
        creators.spawn(create(client, next.clone(), nodes));
    }
    let mut done = BTreeSet::new();
    let all = async {
        while done.len() < nodes {
            let node = watch.try_next().await?.context("the watch has ended")?;
            if !kubelet::is_uninitialized(&node) {
                done.insert(node.name_any());
            }
        }
        anyhow::Ok(start.elapsed())
    };
    let time = tokio::time::timeout(PATIENCE, all).await.context("nodes still wait")??;
    let mut created = Duration::ZERO;
    while let Some(creator) = creators.join_next().await {
        created = created.max(creator??.duration_since(start));
    }

    // The last status and the last event may still be on their way.
    let events: Api<Event> = Api::all(admin.clone());
    wait::within(PATIENCE, async || {
        let count = events.list_metadata(&ListParams::default()).await.ok()?.items.len();
        (count >= nodes).then_some(())
    })
    .await
    .context("events are missing")?;
    audit.settle(&admin).await?;
    let about_nodes = |it: &Request| match it.object.resource.as_str() {
        "events" => it.object.namespace == "default",
        resource => resource == "nodes",
    };
    let (conflicts, requests): (Vec<_>, Vec<_>) = (audit.requests()?.into_iter().chain(audit.events()?))
        .filter(about_nodes)
        .partition(|it| it.response.code == 409);
    let mut kinds = BTreeMap::new();
    for request in &requests {
        *kinds.entry(format!("{} {}", request.verb, request.resource())).or_default() += 1;
    }
    Ok(Round { time, created, requests: kinds, conflicts: conflicts.len(), cloud_calls: 0, usage: None })
}

async fn create(client: Client, next: Arc<AtomicUsize>, nodes: usize) -> Result<Instant> {
    let api: Api<Node> = Api::all(client);
    loop {
        let number = next.fetch_add(1, Relaxed);
        if number >= nodes {
            return Ok(Instant::now());
        }
        api.create(&PostParams::default(), &kubelet::node(&name(number))).await?;
    }
}

/// Removes what a round has made.
async fn clear(control_plane: &ControlPlane) -> Result<()> {
    let admin = control_plane.admin().await?;
    let nodes: Api<Node> = Api::all(admin.clone());
    let events: Api<Event> = Api::namespaced(admin.clone(), "default");
    nodes.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    events.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    let gone = wait::within(PATIENCE, async || {
        nodes.list_metadata(&ListParams::default()).await.ok().filter(|it| it.items.is_empty())
    });
    gone.await.context("nodes are not deleted").map(|_| ())
}

fn print(title: &str, nodes: usize, aerostat: &Round, floor: &Round) -> Result<()> {
    let mut table = Table::new(title, &["aerostat", "floor", "ratio", "wanted"]);
    let ratio = aerostat.time.as_secs_f64() / floor.time.as_secs_f64();
    table.row(
        "time, first creation to last taint gone",
        &[seconds(aerostat.time), seconds(floor.time), format!("{ratio:.2}"), "1.3 or less".into()],
    );
    table.row("  of it creation", &[seconds(aerostat.created), seconds(floor.created)]);
    table.row("cloud calls", &[aerostat.cloud_calls.to_string(), String::new(), String::new(), "10 or less".into()]);
    let per_node = |round: &Round| format!("{:.2}", round.requests.values().sum::<usize>() as f64 / nodes as f64);
    table.row("API requests a node", &[per_node(aerostat), per_node(floor), String::new(), "3 or less".into()]);
    for kind in aerostat.requests.keys().chain(floor.requests.keys()).collect::<BTreeSet<_>>() {
        let of = |round: &Round| round.requests.get(kind).copied().unwrap_or_default().to_string();
        table.row(&format!("  {kind}"), &[of(aerostat), of(floor)]);
    }
    table.row("  conflicts, apart", &[aerostat.conflicts.to_string(), floor.conflicts.to_string()]);
    if let Some((usage, cpu)) = aerostat.usage {
        table.row("peak RSS", &[megabytes(usage.peak), String::new(), String::new(), "under 50 MB".into()]);
        table.row("CPU time", &[seconds(cpu), String::new(), String::new(), "1.2 s or less".into()]);
    }
    table.print()
}
