//! The service-lb-controller: it creates, updates and deletes the load balancers of Services of type LoadBalancer.
//!
//! ```text
//! watch ► Services ┐                 ┌ Ignore
//!                  ├ queue ► ■ plan ─┼ Ensure: finalizer ► the cloud ► memo, annotations, status in one write ► event
//! Nodes ► Changes ─┘                 └ Delete: the cloud ► finalizer and memo off, status empty in one write ► event
//! ```
//!
//! Its four parts share what is remembered of Services (`shared.rs`): one syncs them (`sync.rs`: the steps, in their order),
//! one follows nodes (`node_follower.rs`), one lists load balancers (`lister.rs`), and one reaps what no Service has
//! (`reaper.rs`).
//!
//! Nobody waits for a cloud that is busy: the Service is reconciled again later. What the provider asked to keep is on
//! the Service before it is called again.

mod addresses;
mod backends;
mod changes;
mod class;
pub(crate) mod confirmations;
mod desired;
mod error;
pub(crate) mod inventory;
mod judged;
mod lister;
mod long_pending;
mod node_follower;
mod ownership;
mod plan;
mod reaper;
mod removal;
mod reports;
mod selectors;
mod services;
mod shared;
mod state;
mod states;
mod status;
mod sync;
mod syncer;
#[cfg(test)]
mod testing;
mod triggers;
mod unknown;
mod vanished;
mod write;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Cloud, Description};
use k8s_openapi::api::core::v1::Service;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::info;

pub use self::selectors::check_node_selector;
use crate::context::{Context, Task};
use crate::error::BackOff;
use crate::liveness::Liveness;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::watched::WatchWriter;
use crate::worker::{self, random};

use self::changes::BackendChanges;
use self::confirmations::Confirmations;
use self::desired::ServedCluster;
use self::inventory::LoadBalancerLists;
pub use self::inventory::Options as InventoryOptions;
use self::lister::Lister;
use self::node_follower::NodeFollower;
use self::reaper::Reaper;
use self::services::Services;
use self::shared::SharedState;
use self::state::Counted;
use self::states::States;
use self::syncer::Syncer;

/// The source of this controller's events.
const COMPONENT: &str = "service-controller";
/// The name in metrics of the queue of Services.
const SERVICES: &str = "service";
/// The name in metrics of the queue of node changes.
const NODES: &str = "node";
/// The longest pause of the back-off, in first pauses.
const LONGEST: u32 = 60;

/// How much this controller does at once, and how often.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// Services that are worked on side by side: `--concurrent-service-syncs`, at least 1.
    pub syncs: usize,
    /// `--cluster-name`: part of what marks a load balancer as the cluster's.
    pub cluster_name: String,
    /// `--load-balancer-class`: Services of this class are looked after too.
    pub class: Option<String>,
    /// The pause after the first failure; it doubles with each further one, up to 60 times as much.
    pub retry_base: Duration,
    /// How load balancers are looked after beyond what Services ask for.
    pub inventory: InventoryOptions,
}

/// The controller, unless the cloud has no load balancers. When it ends, Services that are being worked on are finished
/// first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    let cloud = context.account.guard(cloud.clone());
    let load_balancers = cloud.load_balancers.clone()?;
    let (nodes, metrics) = (context.nodes.clone(), context.metrics.clone());
    let syncs = side_by_side(options.syncs, &cloud.description.now());
    let (services, writer) = Services::new();
    let confirmations = Arc::new(Confirmations::new(context.inventory(&cloud), nodes.clone()));
    let confirms = confirmations.are_possible();
    let changes =
        Arc::new(BackendChanges::new(nodes.clone(), cloud.description.clone(), confirms, metrics.queue(NODES)));
    let counted = Counted {
        requested: context.requested.clone(),
        provider: cloud.description.clone(),
        node_changes: changes.node_changes(),
    };
    let lists = cloud
        .load_balancer_inventory
        .map(|it| Arc::new(LoadBalancerLists::new(it, cloud.description.clone(), options.inventory, Instant::now())));
    let shared = Arc::new(SharedState {
        client: context.client.clone(),
        cluster: ServedCluster { name: options.cluster_name, class: options.class, description: cloud.description },
        load_balancers,
        services,
        states: States::new(counted),
        queue: Arc::new(WorkQueue::new(metrics.queue(SERVICES), Limits::per_key(), random)),
        versions: cloud.identity.versions(),
        requested: context.requested.clone(),
        recorder: context.events.recorder(COMPONENT),
        metrics,
    });
    let syncer = Arc::new(Syncer {
        shared: shared.clone(),
        facts: context.facts.clone(),
        lists: lists.clone(),
        nodes: nodes.clone(),
        changes: changes.clone(),
        confirmations: confirmations.clone(),
        vanished: Mutex::default(),
        events: Mutex::default(),
        back_off: BackOff { first: options.retry_base, longest: options.retry_base.saturating_mul(LONGEST) },
    });
    let node_follower = Arc::new(NodeFollower { shared: shared.clone(), nodes: nodes.clone(), changes, confirmations });
    let inventory = lists.map(|lists| {
        let reaper = Arc::new(Reaper { shared: shared.clone(), lists: lists.clone(), orphans: Mutex::default() });
        (Arc::new(Lister { shared, lists, reaper: reaper.clone() }), reaper)
    });
    let liveness = Liveness::default();
    let run = run(syncer, node_follower, inventory, writer, syncs, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

/// How many Services are worked on side by side: no more than the provider writes load balancers at a time. Where it takes several
/// in one call, as many as fill its calls, since whoever waits for others costs nothing.
fn side_by_side(syncs: usize, description: &Description) -> usize {
    if let Some(all) = description.load_balancer_batches.and_then(|it| usize::try_from(it).ok()) {
        return all.max(syncs);
    }
    let most = description.load_balancer_concurrency.and_then(|it| usize::try_from(it).ok()).unwrap_or(syncs);
    if most < syncs {
        info!(
            "{most} Services are worked on side by side, and not {syncs} as --concurrent-service-syncs says: the provider {} \
             writes no more load balancers at a time",
            description.name,
        );
    }
    most.min(syncs)
}

/// Runs the four parts until `shutdown`. Without `inventory`, this cloud cannot list load balancers.
async fn run(
    syncer: Arc<Syncer>,
    node_follower: Arc<NodeFollower>,
    inventory: Option<(Arc<Lister>, Arc<Reaper>)>,
    writer: WatchWriter<Service>,
    workers: usize,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    let shared = syncer.shared.clone();
    let mut background = JoinSet::new();
    background.spawn(syncer.clone().watch_services(writer));
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = async { tokio::join!(syncer.nodes.synced(), shared.services.synced()); } => {}
        () = &mut shutdown => return,
    }
    node_follower.listen();
    background.spawn(node_follower.clone().confirm_backends());
    background.spawn(node_follower.follow());
    background.spawn(syncer.clone().look_after_waiting());
    if let Some((lister, reaper)) = inventory {
        background.spawn(lister.follow());
        background.spawn(reaper.delete_orphans());
    }
    worker::run(syncer, shared.queue.clone(), workers, background, &liveness, shutdown).await;
}

#[cfg(test)]
mod tests;
