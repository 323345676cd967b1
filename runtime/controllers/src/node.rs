//! The cloud-node-controller: it initialises nodes that join, keeps their labels in step, and their addresses up to date.

mod addresses;
pub(crate) mod plan;
mod refresh;
mod sync;

use std::any::Any;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use kube::{Client, ResourceExt};
use tokio::task::JoinSet;
use tracing::{debug, error, warn};

use crate::error::{Pause, back_off, chain};
use crate::events::{Recorder, Severity, reference};
use crate::inventory::Inventory;
use crate::metrics::Metrics;
use crate::nodes::{self, Nodes};
use crate::object::{self, Part};
use crate::queue::pump::WorkQueue;

use self::plan::Change;
use self::sync::Error;

/// The source of this controller's events.
pub const COMPONENT: &str = "cloud-node-controller";
/// The queue's name in metrics.
const QUEUE: &str = "Nodes";
/// How often a write is tried while others change the node.
const CONFLICTS: u32 = 20;
/// The shortest pause between two of these tries; the longest is twice that.
const CONFLICT_PAUSE: Duration = Duration::from_millis(50);
/// How often the gauges of the queue are written.
const OBSERVE: Duration = Duration::from_millis(500);

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
    api: Api<Node>,
    nodes: Nodes,
    inventory: Arc<Inventory>,
    recorder: Recorder,
    metrics: Metrics,
}

/// Runs the controller until `shutdown` is ready; then nodes that are being worked on are finished.
///
/// `recorder` writes as [`COMPONENT`]. The watch of `nodes` has to run beside.
pub async fn run(
    client: Client,
    nodes: Nodes,
    inventory: Arc<Inventory>,
    recorder: Recorder,
    metrics: Metrics,
    options: Options,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = nodes.synced() => {}
        () = &mut shutdown => return,
    }
    let queue = Arc::new(WorkQueue::new(metrics.queue(QUEUE), random));
    let controller = Arc::new(Controller { api: Api::all(client), nodes: nodes.clone(), inventory, recorder, metrics });

    // Taken before any worker runs: the first pass is about nodes that were initialised before this process came.
    let standing = nodes.store().state();
    let mut background = JoinSet::new();
    background.spawn(refresh::run(controller.clone(), standing, options));
    background.spawn(observe(queue.clone()));

    let listening = queue.clone();
    nodes.listen(move |before, node| {
        let Some(node) = node else { return };
        match plan::change(before, node) {
            Change::Nothing => {}
            Change::Same => listening.add_unless_paused(&node.name_any()),
            Change::Different => listening.add(&node.name_any()),
        }
    });
    let mut workers = JoinSet::new();
    for _ in 0..options.syncs.max(1) {
        workers.spawn(work(controller.clone(), queue.clone()));
    }
    tokio::select! {
        () = &mut shutdown => {}
        // A worker ends only if it panicked outside of a node's work, which is contained.
        Some(Err(panic)) = workers.join_next() => error!(error = chain(&panic), "a worker ended"),
        Some(Err(panic)) = background.join_next() => error!(error = chain(&panic), "a background task ended"),
    }
    queue.close();
    while workers.join_next().await.is_some() {}
}

impl Options {
    /// How many nodes' addresses are updated side by side.
    fn refreshes(&self) -> usize {
        if self.status_updates == 0 { self.syncs.max(1) } else { self.status_updates }
    }
}

impl Controller {
    /// Writes what `plan` makes of a node. If others change it meanwhile, `plan` is asked again about the node as it is
    /// by then. Returns the node as it is afterwards, or `None` if it is gone, or another one has its name.
    async fn write<E>(
        &self,
        mut node: Arc<Node>,
        part: Part,
        mut plan: impl FnMut(&Node) -> Result<Node, E>,
    ) -> Result<Option<Arc<Node>>, E>
    where
        E: From<object::Error>,
    {
        let mut tries = 1;
        loop {
            match object::update(&self.api, &node, &plan(&node)?, part).await {
                Ok(Some(mut written)) => {
                    nodes::trim(&mut written);
                    return Ok(Some(Arc::new(written)));
                }
                Ok(None) => return Ok(Some(node)),
                Err(error) if error.is_conflict() && tries < CONFLICTS => {
                    debug!(node = node.name_any(), "the node has changed meanwhile; looking at it again");
                    tries += 1;
                    tokio::time::sleep(CONFLICT_PAUSE.mul_f64(1.0 + random())).await;
                    match self.nodes.get(&node.name_any()) {
                        Some(fresh) if fresh.metadata.uid == node.metadata.uid => node = fresh,
                        _ => return Ok(None),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says in the log, and where a person has to act also on the node, why it could not be synced.
    fn show(&self, name: &str, error: &Error) {
        let text = chain(error);
        warn!(next = error.next(), "error syncing '{name}': {text}, requeuing");
        if let Some(asked) = error.cut_pause() {
            warn!(node = name, "the cloud asks for a pause of {} s; it gets an hour", asked.as_secs());
        }
        if let (Some(reason), Some(node)) = (error.reason(), self.nodes.get(name)) {
            self.recorder.record(reference(node.as_ref()), Severity::Warning, reason, &text);
        }
    }
}

/// Takes nodes from the queue, one after the other, until it is closed.
async fn work(controller: Arc<Controller>, queue: Arc<WorkQueue>) {
    while let Some(work) = queue.next().await {
        let name = work.key().to_owned();
        let outcome = contained(controller.sync(&name)).await;
        match outcome {
            Ok(Ok(())) => work.succeeded(),
            Ok(Err(error)) => {
                controller.show(&name, &error);
                let pause = work.failed(|failures| error.pause(failures));
                debug!(node = name, ?pause, "the node is tried again after a pause");
            }
            Err(panic) => {
                error!("panic syncing '{name}': {panic}, requeuing");
                work.failed(|failures| Pause::AtLeast(back_off(failures)));
            }
        }
    }
}

async fn observe(queue: Arc<WorkQueue>) {
    loop {
        tokio::time::sleep(OBSERVE).await;
        queue.observe();
    }
}

/// What a future gives, or what it said when it panicked.
async fn contained<T>(future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
    })
}

/// A number between 0 and 1, another one each time. It only spreads retries over time.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
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

    #[tokio::test]
    async fn a_panic_is_contained() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        let panic: Result<(), _> = contained(async { panic!("{} went wrong", "it") }).await;
        assert_eq!(panic, Err("it went wrong".to_owned()));
    }

    #[test]
    fn randomness_is_between_zero_and_one() {
        let numbers: Vec<_> = (0..100).map(|_| random()).collect();
        assert!(numbers.iter().all(|it| (0.0..1.0).contains(it)), "{numbers:?}");
        assert!(numbers.iter().any(|it| *it != numbers[0]));
    }
}
