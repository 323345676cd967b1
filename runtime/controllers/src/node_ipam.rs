//! The node-ipam-controller: it gives each node its pod networks, of which no two nodes ever have one.
//!
//! ```text
//! flags ► start: all nodes are listed, what they have is taken; the others are marked
//! watch ► Blocks (taken, given back) ► queue ► ■ plan::decide ► one patch ► ■ plan::settle
//!                                                                └ no answer ► live read ► ■ plan::reread
//! ```
//!
//! With the cloud allocator, networks are those that the cloud has given to the machines: `from_cloud`.

mod allocations;
mod cidr_set;
mod cloud;
mod foreign;
mod from_cloud;
mod judged;
mod plan;
mod range;
mod requests;
mod start;

use std::sync::Arc;

use cloud_provider::Cloud;
use ipnet::IpNet;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::context::{Context, Task};
use crate::error::chain;
use crate::liveness::Liveness;
use crate::metrics::Metrics;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::worker::{self, random};

use self::allocations::Allocations;
use self::cidr_set::CidrSet;
use self::cloud::{CloudAllocator, WaitingNodes};
pub use self::from_cloud::Family;
use self::judged::PodNetworks;
use self::range::{Blocks, RangeAllocator};
pub use self::requests::MayWrite;
use self::requests::WORKERS;

/// The source of this controller's events.
const COMPONENT: &str = "cidrAllocator";
/// The queue's name in metrics.
const QUEUE: &str = "cidrallocator_node";
/// The name of the cloud allocator's.
const CLOUD_QUEUE: &str = "cloudCIDRAllocator";

/// Options of the controller that gives out blocks of cluster CIDRs.
#[derive(Clone)]
pub struct Options {
    /// The cluster CIDRs, `--cluster-cidr`, each with the prefix length of a node's part: at most one of each family.
    pub clusters: Vec<(IpNet, u8)>,
    /// Networks that no node gets a part of: `--service-cluster-ip-range`.
    pub services: Vec<IpNet>,
    /// Whether the process before this one has ended its work, and said so by giving its Lease back: then no write of its
    /// can still be under way.
    pub follows_clean_end: bool,
    /// Whether this process may write: it holds the Lease, or needs none.
    pub may_write: MayWrite,
}

/// Options of the controller where the cloud gives networks to machines.
#[derive(Clone)]
pub struct CloudOptions {
    /// The families in the order in which nodes get them, at most one network of each; none: IPv4.
    pub families: Vec<Family>,
    /// Where nodes' networks lie, each with the shortest prefix that a node's has: `--cluster-cidr`, or all addresses of a
    /// family.
    pub clusters: Vec<(IpNet, u8)>,
    /// Networks that no node gets a part of: `--service-cluster-ip-range`.
    pub services: Vec<IpNet>,
    /// Whether this process may write: it holds the Lease, or needs none.
    pub may_write: MayWrite,
}

/// Why there cannot be such a controller.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct RefusedOptions(String);

impl Options {
    /// Checks what can be known before the cluster is.
    ///
    /// # Errors
    ///
    /// If a cluster CIDR cannot be cut like that, or if Services leave nothing of it.
    pub fn check(clusters: &[(IpNet, u8)], services: &[IpNet]) -> Result<(), RefusedOptions> {
        blocks(clusters, services).map(drop)
    }
}

/// The controller. It fails if most nodes have networks outside of the cluster CIDRs.
///
/// # Errors
///
/// As [`Options::check`].
pub fn new(context: &Context, options: Options) -> Result<Task, RefusedOptions> {
    let allocations = blocks(&options.clusters, &options.services)?;
    let allocator = RangeAllocator {
        client: context.client.clone(),
        nodes: context.nodes.clone(),
        recorder: context.events.recorder(COMPONENT),
        marks: !options.follows_clean_end,
        may_write: options.may_write,
        blocks: Arc::new(Blocks::new(allocations, context.metrics.cidrs.clone())),
    };
    let (liveness, metrics, shutdown) = (Liveness::default(), context.metrics.clone(), context.shutdown());
    let run = run(Arc::new(allocator), metrics, liveness.clone(), shutdown);
    Ok(Task::fallible(liveness, run))
}

/// The controller that takes networks from the cloud, unless the cloud has no instances.
pub fn new_from_cloud(context: &Context, cloud: &Cloud, options: CloudOptions) -> Option<Task> {
    let allocator = CloudAllocator {
        client: context.client.clone(),
        nodes: context.nodes.clone(),
        inventory: context.inventory(cloud)?,
        recorder: context.events.recorder(COMPONENT),
        may_write: options.may_write,
        families: options.families,
        known: PodNetworks { clusters: options.clusters, services: options.services },
        waiting: Arc::default(),
    };
    let (liveness, metrics, shutdown) = (Liveness::default(), context.metrics.clone(), context.shutdown());
    Some(Task::new(liveness.clone(), run_from_cloud(Arc::new(allocator), metrics, liveness, shutdown)))
}

async fn run_from_cloud(
    allocator: Arc<CloudAllocator>,
    metrics: Metrics,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        biased;
        () = &mut shutdown => return,
        () = allocator.nodes.synced() => {}
    }
    let queue = Arc::new(WorkQueue::new(metrics.queue(CLOUD_QUEUE), Limits::shared(Instant::now()), random));
    let (waiting, listening): (Arc<WaitingNodes>, _) = (allocator.waiting.clone(), queue.clone());
    allocator.nodes.listen(move |before, node| waiting.changed(before, node, &listening));
    worker::run(allocator, queue, WORKERS, JoinSet::new(), &liveness, shutdown).await;
}

/// Every block of every cluster CIDR, but for those of Services.
fn blocks(clusters: &[(IpNet, u8)], services: &[IpNet]) -> Result<Allocations, RefusedOptions> {
    let sets = clusters.iter().map(|(cluster, mask)| CidrSet::new(*cluster, *mask));
    let sets = sets.collect::<Result<_, _>>().map_err(|error| RefusedOptions(chain(&error)))?;
    let allocations = Allocations::new(sets, services.to_vec());
    match allocations.full() {
        Some(cluster) => Err(RefusedOptions(format!(
            "--service-cluster-ip-range leaves nothing of --cluster-cidr {cluster} for nodes: give nodes a network of their \
             own"
        ))),
        None => Ok(allocations),
    }
}

async fn run(
    allocator: Arc<RangeAllocator>,
    metrics: Metrics,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), String> {
    let mut shutdown = std::pin::pin!(shutdown);
    let started = async {
        allocator.nodes.synced().await;
        allocator.start().await
    };
    tokio::select! {
        biased;
        () = &mut shutdown => return Ok(()),
        started = started => started.map_err(|error| chain(&error))?,
    }
    let queue = Arc::new(WorkQueue::new(metrics.queue(QUEUE), Limits::shared(Instant::now()), random));
    let (blocks, listening) = (allocator.blocks.clone(), queue.clone());
    allocator.nodes.listen(move |before, node| blocks.changed(before, node, &listening));
    let mut background = JoinSet::new();
    let gone = allocator.clone();
    background.spawn(async move { gone.forget_gone().await });
    worker::run(allocator, queue, WORKERS, background, &liveness, shutdown).await;
    Ok(())
}
