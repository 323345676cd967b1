//! The range allocator: each node gets the next free block of each cluster CIDR.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::node_object::KubeNode;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use tracing::{debug, warn};

use crate::error::{self, BackOff, Pause, SHOWN, back_off, chain};
use crate::events::{EventKind, Recorder, reference};
use crate::metrics::CidrMetrics;
use crate::node_ipam::allocations::{Allocations, Usage};
use crate::node_ipam::foreign::Foreign;
use crate::node_ipam::plan::{self, Decision, WriteOutcome, decide, has_networks, reread, settle, uid};
use crate::node_ipam::requests::{self, MayWrite, TRIES};
use crate::nodes::Nodes;
use crate::object;
use crate::queue::pump::WorkQueue;
use crate::worker::{NextSync, Reconcile};

/// The reason of an event about a network that was not given out here.
const FOREIGN: &str = "ForeignPodCIDR";

/// The range allocator.
pub(super) struct RangeAllocator {
    pub(super) client: Client,
    pub(super) nodes: Nodes,
    pub(super) recorder: Recorder,
    /// Whether writes of a process before this one may be under way.
    pub(super) marks: bool,
    pub(super) may_write: MayWrite,
    pub(super) blocks: Arc<Blocks>,
}

/// The blocks, shared by the workers and the watch.
pub(super) struct Blocks {
    allocations: Mutex<Allocations>,
    /// Nodes for which there was no block.
    without: Mutex<BTreeSet<String>>,
    /// Nodes as their marks left them, by UID, until each is written: the watch may not show the mark yet.
    marked: Mutex<BTreeMap<String, KubeNode>>,
    /// The marks that nodes do not have yet, by UID: until then they get nothing.
    unmarked: Mutex<BTreeMap<String, String>>,
    metrics: CidrMetrics,
}

/// Why a node has not got its networks.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// There are none for it, or what it has is unusable.
    #[error(transparent)]
    Plan(#[from] plan::Error),
    /// The API server did not take them.
    #[error("failed to update node {node} with its pod networks")]
    Write {
        /// The node's name.
        node: String,
        /// Why.
        source: object::Error,
    },
    /// It is not known whether the API server took them.
    #[error("failed to read node {node}, of which it is not known whether it has got its pod networks")]
    Read {
        /// The node's name.
        node: String,
        /// Why.
        source: object::Error,
    },
    /// The API server does not take its mark.
    #[error("failed to mark node {node}, which gets no pod networks until then")]
    Mark {
        /// The node's name.
        node: String,
        /// Why.
        source: object::Error,
    },
    /// Another process may write by now.
    #[error("the Lease is not held: node {0} gets no pod networks from this process")]
    NotLeading(String),
}

impl Blocks {
    pub(super) fn new(allocations: Allocations, metrics: CidrMetrics) -> Self {
        let allocations = Mutex::new(allocations);
        let (without, marked, unmarked) = Default::default();
        let blocks = Self { allocations, without, marked, unmarked, metrics };
        blocks.with(|_| ());
        blocks
    }

    /// Decides something, and writes down what has changed.
    pub(super) fn with<T>(&self, decide: impl FnOnce(&mut Allocations) -> T) -> T {
        let mut allocations = self.allocations.lock();
        let decided = decide(&mut allocations);
        let usage = allocations.usage();
        drop(allocations);
        observe(&self.metrics, usage);
        decided
    }

    /// Takes what a node has.
    pub(super) fn store(&self, node: &KubeNode) -> Result<(), Foreign> {
        self.with(|allocations| plan::store(node, allocations))
    }

    /// Keeps a node as its mark left it.
    pub(super) fn keep_marked(&self, node: KubeNode) {
        self.marked.lock().insert(uid(&node).to_owned(), node);
    }

    /// A node gets nothing until it has this mark.
    pub(super) fn put_aside(&self, node: &KubeNode, mark: &str) {
        self.unmarked.lock().insert(uid(node).to_owned(), mark.to_owned());
    }

    /// The mark that a node lacks.
    pub(super) fn mark_of(&self, uid: &str) -> Option<String> {
        self.unmarked.lock().get(uid).cloned()
    }

    /// A node does not lack its mark any more.
    pub(super) fn take_back(&self, uid: &str) {
        self.unmarked.lock().remove(uid);
    }

    /// The watch shows a change. What a node has is taken at once, before anything else is given out.
    pub(super) fn changed(&self, before: Option<&KubeNode>, after: Option<&KubeNode>, queue: &WorkQueue) {
        let gone = before.filter(|before| after.is_none_or(|after| uid(after) != uid(before)));
        if let Some(gone) = gone {
            self.with(|allocations| allocations.release(uid(gone)));
            self.marked.lock().remove(uid(gone));
            self.take_back(uid(gone));
            let waiting = self.without.lock().pop_first();
            waiting.iter().for_each(|it| queue.add(it));
        }
        let Some(node) = after else { return };
        let before = before.filter(|_| gone.is_none());
        let name = node.name_any();
        if has_networks(node) {
            if before.is_some_and(|it| plan::networks(it).eq(plan::networks(node))) {
                return;
            }
            // A worker shows what is foreign.
            if self.store(node).is_err() {
                queue.add(&name);
            }
        } else if before.is_none() {
            queue.add(&name);
        } else {
            queue.add_unless_paused(&name);
        }
    }
}

impl RangeAllocator {
    /// Writes a node's networks.
    async fn write(&self, node: &KubeNode, decision: Decision) -> Result<(), Error> {
        let (name, uid) = (node.name_any(), uid(node).to_owned());
        let (mut node, mut decision, mut refused) = (node.clone(), decision, None);
        for _ in 0..TRIES {
            let cidrs = match decision {
                Decision::Nothing => return Ok(()),
                Decision::Write(ref cidrs) => cidrs.clone(),
                Decision::Read(_) => {
                    (decision, node) = self.read(&name, &uid, node).await?;
                    let Decision::Write(cidrs) = &decision else { return Ok(()) };
                    cidrs.clone()
                }
            };
            if !(self.may_write)() {
                self.blocks.with(|it| settle(it, &uid, WriteOutcome::No));
                return Err(Error::NotLeading(name));
            }
            let Err(error) = requests::write(&self.client, &node, &cidrs).await else {
                self.blocks.with(|it| settle(it, &uid, WriteOutcome::Yes));
                debug!(node = name, ?cidrs, "the node has got its pod networks");
                return Ok(());
            };
            debug!(node = name, error = chain(&error), "the node's pod networks were not written");
            let written = requests::written(&error);
            if written == WriteOutcome::Perhaps {
                self.blocks.with(|it| settle(it, &uid, written));
            }
            if written == WriteOutcome::Perhaps || requests::is_outdated(&error) {
                decision = Decision::Read(cidrs);
            }
            refused = Some(error);
        }
        // The last write, too, may have happened.
        if let Decision::Read(_) = decision {
            (decision, node) = self.read(&name, &uid, node).await?;
            if decision == Decision::Nothing {
                return Ok(());
            }
        }
        self.record(&node, "CIDRAssignmentFailed");
        self.blocks.with(|it| settle(it, &uid, WriteOutcome::No));
        match refused {
            Some(source) => Err(Error::Write { node: name, source }),
            None => Ok(()),
        }
    }

    /// Reads a node, and settles what that shows. Returns it as it is now.
    async fn read(&self, name: &str, uid: &str, known: KubeNode) -> Result<(Decision, KubeNode), Error> {
        let live = requests::read(&self.client, name).await;
        let live = live.map_err(|source| Error::Read { node: name.to_owned(), source })?;
        let decision = self.blocks.with(|it| reread(it, uid, live.as_ref()))?;
        Ok((decision, live.unwrap_or(known)))
    }

    fn record(&self, node: &KubeNode, reason: &str) {
        let message = format!("Node {} status is now: {reason}", node.name_any());
        self.recorder.record(reference(node), EventKind::Normal, reason, &message);
    }
}

impl Reconcile for RangeAllocator {
    type Error = Error;

    async fn sync(&self, name: &str) -> Result<NextSync, Error> {
        if let Some(node) = self.nodes.get(name) {
            self.mark_late(&node).await?;
        }
        // The node is looked up under the lock: if the watch shows its end later, it finds what is set aside here.
        let decided = self.blocks.with(|allocations| {
            let node = self.nodes.get(name)?;
            let decision = decide(&node, allocations);
            Some((node, decision))
        });
        let Some((node, decision)) = decided else { return Ok(NextSync::Done) };
        match &decision {
            Err(plan::Error::Exhausted { .. }) => {
                self.blocks.without.lock().insert(name.to_owned());
                self.record(&node, "CIDRNotAvailable");
            }
            Err(plan::Error::Foreign(foreign)) => {
                self.recorder.record(reference(&*node), EventKind::Warning, FOREIGN, &foreign.told());
            }
            Ok(_) => {}
        }
        let decision = decision?;
        let marked = self.blocks.marked.lock().remove(uid(&node));
        self.write(marked.as_ref().unwrap_or(&node), decision).await?;
        Ok(NextSync::Done)
    }

    fn show(&self, name: &str, error: &Error, _: u32) {
        let next = match error {
            Error::Plan(plan::Error::Exhausted { .. }) => {
                "tried again when a node is deleted, and with growing pauses; a larger --cluster-cidr or a longer \
                 --node-cidr-mask-size has room for more nodes"
            }
            Error::Plan(plan::Error::Foreign(_)) => {
                "it gets no block; delete the node and let its kubelet register again, or correct --cluster-cidr"
            }
            Error::Write { .. } | Error::Read { .. } | Error::Mark { .. } => "tried again with growing pauses",
            Error::NotLeading(_) => "the process that holds it does",
        };
        warn!(next, "error syncing '{name}': {}, requeuing", chain(error));
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        match error {
            Error::Plan(plan::Error::Exhausted { .. })
            | Error::Write { .. }
            | Error::Read { .. }
            | Error::Mark { .. } => Pause::AtLeast(back_off(failures)),
            Error::Plan(plan::Error::Foreign(_)) | Error::NotLeading(_) => Pause::AtLeast(SHOWN),
        }
    }

    fn back_off(&self) -> BackOff {
        error::NODES
    }
}

/// Writes down what has happened since the last time.
fn observe(metrics: &CidrMetrics, usages: Vec<Usage>) {
    for Usage { cluster, used, size, count } in usages {
        let cluster = cluster.to_string();
        metrics.allocations(&cluster).inc_by(count.taken);
        metrics.releases(&cluster).inc_by(count.released);
        metrics.usage(&cluster).set(used as f64 / size as f64);
        metrics.most(&cluster).set(size as f64);
        let tries = metrics.tries(&cluster);
        count.tries.iter().for_each(|it| tries.observe(*it as f64));
    }
}
