//! The cloud-node-controller: it initialises nodes that join, keeps their labels in step, and their addresses up to date.

mod addresses;
pub(crate) mod plan;
mod refresh;
mod sync;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use kube::{Client, ResourceExt};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::warn;

use crate::error::{self, BackOff, Pause, chain};
use crate::events::{EventKind, Recorder, reference};
use crate::inventory::Inventory;
use crate::liveness::Liveness;
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::object::{self, Part};
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::worker::{self, Next, Reconcile, random};

use self::plan::Change;
use self::sync::Error;

/// The source of this controller's events.
pub const COMPONENT: &str = "cloud-node-controller";
/// The queue's name in metrics.
const QUEUE: &str = "Nodes";
/// How often it is looked whether the credentials have changed.
const CREDENTIALS: Duration = Duration::from_secs(1);

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

/// What the parts of this controller share.
struct Controller {
    api: Api<Trimmed<Node>>,
    nodes: Nodes,
    inventory: Arc<Inventory>,
    recorder: Recorder,
    metrics: Metrics,
}

/// Runs the controller until `shutdown` is ready; then nodes that are being worked on are finished.
///
/// `recorder` writes as [`COMPONENT`]. The watch of `nodes` has to run beside. `liveness` tells whether it gets anywhere.
#[expect(clippy::too_many_arguments, reason = "each is another thing, and passed in by its name")]
pub async fn run(
    client: Client,
    nodes: Nodes,
    inventory: Arc<Inventory>,
    recorder: Recorder,
    metrics: Metrics,
    options: Options,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    let start = Instant::now();
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = nodes.synced() => {}
        () = &mut shutdown => return,
    }
    let limits = Limits::shared(Instant::now());
    let queue = Arc::new(WorkQueue::new(metrics.queue(QUEUE), limits, random));
    let controller = Arc::new(Controller { api: Api::all(client), nodes: nodes.clone(), inventory, recorder, metrics });

    // Taken before any worker runs: the first pass is about nodes that were initialised before this process came.
    let existing = nodes.store().state();
    let mut background = JoinSet::new();
    let pulse = liveness.pulse(options.status_update_frequency);
    background.spawn(refresh::run(controller.clone(), existing, start, options, pulse));
    let (trying, known) = (queue.clone(), (controller.inventory.clone(), nodes.clone()));
    background.spawn(async move {
        let (inventory, nodes) = known;
        let mut version = inventory.credentials();
        loop {
            tokio::time::sleep(CREDENTIALS).await;
            // What was refused with the old one may be allowed with the new.
            if std::mem::replace(&mut version, inventory.credentials()) != version {
                nodes.waiting_names().iter().for_each(|it| trying.add(it));
            }
        }
    });

    let listening = queue.clone();
    nodes.listen(move |before, node| {
        let Some(node) = node else { return };
        match plan::change(before, node) {
            Change::Nothing => {}
            Change::Same => listening.add_unless_paused(&node.name_any()),
            Change::Different => listening.add(&node.name_any()),
        }
    });
    worker::run(controller, queue, options.syncs, background, &liveness, shutdown).await;
}

impl Options {
    /// How many nodes' addresses are updated side by side.
    fn refreshes(&self) -> usize {
        if self.status_updates == 0 { self.syncs.max(1) } else { self.status_updates }
    }
}

impl Controller {
    /// As [`Nodes::write`].
    async fn write<E>(
        &self,
        node: Arc<Node>,
        part: Part,
        plan: impl FnMut(&Node) -> Result<Node, E>,
    ) -> Result<Option<Arc<Node>>, E>
    where
        E: From<object::Error>,
    {
        self.nodes.write(&self.api, node, part, plan).await
    }
}

impl Reconcile for Controller {
    type Error = Error;

    async fn sync(&self, name: &str) -> Result<Next, Error> {
        self.bring(name).await.map(|()| Next::Done)
    }

    // In the log, and where a person has to act also on the node.
    fn show(&self, name: &str, error: &Error) {
        let text = chain(error);
        warn!(next = error.next(), "error syncing '{name}': {text}, requeuing");
        if let Some(asked) = error.cut_pause() {
            warn!(node = name, "the cloud asks for a pause of {} s; it gets an hour", asked.as_secs());
        }
        if let (Some(reason), Some(node)) = (error.reason(), self.nodes.get(name)) {
            self.recorder.record(reference(node.as_ref()), EventKind::Warning, reason, &text);
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        error::NODES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_054_the_address_loop_is_as_wide_as_the_workers_unless_it_is_told() {
        let refreshes = |syncs, status_updates| {
            Options { syncs, status_updates, status_update_frequency: Duration::ZERO }.refreshes()
        };
        assert_eq!(refreshes(4, 0), 4);
        assert_eq!(refreshes(4, 7), 7);
        assert_eq!(refreshes(0, 0), 1);
    }
}
