//! The cloud-node-controller: it initialises nodes that join, keeps their labels in step, and their addresses up to date.

mod addresses;
mod controller;
pub(crate) mod plan;
mod refresh;
mod sync;
mod unreached;

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Cloud;
use kube::ResourceExt;
use kube::api::Api;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::account::changed;
use crate::context::{Context, Task};
use crate::inventory::{COMPONENT, Inventory};
use crate::liveness::Liveness;
use crate::nodes::Nodes;
use crate::outage::Outage;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::worker::{self, random};

use self::controller::NodeController;
use self::plan::NodeChange;

/// The queue's name in metrics.
const QUEUE: &str = "Nodes";

/// How much this controller does at once, and how often.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// Nodes that are initialised side by side: `--concurrent-node-syncs`, at least 1.
    pub syncs: usize,
    /// Nodes whose addresses are updated side by side: `--concurrent-node-status-updates`; 0 means as many as `syncs`.
    pub status_updates: usize,
    /// The pause between two passes over all addresses: `--node-status-update-frequency`.
    pub status_update_frequency: Duration,
}

/// The controller, unless the cloud has no instances. When it ends, nodes that are being worked on are finished first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    let controller = NodeController {
        api: Api::all(context.client.clone()),
        nodes: context.nodes.clone(),
        inventory: context.inventory(cloud)?,
        recorder: context.events.recorder(COMPONENT),
        metrics: context.metrics.clone(),
    };
    let liveness = Liveness::default();
    let (controller, outage) = (Arc::new(controller), context.outage.clone());
    Some(Task::new(liveness.clone(), run(controller, options, outage, liveness, context.shutdown())))
}

async fn run(
    controller: Arc<NodeController>,
    options: Options,
    outage: Outage,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    let start = Instant::now();
    let nodes = controller.nodes.clone();
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = nodes.synced() => {}
        () = &mut shutdown => return,
    }
    let limits = Limits::shared(Instant::now());
    let queue = Arc::new(WorkQueue::new(controller.metrics.queue(QUEUE), limits, random));

    // Taken before any worker runs: the first pass is about nodes that were initialised before this process started.
    let existing = nodes.all();
    let mut background = JoinSet::new();
    let (frequency, parallel) = (options.status_update_frequency, options.refreshes());
    let pulse = liveness.pulse(frequency);
    background.spawn(refresh::run(controller.clone(), existing, start, frequency, parallel, pulse));
    background.spawn(unreached::tell(controller.clone(), outage));
    background.spawn(retry_with_new_credentials(controller.inventory.clone(), nodes.clone(), queue.clone()));

    let listening = queue.clone();
    nodes.listen(move |before, node| {
        let Some(node) = node else { return };
        match plan::change(before, node) {
            NodeChange::Nothing => {}
            NodeChange::Same => listening.add_unless_paused(&node.name_any()),
            NodeChange::Different => listening.add(&node.name_any()),
        }
    });
    worker::run(controller, queue, options.syncs, background, &liveness, shutdown).await;
}

/// Puts waiting nodes into the queue whenever a credential has changed: what was refused with the old one may be allowed
/// with the new one, and a pause because of the provider before is over. A pause that the cloud asked for holds: no request
/// leaves before its end.
async fn retry_with_new_credentials(inventory: Arc<Inventory>, nodes: Nodes, queue: Arc<WorkQueue>) {
    let mut versions = inventory.credentials();
    loop {
        changed(&mut versions).await;
        nodes.waiting_names().iter().for_each(|it| queue.add_despite_pause(it));
    }
}

impl Options {
    /// How many nodes' addresses are updated side by side.
    fn refreshes(&self) -> usize {
        if self.status_updates == 0 { self.syncs.max(1) } else { self.status_updates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_054_the_address_loop_has_as_many_workers_by_default() {
        let refreshes = |syncs, status_updates| {
            Options { syncs, status_updates, status_update_frequency: Duration::ZERO }.refreshes()
        };
        assert_eq!(refreshes(4, 0), 4);
        assert_eq!(refreshes(4, 7), 7);
        assert_eq!(refreshes(0, 0), 1);
    }
}
