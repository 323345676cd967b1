//! Which machine stands behind a node: asked of the cloud in as few calls as will do.
//!
//! A few nodes are asked about with `get`, each alone or, where the cloud reads in batches, together. When many wait,
//! one list of all machines answers all of them. Whatever the provider answers is checked here, so that nobody else has
//! to.

mod batched;
mod canonical;
pub(crate) mod check;
mod events;
pub(crate) mod instance_list;
mod joining;
pub(crate) mod list;
mod page_size;
mod sentences;
mod spellings;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{
    Address, AddressKind, Cloud, CurrentDescription, Error, EventList, Freshness, Identity, Instance, Instances, Place,
    Reply, Result,
};
use kube::ResourceExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::account::Account;
use crate::cloud_call::{CALL, late};
use crate::cluster_facts::ClusterFacts;
use crate::events::{EventKind, Recorder, reference};
use crate::last_list::LastList;
use crate::limits::trimmed_node;
use crate::node_fields::{current_addresses, is_waiting, place, provider_id, words};
use crate::nodes::{InstanceAnswer, Nodes, OwnershipVerdict};
use crate::provider_events::{ProviderEvents, UnrelatedEvents};

use self::batched::Batched;
use self::canonical::CanonicalIds;
use self::check::refusal;
use self::instance_list::{InstanceList, Match};
use self::list::{ListResult, list_all};
use self::page_size::PageSize;
use self::sentences::{called, unproven};

/// The source of the cloud-node-controller's events, and of the inventory's.
pub(crate) const COMPONENT: &str = "cloud-node-controller";
/// From so many nodes on, one list is better than asking about each, if it takes no more calls.
const MANY: usize = 8;

/// The cluster's machines as the cloud knows them, shared by all controllers.
pub(crate) struct Inventory {
    description: CurrentDescription,
    instances: Arc<dyn Instances>,
    identity: Arc<dyn Identity>,
    account: Account,
    nodes: Nodes,
    recorder: Recorder,
    last_list: LastList<InstanceList>,
    page_size: PageSize,
    canonical_ids: CanonicalIds,
    /// Nodes without a provider id that `get` did not find: a list has to look for them too.
    doubtful: Mutex<HashSet<String>>,
    events: Mutex<ProviderEvents>,
    /// Our own warnings about nodes. They are remembered apart, so that a provider which says much hides none of them.
    warned: Mutex<ProviderEvents>,
    /// Events about machines that are no nodes of this cluster.
    unrelated: Mutex<UnrelatedEvents>,
    /// How many lists were read.
    lists: watch::Sender<u64>,
    facts: watch::Receiver<ClusterFacts>,
}

impl Inventory {
    /// `None` if the cloud has no instances. Events of the provider go to `recorder`.
    #[must_use]
    pub(crate) fn new(cloud: &Cloud, nodes: Nodes, recorder: Recorder) -> Option<Self> {
        Some(Self {
            description: cloud.description.clone(),
            instances: Arc::new(Batched::new(cloud.instances.clone()?, cloud.description.clone())),
            identity: cloud.identity.clone(),
            account: Account::any(),
            nodes,
            recorder,
            last_list: LastList::default(),
            page_size: PageSize::default(),
            canonical_ids: CanonicalIds::default(),
            doubtful: Mutex::default(),
            events: Mutex::default(),
            warned: Mutex::default(),
            unrelated: Mutex::default(),
            lists: watch::Sender::default(),
            facts: watch::channel(ClusterFacts::default()).1,
        })
    }

    /// Knows the cluster's account: leaves nodes alone whose provider ids name another account or region. Holds the
    /// addresses of machines against these facts.
    #[must_use]
    pub(crate) fn within(self, account: Account, facts: watch::Receiver<ClusterFacts>) -> Self {
        Self { account, facts, ..self }
    }

    /// Whether the cloud may be believed about what it does not have.
    pub(crate) async fn check(&self) -> Result<()> {
        self.instances.check().await
    }

    /// The cluster's cloud account, once it has been asked about.
    pub(crate) fn account(&self) -> Option<Arc<str>> {
        self.account.known_account()
    }

    /// The versions of the credentials.
    pub(crate) fn credentials(&self) -> watch::Receiver<u64> {
        self.identity.versions()
    }

    /// Whether a node can be one of this cloud's: it has no provider id, or one of its own that names no other account or
    /// region.
    pub(crate) fn covers(&self, node: &KubeNode) -> bool {
        provider_id(node).is_none_or(|it| self.description.now().owns(it) && self.contradiction(it).is_none())
    }

    /// The most machines of one page.
    fn whole_page(&self) -> u32 {
        self.description.now().list_page_size
    }

    /// Since when this version of the provider serves; `None` if it has served from the start.
    pub(crate) fn replaced(&self) -> Option<Instant> {
        self.identity.replaced()
    }

    fn contradiction(&self, provider_id: &str) -> Option<String> {
        Place::of(provider_id).contradiction(&self.account.known_account()?)
    }

    /// The machine behind a node that has joined: as a list shows it, if there is one and the cloud has not been asked
    /// about the node since, or else asked about alone.
    pub(crate) async fn instance_of(&self, node: &KubeNode, list: Option<&InstanceList>) -> Result<Option<Instance>> {
        let machine = self.known(node);
        if let Some(list) = list.filter(|it| self.is_newest(node, it))
            && let Some(instance) = self.find_in(list, &machine)?
        {
            return Ok(Some(instance));
        }
        self.get(&machine, node, list).await
    }

    /// All machines, as a list shows them that is so fresh.
    pub(crate) async fn list(&self, freshness: Freshness) -> Result<Arc<InstanceList>> {
        self.last_list.get(freshness, self.read_list()).await.map(|(list, _)| list)
    }

    /// The last list, if it is so fresh.
    pub(crate) fn known_list(&self, freshness: Freshness) -> Option<Arc<InstanceList>> {
        self.last_list.known(freshness)
    }

    /// For how long no list is read, because the last one failed.
    pub(crate) fn lists_rest(&self) -> Option<Duration> {
        let rest = self.last_list.failed_until()?.checked_duration_since(Instant::now());
        rest.filter(|it| !it.is_zero())
    }

    /// How many lists were read until now. Whoever reads the same of the cloud right after one asks for less.
    pub(crate) fn lists(&self) -> watch::Receiver<u64> {
        self.lists.subscribe()
    }

    /// How many calls a list is likely to take: as many as the last one, which may have read machines of other clusters
    /// too.
    pub(crate) fn pages(&self) -> usize {
        self.page_size.pages(self.nodes.count(), self.whole_page(), Instant::now())
    }

    /// From so many nodes on, one list is better than asking about each.
    pub(crate) fn many(&self) -> usize {
        self.pages().max(MANY)
    }

    /// Whether a list is to tell whether this node has a machine: it has no provider id, and was not found by its name,
    /// or a list takes no more than that question would.
    pub(crate) fn takes_list(&self, node: &KubeNode) -> bool {
        provider_id(node).is_none() && (self.pages() <= 1 || self.doubtful().contains(&node.name_any()))
    }

    /// Whether a list found any machine that stands behind a node of this cluster: if it did not, it may be a list of
    /// another account, or at nothing.
    pub(crate) fn is_familiar(&self, list: &InstanceList) -> bool {
        let nodes = self.nodes.all();
        nodes.iter().filter(|it| self.covers(it)).any(|node| {
            let (provider_id, name) = (provider_id(node), node.metadata.name.as_deref());
            provider_id.is_some_and(|it| list.knows(it, name.unwrap_or_default()))
        })
    }

    /// Whether the cloud has answered no question about this node that began after the list.
    pub(crate) fn is_newest(&self, node: &KubeNode, list: &InstanceList) -> bool {
        self.nodes.record(node).is_none_or(|it| it.asked <= list.began)
    }

    /// The machine behind a node as a list shows it.
    pub(crate) fn listed(&self, node: &KubeNode, list: &InstanceList) -> Result<Option<Instance>> {
        self.find_in(list, &machine(node))
    }

    /// The machine behind a node, asked about with a `get` now.
    ///
    /// `Ok(None)`: the cloud is certain that there is none. Without a provider id that takes a complete `list` without
    /// it as well.
    pub(crate) async fn asked(&self, node: &KubeNode, list: Option<&InstanceList>) -> Result<Option<Instance>> {
        self.get(&self.known(node), node, list).await
    }

    /// Asks about one node.
    async fn get(
        &self,
        machine: &cloud_provider::Node,
        node: &KubeNode,
        list: Option<&InstanceList>,
    ) -> Result<Option<Instance>> {
        let asked = Instant::now();
        let reply = tokio::time::timeout(CALL, self.instances.get(std::slice::from_ref(machine))).await;
        let Reply { answer, events, .. } = reply.map_err(|_| late())?;
        self.record_provider_events(events, Some(node));
        let [answer] = <[_; 1]>::try_from(answer)
            .map_err(|it| Error::Invalid(format!("the provider gave {} answers about one node", it.len())))?;
        if let Err(Error::Crashed { reason, .. }) = &answer {
            self.warn(node, "ProviderCrashed", reason.clone());
        }
        if let (Err(Error::Invalid(why)), Some(provider_id)) = (&answer, &machine.provider_id) {
            self.nodes.record_answer(&machine.name, provider_id, InstanceAnswer::Invalid(why), asked);
        }
        let Some(instance) = answer? else { return self.missing(machine, asked, list) };
        self.doubtful().remove(&machine.name);
        let is_its = match (&machine.provider_id, &instance.provider_id) {
            (Some(node), Some(answered)) => self.canonical_ids.are_same(&*self.instances, node, answered).await,
            _ => false,
        };
        self.checked(machine, instance, asked, is_its).map(Some)
    }

    /// A `get` that found nothing is certain if it was asked by provider id or a list showed nothing either; otherwise
    /// the next try reads a list.
    fn missing(
        &self,
        machine: &cloud_provider::Node,
        asked: Instant,
        list: Option<&InstanceList>,
    ) -> Result<Option<Instance>> {
        if let Some(provider_id) = &machine.provider_id {
            let others = self.nodes.others(provider_id, &machine.name);
            let is_its_own = self.nodes.get(&machine.name).is_some_and(|it| self.nodes.confirmed(&it).is_some());
            if !others.is_empty() && !is_its_own {
                let others = others.iter().map(String::as_str).collect::<Vec<_>>();
                return Err(Error::Invalid(format!("node {}: {}", machine.name, unproven(provider_id, &others))));
            }
            let zone = self.nodes.get(&machine.name).and_then(|it| self.nodes.zone(&it));
            if list.is_some_and(|it| it.gap(zone.as_deref()).is_none() && self.is_familiar(it)) {
                self.nodes.record_answer(&machine.name, provider_id, InstanceAnswer::Missing, asked);
            }
            return Ok(None);
        }
        let mut doubtful = self.doubtful();
        doubtful.retain(|it| self.nodes.get(it).is_some());
        doubtful.insert(machine.name.clone());
        // Nothing is known of its zone.
        match list.map(|it| it.gap(None)) {
            Some(None) => Ok(None),
            Some(Some(why)) => Err(Error::Unavailable(format!(
                "the cloud knows no machine named {}, and its list of machines is incomplete: {why}",
                machine.name,
            ))),
            None => Err(Error::Unavailable(format!(
                "the cloud knows no machine named {}; next, the list of all machines is read for it",
                machine.name,
            ))),
        }
    }

    fn find_in(&self, list: &InstanceList, machine: &cloud_provider::Node) -> Result<Option<Instance>> {
        match list.find(machine) {
            Match::Nothing => Ok(None),
            Match::One(instance) => self.checked(machine, instance.clone(), list.began, true).map(Some),
            Match::Several(one, other) => Err(Error::Invalid(format!(
                "two machines stand for node {}: {} and {}; rename or remove one of them",
                machine.name,
                called(one),
                called(other),
            ))),
        }
    }

    /// The answer to a question that began at `asked`, unless it is refused. `is_its` says that its provider id is the
    /// node's, perhaps in another spelling.
    fn checked(
        &self,
        machine: &cloud_provider::Node,
        instance: Instance,
        asked: Instant,
        is_its: bool,
    ) -> Result<Instance> {
        let node = self.nodes.get(&machine.name);
        let words = || node.as_deref().map(words).unwrap_or_default();
        let another = refusal(&self.description.now(), machine, &instance, is_its);
        let (instance, unfit) = self.facts.borrow().judge_instance(&machine.name, instance, words);
        let is_whole = another.is_none() && (unfit.is_none() || instance.addresses.iter().any(is_ip));
        let Some(refusal) = another.or(unfit) else { return self.proven(machine, instance, asked) };
        let why = format!("the provider's answer is refused: it {refusal}");
        self.warn_of_refusal(node.as_deref(), &why);
        if is_whole {
            self.proven(machine, instance, asked)?;
        } else if let Some(provider_id) = &machine.provider_id {
            self.nodes.record_answer(&machine.name, provider_id, InstanceAnswer::Invalid(&why), asked);
        }
        Err(Error::Invalid(why))
    }

    /// An instance that is this node's, and no other's.
    fn proven(&self, machine: &cloud_provider::Node, instance: Instance, asked: Instant) -> Result<Instance> {
        if let (Some(own), Some(answered)) = (&machine.provider_id, &instance.provider_id)
            && own != answered
        {
            // Another node may have it in the cloud's spelling, or in a third one: one machine is one backend.
            self.nodes.spell(own, answered);
        }
        // A node keeps its spelling; one that joins is about to get the cloud's.
        let Some(provider_id) = machine.provider_id.as_deref().or(instance.provider_id.as_deref()) else {
            return Ok(instance);
        };
        // One text for all spellings, so that it is recorded once.
        let named = instance.provider_id.as_deref().unwrap_or(provider_id);
        match self.nodes.verdict(provider_id, &machine.name, &instance) {
            OwnershipVerdict::Its(others) => {
                self.nodes.record_answer(&machine.name, provider_id, InstanceAnswer::Named(&instance), asked);
                for other in others {
                    self.withhold(
                        &other,
                        provider_id,
                        asked,
                        &format!("the cloud says that instance {named} is node {}'s", machine.name),
                    );
                }
                Ok(instance)
            }
            OwnershipVerdict::Anothers(holder) => {
                self.withhold(
                    &machine.name,
                    provider_id,
                    asked,
                    &format!("the cloud says that instance {named} is node {holder}'s"),
                );
                Err(Error::Invalid(format!(
                    "machine {} stands behind node {holder} already, and cannot stand behind node {} too",
                    called(&instance),
                    machine.name,
                )))
            }
            OwnershipVerdict::Nobodys(others) => {
                let names: Vec<_> = others.iter().cloned().chain([machine.name.clone()]).collect();
                for name in &names {
                    let others: Vec<_> = names.iter().filter(|it| *it != name).map(String::as_str).collect();
                    self.withhold(name, provider_id, asked, &unproven(named, &others));
                }
                let others = others.iter().map(String::as_str).collect::<Vec<_>>();
                Err(Error::Invalid(format!("node {}: {}", machine.name, unproven(named, &others))))
            }
        }
    }

    /// A node is not what its provider id says, or that cannot be known: it is left alone, and an event on it says so
    /// once.
    fn withhold(&self, name: &str, provider_id: &str, asked: Instant, why: &str) {
        let node = self.nodes.get(name);
        // Its own spelling, unless it is about to get its provider id.
        let own = node.as_deref().and_then(self::provider_id).unwrap_or(provider_id);
        let is_new = self.nodes.record_answer(name, own, InstanceAnswer::NotItsOwn(why), asked);
        // Why a node cannot join is said by the controller that initialises it.
        if let Some(node) = node.filter(|it| is_new && !is_waiting(it)) {
            let message = format!(
                "Node {name} is left alone, and is no backend of load balancers: {why}; delete the node that is wrong, or \
                 correct its provider id"
            );
            warn!("{message}");
            self.recorder.record(reference(node.as_ref()), EventKind::Warning, "ProviderIDConflict", &message);
        }
    }

    /// Reads a list.
    async fn read_list(&self) -> Result<InstanceList> {
        let limit = self.page_size.at(self.whole_page(), Instant::now());
        let ListResult { list, events, limit } = list_all(self.instances.as_ref(), limit).await;
        let pages = list.as_ref().ok().filter(|it| it.is_complete()).map(|it| it.pages);
        self.page_size.ended(limit, self.whole_page(), list.is_ok(), pages, Instant::now());
        if events.dropped() > 0 {
            warn!(
                dropped = events.dropped(),
                "events of the provider are left out: a list of machines may bring {} of them",
                EventList::MOST
            );
        }
        self.record_provider_events(events.into_vec(), None);
        let list = self.spelled(list?).await;
        debug!(incomplete = list.gap(None), "all machines were read");
        self.lists.send_modify(|it| *it += 1);
        Ok(list)
    }

    /// The facts of a node that a provider may know, with those of its newest instance. If that is not all of it, the node's event
    /// says so.
    fn known(&self, node: &KubeNode) -> cloud_provider::Node {
        let (mut machine, left_out) = trimmed(node);
        if let Some(left_out) = left_out {
            self.warn(node, "NodeTooLarge", left_out);
        }
        if let Some(confirmed) = self.nodes.confirmed(node) {
            machine.extra.clone_from(&confirmed.extra);
        }
        machine
    }

    fn is_doubtful(&self, machine: &cloud_provider::Node) -> bool {
        self.doubtful().contains(&machine.name)
    }

    fn doubtful(&self) -> MutexGuard<'_, HashSet<String>> {
        self.doubtful.lock()
    }
}

fn is_ip(address: &Address) -> bool {
    matches!(address.kind, AddressKind::InternalIp | AddressKind::ExternalIp)
}

/// A node, as a provider may know it.
pub(crate) fn machine(node: &KubeNode) -> cloud_provider::Node {
    trimmed(node).0
}

/// A node, as a provider may know it, and a sentence about the parts that were left out because there is too much of
/// them.
fn trimmed(node: &KubeNode) -> (cloud_provider::Node, Option<String>) {
    let (zone, region) = place(node);
    // As many as there are: they are kept.
    let labels =
        node.metadata.labels.as_ref().map(|it| it.iter().map(|(key, value)| (key.clone(), value.clone())).collect());
    trimmed_node(cloud_provider::Node {
        name: node.name_any(),
        uid: node.metadata.uid.clone(),
        provider_id: provider_id(node).map(str::to_owned),
        addresses: current_addresses(node),
        zone: zone.filter(|it| !it.is_empty()).map(str::to_owned),
        region: region.filter(|it| !it.is_empty()).map(str::to_owned),
        labels: labels.unwrap_or_default(),
        extra: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
