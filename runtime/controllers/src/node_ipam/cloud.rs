//! The cloud allocator: each node gets the network that the cloud has given to its machine.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Error as CloudError, Instance};
use ipnet::IpNet;
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::error::{BackOff, Pause, SHOWN, chain};
use crate::events::{EventKind, Recorder, reference};
use crate::freshness::{NodeCame, POD_NETWORKS};
use crate::inventory::Inventory;
use crate::node_fields::provider_id;
use crate::node_ipam::cidr_set::overlap;
use crate::node_ipam::from_cloud::{self, Family, Lack, is_right, lack};
use crate::node_ipam::judged::{Holder, PodNetworks};
use crate::node_ipam::plan::{self, has_networks, parse, uid};
use crate::node_ipam::requests::{self, MayWrite, TRIES};
use crate::nodes::Nodes;
use crate::object;
use crate::queue::pump::WorkQueue;
use crate::version::is_newer;
use crate::worker::{NextSync, Reconcile};

/// Upstream's first pause. Its longest is 15 s, with a question to the cloud each time, until it gives up.
const BACK_OFF: BackOff = BackOff { first: Duration::from_millis(250), longest: Duration::from_secs(300) };
/// How long the first of many nodes waits for the others, so that one list answers for all.
const GATHER: Duration = Duration::from_millis(100);
/// So many are asked about one by one without waiting.
const FEW: usize = 2;

/// The reason of an event about a network that the cloud names and the node must not get.
const REFUSED: &str = "PodCIDRRefused";
/// The next step for an operator.
const NEXT: &str = "give the machine another pod network in the cloud, or correct --cluster-cidr, \
                    --node-cidr-mask-size or --service-cluster-ip-range; tried again with growing pauses";

/// The cloud allocator.
pub(super) struct CloudAllocator {
    pub(super) client: Client,
    pub(super) nodes: Nodes,
    pub(super) inventory: Arc<Inventory>,
    pub(super) recorder: Recorder,
    pub(super) may_write: MayWrite,
    pub(super) families: Vec<Family>,
    pub(super) known: PodNetworks,
    pub(super) waiting: Arc<WaitingNodes>,
}

/// Nodes that lack something, by their names.
#[derive(Default)]
pub(super) struct WaitingNodes {
    /// Since when.
    since: Mutex<HashMap<String, Instant>>,
    /// The versions with which they lack nothing any more, until the watch has shown them.
    written: Mutex<HashMap<String, String>>,
    /// The networks that nodes have, or are about to get.
    networks: Mutex<HashMap<String, NodeNetworks>>,
}

/// The networks of one node.
struct NodeNetworks {
    /// As its Node has them, or is about to.
    own: Vec<IpNet>,
    /// Those of them that no other node may have a part of.
    counting: Vec<IpNet>,
    /// Whether the cloud has named them, or was asked about them. Otherwise a kubelet may have made them up.
    is_known: bool,
}

/// Why a node does not get what the cloud names for it.
struct Objection {
    error: from_cloud::Error,
    /// The node that has it by nobody's word but its own.
    doubted: Option<String>,
}

/// Why a node has not got its networks.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// There are none for it.
    #[error(transparent)]
    Plan(#[from] from_cloud::Error),
    /// The cloud did not say.
    #[error("failed to get the machine of node {node}")]
    Cloud {
        /// The node's name.
        node: String,
        /// Why.
        source: CloudError,
    },
    /// The API server did not take them.
    #[error("failed to update node {node} with its pod networks")]
    Write {
        /// The node's name.
        node: String,
        /// Why.
        source: object::Error,
    },
    /// Another process may write by now.
    #[error("the Lease is not held: node {0} gets no pod networks from this process")]
    NotLeading(String),
}

impl WaitingNodes {
    /// The watch shows a change.
    pub(super) fn changed(&self, before: Option<&KubeNode>, after: Option<&KubeNode>, queue: &WorkQueue) {
        self.keep_networks(before, after);
        let Some(node) = after else {
            let stays = |name: &String| before.is_none_or(|it| it.name_any() != *name);
            self.since.lock().retain(|name, _| stays(name));
            self.written.lock().retain(|name, _| stays(name));
            return;
        };
        let name = node.name_any();
        if is_right(node) {
            self.since.lock().remove(&name);
            self.written.lock().remove(&name);
            return;
        }
        let is_other = before.is_none_or(|it| it.metadata.uid != node.metadata.uid);
        let is_new = {
            let mut waiting = self.since.lock();
            if is_other {
                waiting.remove(&name);
            }
            let is_new = !waiting.contains_key(&name);
            waiting.entry(name.clone()).or_insert_with(Instant::now);
            is_new
        };
        if is_new || before.is_some_and(|it| provider_id(it) != provider_id(node)) {
            queue.add(&name);
        } else {
            queue.add_unless_paused(&name);
        }
    }

    /// Networks that the node has count from now on; those that were set aside for it, until it is another node.
    fn keep_networks(&self, before: Option<&KubeNode>, after: Option<&KubeNode>) {
        let mut networks = self.networks.lock();
        if let Some(gone) = before.filter(|it| after.is_none_or(|after| uid(after) != uid(it))) {
            networks.remove(&gone.name_any());
        }
        if let Some(node) = after.filter(|it| has_networks(it)) {
            let own: Vec<_> = plan::networks(node).filter_map(parse).collect();
            if networks.get(&node.name_any()).is_none_or(|it| it.own != own) {
                let unasked = NodeNetworks { counting: own.clone(), own, is_known: false };
                networks.insert(node.name_any(), unasked);
            }
        }
    }

    /// Sets the networks aside that the cloud names for a node; nothing, if it must not get one of them, or is gone. That is asked
    /// under the lock: if the watch shows its end later, it finds what is set aside here.
    fn claim(
        &self,
        name: &str,
        clouds: &[String],
        known: &PodNetworks,
        of_nodes: &[(String, IpAddr)],
        is_there: impl Fn() -> bool,
    ) -> Result<Vec<IpNet>, Objection> {
        let mut networks = self.networks.lock();
        if !is_there() {
            return Ok(Vec::new());
        }
        let doubted = Cell::new(None);
        let holder = |cidr: &IpNet| {
            let others = networks.iter().filter(|(node, _)| *node != name);
            let others = others.flat_map(|(node, all)| all.counting.iter().map(move |it| (node, *it, all.is_known)));
            let mut having =
                others.filter(|(_, it, _)| overlap(it, cidr) && known.is_plausible(it)).collect::<Vec<_>>();
            having.sort_by_key(|(_, _, is_known)| !is_known);
            let pods = having.first().map(|(node, it, is_known)| {
                doubted.set((!is_known).then(|| (*node).clone()));
                Holder::Pods((*node).clone(), *it)
            });
            // Its own address may lie in its network: that harms nobody else.
            let address = || of_nodes.iter().find(|(node, it)| node != name && cidr.contains(it));
            pods.or_else(|| address().map(|(node, it)| Holder::Node(node.clone(), *it)))
        };
        let judged: Result<Vec<_>, _> = clouds
            .iter()
            .map(|network| {
                known.judge(network, holder).map_err(|because| Objection {
                    error: from_cloud::Error::Refused { node: name.to_owned(), network: network.clone(), because },
                    doubted: doubted.take(),
                })
            })
            .collect();
        let judged = judged?;
        let claimed = NodeNetworks { own: judged.clone(), counting: judged.clone(), is_known: true };
        networks.insert(name.to_owned(), claimed);
        Ok(judged)
    }

    /// The cloud tells of the machine of a node with these networks: those that it does not name count no more. Returns whether
    /// there are some.
    fn learn(&self, node: &KubeNode, instance: &Instance) -> bool {
        let clouds: Vec<_> = instance.pod_cidrs.iter().filter_map(|it| parse(it)).collect();
        let own: Vec<_> = plan::networks(node).filter_map(parse).collect();
        let mut networks = self.networks.lock();
        let Some(known) = networks.get_mut(&node.name_any()).filter(|it| it.own == own) else { return false };
        known.is_known = true;
        known.counting.retain(|it| clouds.iter().any(|cloud| overlap(cloud, it)));
        known.counting.len() < own.len()
    }

    /// A node that was about to get these networks is gone.
    fn release(&self, name: &str, cidrs: &[IpNet]) {
        self.networks.lock().retain(|node, it| node != name || it.own != cidrs);
    }

    fn len(&self) -> usize {
        self.since.lock().len()
    }

    fn since(&self, name: &str) -> Instant {
        self.since.lock().get(name).copied().unwrap_or_else(Instant::now)
    }

    /// This version of the node lacks nothing: it was just written.
    fn wrote(&self, name: &str, version: Option<String>) {
        if let Some(version) = version {
            self.written.lock().insert(name.to_owned(), version);
        }
    }

    /// Whether the node is older than what was written of it: then it is not known yet what it lacks.
    fn is_old(&self, node: &KubeNode) -> bool {
        let own = node.metadata.resource_version.as_deref().unwrap_or_default();
        self.written.lock().get(&node.name_any()).is_some_and(|written| is_newer(written, own))
    }
}

impl CloudAllocator {
    async fn reconcile(&self, name: &str) -> Result<(), Error> {
        let Some(node) = self.pending(name) else { return Ok(()) };
        if provider_id(&node).is_none() {
            return Err(from_cloud::Error::NoProviderId(name.to_owned()).into());
        }
        let came = self.waiting.since(name);
        if self.waiting.len() > FEW {
            tokio::time::sleep_until(came + GATHER).await;
        }
        let (mut instance, is_listed) = self.machine(&node, came).await?;
        let mut wanted = self.wanted(&node, &instance);
        if is_listed && wanted.is_err() {
            // It may be right since the list.
            instance = self.asked(&node).await?;
            wanted = self.wanted(&node, &instance);
        }
        if let Err(Objection { doubted: Some(other), .. }) = &wanted
            && self.is_made_up(other).await
        {
            wanted = self.wanted(&node, &instance);
        }
        let wanted = wanted.map_err(|it| it.error);
        match &wanted {
            Err(from_cloud::Error::None(_)) => self.record(&node, "CIDRNotAvailable"),
            Err(refused @ from_cloud::Error::Refused { .. }) => {
                let message = format!("{refused}: the node gets none; {NEXT}");
                self.recorder.record(reference(&*node), EventKind::Warning, REFUSED, &message);
            }
            _ => {}
        }
        let (wanted, cidrs) = wanted?;
        if wanted != Lack::Nothing && !(self.may_write)() {
            return Err(Error::NotLeading(name.to_owned()));
        }
        let failed = |source| Error::Write { node: name.to_owned(), source };
        if !cidrs.is_empty() {
            let cidrs = &cidrs;
            let mut written = requests::write(&self.client, &node, cidrs).await;
            for _ in 1..TRIES {
                if written.is_ok() {
                    break;
                }
                written = requests::write(&self.client, &node, cidrs).await;
            }
            if written.is_err() {
                self.record(&node, "CIDRAssignmentFailed");
            }
            if written.as_ref().is_err_and(requests::is_gone) {
                self.waiting.release(name, cidrs);
            }
            written.map_err(failed)?;
        }
        if matches!(wanted, Lack::Networks(_) | Lack::Condition) {
            let version = requests::set_available(&self.client, &node).await.map_err(failed)?;
            self.waiting.wrote(name, version);
        }
        Ok(())
    }

    /// The node's lack, and the networks that it gets, set aside for it.
    fn wanted(&self, node: &KubeNode, instance: &Instance) -> Result<(Lack, Vec<IpNet>), Objection> {
        let wanted = lack(node, instance, &self.families).map_err(|error| Objection { error, doubted: None })?;
        let cidrs = match &wanted {
            Lack::Networks(clouds) => {
                let (name, addresses) = (node.name_any(), self.addresses());
                let is_there = || self.nodes.get(&name).is_some_and(|it| uid(&it) == uid(node));
                let cidrs = self.waiting.claim(&name, clouds, &self.known, &addresses, is_there)?;
                if cidrs.is_empty() {
                    return Ok((Lack::Nothing, cidrs));
                }
                cidrs
            }
            Lack::Condition | Lack::Nothing => Vec::new(),
        };
        Ok((wanted, cidrs))
    }

    /// Whether another node has networks that are not of its machine, as the cloud says.
    async fn is_made_up(&self, other: &str) -> bool {
        let Some(node) = self.nodes.get(other).filter(|it| self.inventory.covers(it)) else { return false };
        let instance = match self.inventory.asked(&node, None).await {
            Ok(instance) => instance,
            // It is not the machine that it says it is.
            Err(CloudError::Invalid(_)) => None,
            Err(error) => {
                warn!("it is not known whether node {other} has its pod networks from the cloud: {}", chain(&error));
                return false;
            }
        };
        // A machine that does not exist has none from the cloud.
        self.waiting.learn(&node, &instance.unwrap_or_default())
    }

    /// The addresses of all nodes, by the cloud.
    fn addresses(&self) -> Vec<(String, IpAddr)> {
        let mut addresses = Vec::new();
        for node in self.nodes.all() {
            if let Some(confirmed) = self.nodes.confirmed(&node) {
                let ips = confirmed.addresses.iter().filter_map(|it| it.value.parse::<IpAddr>().ok());
                addresses.extend(ips.map(|it| (node.name_any(), it.to_canonical())));
            }
        }
        addresses
    }

    /// The node, if it is one of this cloud's and lacks something.
    fn pending(&self, name: &str) -> Option<Arc<KubeNode>> {
        let node = self.nodes.get(name)?;
        let is_pending = !is_right(&node) && !self.waiting.is_old(&node) && node.metadata.deletion_timestamp.is_none();
        (is_pending && self.inventory.covers(&node)).then_some(node)
    }

    /// The machine behind a node, and whether a list showed it: one list for all that wait, if they are many.
    async fn machine(&self, node: &KubeNode, came: Instant) -> Result<(Instance, bool), Error> {
        let failed = |source| Error::Cloud { node: node.name_any(), source };
        let fresh = POD_NETWORKS.since(NodeCame(came));
        let list = match self.inventory.known_list(fresh) {
            Some(list) => Some(list),
            None if self.waiting.len() >= self.inventory.many() => {
                Some(self.inventory.list(fresh).await.map_err(failed)?)
            }
            None => None,
        };
        match list.map(|it| self.inventory.listed(node, &it)).transpose().map_err(failed)?.flatten() {
            Some(instance) => Ok((instance, true)),
            None => Ok((self.asked(node).await?, false)),
        }
    }

    async fn asked(&self, node: &KubeNode) -> Result<Instance, Error> {
        let failed = |source| Error::Cloud { node: node.name_any(), source };
        let instance = self.inventory.asked(node, None).await.map_err(failed)?;
        instance.ok_or_else(|| failed(CloudError::Unavailable("the cloud knows no such machine".to_owned())))
    }

    fn record(&self, node: &KubeNode, reason: &str) {
        let message = format!("Node {} status is now: {reason}", node.name_any());
        self.recorder.record(reference(node), EventKind::Normal, reason, &message);
    }
}

impl Reconcile for CloudAllocator {
    type Error = Error;

    async fn sync(&self, name: &str) -> Result<NextSync, Error> {
        self.reconcile(name).await.map(|()| NextSync::Done)
    }

    fn show(&self, name: &str, error: &Error, _: u32) {
        let next = match error {
            Error::Plan(from_cloud::Error::NoProviderId(_)) => {
                "tried again once the node has one, and with growing pauses"
            }
            Error::Plan(from_cloud::Error::None(_)) => {
                "give the machine a pod network in the cloud; tried again with growing pauses"
            }
            Error::Plan(from_cloud::Error::Refused { .. }) => NEXT,
            Error::Plan(from_cloud::Error::Other { .. }) => "delete the node and let its kubelet register again",
            Error::Cloud { .. } | Error::Write { .. } => "tried again with growing pauses",
            Error::NotLeading(_) => "the process that holds it does",
        };
        warn!(next, "error syncing '{name}': {}, requeuing", chain(error));
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        match error {
            Error::Cloud { source, .. } => BACK_OFF.pause(failures, source),
            Error::Plan(
                from_cloud::Error::NoProviderId(_) | from_cloud::Error::None(_) | from_cloud::Error::Refused { .. },
            )
            | Error::Write { .. } => Pause::AtLeast(BACK_OFF.after(failures)),
            Error::Plan(from_cloud::Error::Other { .. }) | Error::NotLeading(_) => Pause::AtLeast(SHOWN),
        }
    }

    fn back_off(&self) -> BackOff {
        BACK_OFF
    }
}

#[cfg(test)]
mod tests;
