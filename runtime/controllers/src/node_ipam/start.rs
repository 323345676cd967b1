//! Before the first network is given out: what all nodes have is known, and no write of an earlier process happens any
//! more.

use std::time::Duration;

use crate::node_object::KubeNode;
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use tracing::{info, warn};

use crate::error::chain;
use crate::events::{EventKind, reference};
use crate::node_fields::{POD_CIDR_MARK, pod_cidr_mark};
use crate::node_ipam::foreign::{WrongFlag, check_flag};
use crate::node_ipam::plan::{self, has_networks, uid};
use crate::node_ipam::range::{Error, RangeAllocator};
use crate::node_ipam::requests::{self, TRIES, WORKERS};
use crate::object::{self, answer};
use crate::trimmed::Trimmed;
use crate::worker::random;

/// How many nodes one answer holds.
const PAGE: u32 = 500;
/// The first pause between two attempts, and the longest: the first doubles.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The reason of an event about a node that cannot be marked.
const UNMARKED: &str = "PodCIDRMarkRefused";

impl RangeAllocator {
    /// Takes what all nodes have, and marks those that have nothing or puts them aside, unless the process before this one ended its work: a
    /// write of its, which may be held up on its way, is refused from then on.
    ///
    /// The nodes are listed and not taken from the watch, which may lag behind what another owner has given out.
    ///
    /// # Errors
    ///
    /// If most nodes have networks outside of the cluster CIDRs.
    pub(super) async fn start(&self) -> Result<(), WrongFlag> {
        let nodes = again("list the nodes", || self.list()).await;
        let (all, mut bare, mut foreign) = (nodes.len(), Vec::new(), Vec::new());
        for node in nodes {
            if has_networks(&node) {
                // A worker shows it, once the watch is listened to.
                foreign.extend(self.blocks.store(&node).err());
            } else if self.marks {
                bare.push(node);
            }
        }
        check_flag(all, &foreign, self.blocks.with(|it| it.clusters().collect()))?;
        let mark = format!("{:08x}", (random() * f64::from(u32::MAX)) as u32);
        if !bare.is_empty() {
            info!(
                "{} nodes have no pod networks yet; they are marked, so that no earlier write happens late",
                bare.len()
            );
        }
        stream::iter(bare).for_each_concurrent(WORKERS, |node| self.mark(node, &mark)).await;
        Ok(())
    }

    /// Marks a node. It is not needed once it has networks, or is gone.
    ///
    /// A kubelet can write so much on its Node that each mark is refused. Such a node is put aside after some tries: it gets no block
    /// until it is marked, and keeps nobody else waiting.
    async fn mark(&self, node: KubeNode, mark: &str) {
        let (name, uid) = (node.name_any(), uid(&node).to_owned());
        let (mut known, mut refused, mut pause) = (Some(node), 0, PAUSE);
        loop {
            let what = format!("read node {name}");
            let node = match known.take() {
                Some(node) => node,
                None => match again(&what, || requests::read(&self.client, &name)).await {
                    Some(node) if plan::uid(&node) == uid => node,
                    _ => return,
                },
            };
            if !(self.may_write)() {
                tokio::time::sleep(LONGEST_PAUSE).await;
                continue;
            }
            match self.try_mark(&node, mark).await {
                Ok(()) => return,
                Err(error) if requests::is_judged(&error) => {
                    refused += 1;
                    if refused == TRIES {
                        self.blocks.put_aside(&node, mark);
                        self.tell_unmarked(&node, &error);
                        return;
                    }
                }
                Err(error) => warn!(node = name, "the node cannot be marked: {}; trying again", chain(&error)),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Marks a node as it was read.
    async fn try_mark(&self, node: &KubeNode, mark: &str) -> Result<(), object::Error> {
        if has_networks(node) {
            // A worker shows what is foreign.
            let _ = self.blocks.store(node);
        } else if pod_cidr_mark(node) != Some(mark) {
            self.blocks.keep_marked(requests::mark(&self.client, node, mark).await?);
        }
        Ok(())
    }

    /// Marks a node that was put aside.
    ///
    /// # Errors
    ///
    /// If it is not marked yet.
    pub(super) async fn mark_late(&self, node: &KubeNode) -> Result<(), Error> {
        let (name, uid) = (node.name_any(), uid(node));
        let Some(mark) = self.blocks.mark_of(uid) else { return Ok(()) };
        if !(self.may_write)() {
            return Err(Error::NotLeading(name));
        }
        let live = requests::read(&self.client, &name).await;
        let live = live.map_err(|source| Error::Read { node: name.clone(), source })?;
        if let Some(live) = live.filter(|it| plan::uid(it) == uid)
            && let Err(source) = self.try_mark(&live, &mark).await
        {
            self.tell_unmarked(&live, &source);
            return Err(Error::Mark { node: name, source });
        }
        self.blocks.take_back(uid);
        Ok(())
    }

    fn tell_unmarked(&self, node: &KubeNode, error: &object::Error) {
        let message = format!(
            "The node cannot be marked, and gets no pod network until it is: {}. Look for annotations that fill it, and for \
             something that changes its annotation {POD_CIDR_MARK}; tried again with growing pauses",
            chain(error)
        );
        self.recorder.record(reference(node), EventKind::Warning, UNMARKED, &message);
    }

    /// All nodes, as they are now.
    async fn list(&self) -> Result<Vec<KubeNode>, object::Error> {
        let api: Api<Trimmed<KubeNode>> = Api::all(self.client.clone());
        let (mut nodes, mut parameters) = (Vec::new(), ListParams::default().limit(PAGE));
        loop {
            let page = answer(api.list(&parameters)).await?;
            nodes.extend(page.items.into_iter().map(|Trimmed(node)| node));
            match page.metadata.continue_.filter(|it| !it.is_empty()) {
                Some(next) => parameters = parameters.continue_token(&next),
                None => return Ok(nodes),
            }
        }
    }

    /// Gives back what nodes have that were listed and are gone, where the watch had shown their end before.
    pub(super) async fn forget_gone(&self) {
        let listed: Vec<_> =
            self.blocks.with(|it| it.all().map(|(uid, node)| (uid.to_owned(), node.to_owned())).collect());
        for (uid, name) in listed {
            if self.nodes.get(&name).is_some_and(|it| plan::uid(&it) == uid) {
                continue;
            }
            let what = format!("read node {name}");
            let live = again(&what, || requests::read(&self.client, &name)).await;
            if live.is_none_or(|it| plan::uid(&it) != uid) {
                self.blocks.with(|allocations| allocations.release(&uid));
            }
        }
    }
}

/// Asks until there is an answer.
async fn again<T, F: Future<Output = Result<T, object::Error>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let mut pause = PAUSE;
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => warn!("cannot {what}: {}; nothing is given out until then; trying again", chain(&error)),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
