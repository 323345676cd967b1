//! The cloud-node-lifecycle-controller: it deletes nodes whose machine does not exist any more, and taints those whose
//! machine is stopped.
//!
//! ```text
//! Nodes ► Watchlist: who is not ready, and due ► Inventory: one list for all ► present ► taint on or off
//!                                                   └ missing ► get ► missing ► … once more ► ■ plan::objection
//!                                                                                 └ none ► budget ► Event ► DELETE
//! ```
//!
//! A node is deleted only if its machine was missing in two checks in a row, each an answer of its own to a question
//! about it alone, the last one after a complete list that lacks it too. Errors prove nothing.

mod confirm;
pub(crate) mod plan;
mod watchlist;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use budgets::NodeDeletions;
use cloud_provider::{Cloud, Freshness, State};
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::api::Api;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{error, warn};

use crate::context::{Context, Task};
use crate::error::chain;
use crate::events::Recorder;
use crate::inventory::Inventory;
use crate::inventory::instance_list::InstanceList;
use crate::liveness::{Liveness, Pulse};
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::object::{self, ObjectPart};
use crate::trimmed::Trimmed;

use self::plan::Reason;
use self::watchlist::Watchlist;

pub use budgets::Budget;

/// The source of this controller's events.
const COMPONENT: &str = "cloud-node-lifecycle-controller";
/// Nodes that are asked about at once, and writes that are made at once: fewer than the six calls about instances that a
/// provider runs side by side, so that a cloud that hangs on some nodes leaves room for nodes that join.
const SIDE_BY_SIDE: usize = 5;

/// When this controller checks nodes, and what keeps it from deleting them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// The pause between two passes over all nodes, and the first between two checks of one that is not ready:
    /// `--node-monitor-period`.
    pub monitor_period: Duration,
    /// The least pause between two checks that both have to miss a machine: longer than one answer of the cloud may
    /// serve two questions.
    pub apart: Duration,
    /// No node is deleted in the first time of leadership.
    pub warm_up: Duration,
    /// No node is deleted that is younger.
    pub grace: Duration,
    /// How many nodes are deleted in how long.
    pub budget: Budget,
}

/// The state that the parts of this controller share.
struct LifecycleController {
    api: Api<Trimmed<KubeNode>>,
    nodes: Nodes,
    inventory: Arc<Inventory>,
    recorder: Recorder,
    metrics: Metrics,
    options: Options,
    /// When it began to work.
    began: Instant,
    watchlist: Mutex<Watchlist>,
    deletions: NodeDeletions,
    questions: Semaphore,
    /// When the newest list began by which nodes were checked.
    listed: Mutex<Instant>,
    /// Held by the pass that takes taints off.
    untainting: tokio::sync::Mutex<()>,
    /// Whether the controller is to end: then nothing more is asked, and nothing more deleted.
    ending: watch::Receiver<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            monitor_period: Duration::from_secs(5),
            apart: Duration::from_secs(3),
            warm_up: Duration::from_secs(60),
            grace: Duration::from_secs(300),
            budget: budgets::NODES,
        }
    }
}

/// The controller, unless the cloud has no instances. When it ends, writes that are under way are finished first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    let (end, ending) = watch::channel(false);
    // It begins to work once all nodes are known.
    let began = Instant::now();
    let controller = LifecycleController {
        api: Api::all(context.client.clone()),
        nodes: context.nodes.clone(),
        inventory: context.inventory(cloud)?,
        recorder: context.events.recorder(COMPONENT),
        metrics: context.metrics.clone(),
        options,
        began,
        watchlist: Mutex::new(Watchlist::new(options.monitor_period, options.apart)),
        deletions: context.node_deletions.clone(),
        questions: Semaphore::new(SIDE_BY_SIDE),
        listed: Mutex::new(began),
        untainting: tokio::sync::Mutex::default(),
        ending,
    };
    let liveness = Liveness::default();
    Some(Task::new(liveness.clone(), run(controller, end, liveness, context.shutdown())))
}

async fn run(
    controller: LifecycleController,
    end: watch::Sender<bool>,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = controller.nodes.synced() => {}
        () = &mut shutdown => return,
    }
    let began = Instant::now();
    let controller = Arc::new(LifecycleController { began, listed: Mutex::new(began), ..controller });
    // So that a reason shows before it comes for the first time.
    Reason::LABELS.iter().for_each(|it| drop(controller.metrics.withheld(it)));
    let mut rounds = JoinSet::new();
    let pulse = liveness.pulse(controller.options.monitor_period);
    tokio::select! {
        () = &mut shutdown => {}
        never = controller.monitor(&mut rounds, &pulse) => match never {},
    }
    // Rounds listen as long as they run.
    let _ = end.send(true);
    while rounds.join_next().await.is_some() {}
}

impl LifecycleController {
    /// Makes pass after pass. No pass waits for the cloud: that is done in `rounds`.
    async fn monitor(self: &Arc<Self>, rounds: &mut JoinSet<()>, pulse: &Pulse) -> Infallible {
        loop {
            pulse.beat();
            self.pass(rounds);
            while let Some(ended) = rounds.try_join_next() {
                if let Err(panic) = ended {
                    error!(error = chain(&panic), "a check of the nodes ended");
                }
            }
            tokio::time::sleep(self.options.monitor_period).await;
        }
    }

    fn pass(self: &Arc<Self>, rounds: &mut JoinSet<()>) {
        let nodes = self.nodes.all();
        let stays = |it: &Arc<KubeNode>| self.inventory.covers(it) && it.metadata.deletion_timestamp.is_none();
        let (ready, not_ready): (Vec<_>, Vec<_>) = nodes.into_iter().filter(stays).partition(|it| plan::is_ready(it));
        let tainted: Vec<_> = ready.into_iter().filter(|it| plan::is_tainted(it)).collect();
        if !tainted.is_empty() {
            let controller = self.clone();
            rounds.spawn(async move { controller.untaint(tainted).await });
        }
        let there = self.newer_list();
        let taken = self.watchlist().take(&not_ready, there.as_ref().map(|it| it.began), Instant::now());
        if !taken.due.is_empty() || !taken.early.is_empty() {
            let controller = self.clone();
            rounds.spawn(async move { controller.contained_round(taken, there).await });
        }
    }

    /// A list that others have asked for since the last pass: it costs nothing to check nodes by it.
    fn newer_list(&self) -> Option<Arc<InstanceList>> {
        let mut listed = self.listed.lock();
        let newest = self.inventory.known_list(Freshness::since(*listed))?;
        let is_new = newest.began > *listed;
        *listed = newest.began.max(*listed);
        is_new.then_some(newest)
    }

    /// Takes the taint of a stopped machine off nodes that are ready.
    async fn untaint(&self, nodes: Vec<Arc<KubeNode>>) {
        // An API server that is late gets the same writes only once.
        let Ok(_turn) = self.untainting.try_lock() else { return };
        let untaint = |node: Arc<KubeNode>| async {
            self.mark(node, State::Running, plan::is_ready).await;
        };
        stream::iter(nodes).for_each_concurrent(SIDE_BY_SIDE, untaint).await;
    }

    /// Sets or removes the taint of a stopped machine, as long as the node `still` is what it was. Returns whether that
    /// went well.
    async fn mark(&self, node: Arc<KubeNode>, state: State, still: impl Fn(&KubeNode) -> bool) -> bool {
        let name = node.name_any();
        let desired = |node: &KubeNode| {
            let desired = if still(node) { plan::with_state(node, state) } else { node.clone() };
            Ok::<_, object::Error>(desired)
        };
        let written = self.nodes.write(&self.api, node, ObjectPart::Object, desired).await;
        if let Err(error) = &written {
            warn!(node = name, "cannot change the taint of node {name}: {}; it is tried again later", chain(error));
        }
        written.is_ok()
    }

    fn watchlist(&self) -> MutexGuard<'_, Watchlist> {
        self.watchlist.lock()
    }

    /// Waits until the controller is to end.
    async fn ending(&self) {
        // An error means that the sender is gone, and with it the controller.
        let _ = self.ending.clone().wait_for(|it| *it).await;
    }
}

#[cfg(test)]
mod tests;
