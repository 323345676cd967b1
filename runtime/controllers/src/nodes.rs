//! The cluster's nodes, from one watch that every controller shares.

mod addresses;
pub(crate) mod confirmed;
mod evidence;
mod index;
mod write;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::node_object::KubeNode;
use crate::watched::WatchWriter;
use cloud_provider::Instance;
use kube::api::Api;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::node_fields;
use crate::watch;
use crate::watched::{ObjectChange, Watched};

use self::addresses::NodeAddresses;
pub use self::confirmed::Confirmed;
pub(crate) use self::confirmed::{Evidence, InstanceAnswer, InstanceRecord};
use self::index::Index;
pub(crate) use self::index::{OwnershipVerdict, Turn};

/// The cluster's nodes as this process knows them: a copy that one watch keeps up to date.
///
/// Fields that no controller reads are left out of the copies: see `trimmed.rs`.
#[derive(Clone)]
pub struct Nodes {
    watched: Watched<KubeNode>,
    shared: Arc<Shared>,
}

struct Shared {
    /// Held while an event is dealt with, so that a new listener misses no event and sees none twice.
    listeners: Mutex<Vec<NodeListener>>,
    /// Called only with what the watch itself says, and not with what two lists differ in.
    watch_listeners: Mutex<Vec<NodeListener>>,
    index: Mutex<Index>,
    addresses: Mutex<NodeAddresses>,
    confirmed: Mutex<confirmed::ConfirmedInstances>,
    evidence_listeners: Mutex<Vec<EvidenceListener>>,
    /// How many nodes wait to be initialised.
    waiting: AtomicUsize,
}

/// Called with each change: the node as it was, if it was known, and as it is, if it still is.
type NodeListener = Box<dyn Fn(Option<&KubeNode>, Option<&KubeNode>) + Send>;

/// Called with the name of a node whenever answers of the cloud show something new of its instance.
type EvidenceListener = Box<dyn Fn(&str) + Send>;

impl Nodes {
    /// Watches the cluster's nodes. The future is the watch: it has to run, and never ends.
    ///
    /// `api_server` is what warnings call the API server when it cannot be watched.
    pub fn watch(client: Client, api_server: String) -> (Self, impl Future<Output = Infallible> + Send) {
        Self::watch_in_turns(client, api_server, watch::LASTS)
    }

    /// As [`watch`](Self::watch), with watches that each last so long, in whole seconds: a connection that is dead is noticed
    /// an eighth later. For tests.
    pub fn watch_in_turns(
        client: Client,
        api_server: String,
        lasts: Duration,
    ) -> (Self, impl Future<Output = Infallible> + Send) {
        let (nodes, mut writer) = Self::new();
        let known = nodes.clone();
        let follow = async move {
            let apply = |event| known.apply(event, &mut writer);
            watch::follow(Api::all(client), "nodes", &api_server, lasts, apply).await
        };
        (nodes, follow)
    }

    pub(crate) fn new() -> (Self, WatchWriter<KubeNode>) {
        let (watched, writer) = Watched::new();
        let shared = Shared {
            listeners: Mutex::new(Vec::new()),
            watch_listeners: Mutex::default(),
            index: Mutex::new(Index::default()),
            addresses: Mutex::default(),
            confirmed: Mutex::default(),
            evidence_listeners: Mutex::default(),
            waiting: AtomicUsize::new(0),
        };
        (Self { watched, shared: Arc::new(shared) }, writer)
    }

    /// Nodes that nobody watches.
    #[cfg(test)]
    pub(crate) fn of(nodes: impl IntoIterator<Item = KubeNode>) -> Self {
        let (known, mut writer) = Self::new();
        known.apply(Event::Init, &mut writer);
        nodes.into_iter().for_each(|it| known.apply(Event::InitApply(it), &mut writer));
        known.apply(Event::InitDone, &mut writer);
        known
    }

    /// The nodes themselves, in no order.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<KubeNode>> {
        self.watched.all()
    }

    /// How many nodes there are.
    pub(crate) fn count(&self) -> usize {
        self.watched.count()
    }

    /// Waits until all nodes are known that existed when the watch began.
    pub async fn synced(&self) {
        self.watched.synced().await;
    }

    /// The node with this name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<KubeNode>> {
        self.watched.get(name)
    }

    /// How many nodes wait to be initialised.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// How many nodes wait to be initialised that came after this moment.
    pub(crate) fn waiting_since(&self, moment: Instant) -> usize {
        self.index().waiting_since(moment)
    }

    /// The names of the nodes that wait to be initialised.
    pub(crate) fn waiting_names(&self) -> Vec<String> {
        self.index().waiting_names().map(str::to_owned).collect()
    }

    /// A turn of this node, which waits to be initialised.
    pub(crate) fn turn(&self, node: &KubeNode) -> Turn {
        self.index().turn(node, Instant::now())
    }

    /// When a node came last that waited to be initialised.
    pub(crate) fn last_came(&self) -> Option<Instant> {
        self.index().last_came()
    }

    /// How many nodes came within this time, those that are initialised by now among them: two at most.
    pub(crate) fn came_within(&self, time: Duration) -> usize {
        let since = Instant::now().checked_sub(time);
        since.map_or(0, |it| self.index().came_since(it))
    }

    /// The other nodes with the provider id of this one, in any spelling that is known.
    pub(crate) fn others(&self, provider_id: &str, name: &str) -> Vec<String> {
        self.index().claimants(provider_id).iter().filter(|it| *it != name).cloned().collect()
    }

    /// Knows from now on that a node's provider id is another spelling of this instance's.
    pub(crate) fn spell(&self, provider_id: &str, instance: &str) {
        self.index().spell(provider_id, instance);
    }

    /// Whether this instance, which has the provider id, is the node's with this name.
    pub(crate) fn verdict(&self, provider_id: &str, name: &str, instance: &Instance) -> OwnershipVerdict {
        self.index().verdict(provider_id, name, instance)
    }

    /// Sets a provider id aside for a node that is about to get it. Returns whether the instance is this node's.
    pub(crate) fn claim(&self, provider_id: &str, name: &str, instance: &Instance) -> bool {
        self.index().claim(provider_id, name, instance)
    }

    /// The nodes that say that they have this address.
    pub(crate) fn at(&self, ip: IpAddr) -> Vec<String> {
        self.shared.addresses.lock().at(ip).to_vec()
    }

    /// The node that says that its pods are in a network with this address, and the network.
    pub(crate) fn pods_at(&self, ip: IpAddr) -> Option<(String, Cidr)> {
        self.shared.addresses.lock().pods_at(ip)
    }

    /// Takes a claim back, unless the node has got its provider id by now.
    pub(crate) fn release(&self, provider_id: &str, name: &str) {
        let has_it = self.get(name).is_some_and(|it| node_fields::provider_id(&it) == Some(provider_id));
        if !has_it {
            self.index().release(provider_id, name);
        }
    }

    /// Calls `listener` for every node that is known, and from then on for every change. It must be quick.
    pub(crate) fn listen(&self, listener: impl Fn(Option<&KubeNode>, Option<&KubeNode>) + Send + 'static) {
        let mut listeners = self.listeners();
        for node in self.watched.all() {
            listener(None, Some(&node));
        }
        listeners.push(Box::new(listener));
    }

    /// Calls `listener` for every change from now on that the watch itself has shown: a node that only a list lacks was not
    /// seen to be deleted. It must be quick.
    pub(crate) fn listen_to_watch(&self, listener: impl Fn(Option<&KubeNode>, Option<&KubeNode>) + Send + 'static) {
        self.shared.watch_listeners.lock().push(Box::new(listener));
    }

    /// Reads all nodes and, in `read`, what listeners have kept, while no event is dealt with: the two tell of the same events.
    pub(crate) fn between_events<T>(&self, read: impl FnOnce() -> T) -> (Vec<Arc<KubeNode>>, T) {
        let _none_meanwhile = self.listeners();
        (self.watched.all(), read())
    }

    pub(crate) fn apply(&self, event: Event<KubeNode>, writer: &mut WatchWriter<KubeNode>) {
        let listeners = self.listeners();
        let is_list = matches!(event, Event::InitDone);
        let changes = self.watched.apply(event, writer);
        if is_list {
            let nodes = changes.iter().filter_map(|it| it.after.as_deref());
            self.reindex(|index| *index = Index::of(nodes.clone(), index, Instant::now()));
            *self.shared.addresses.lock() = NodeAddresses::of(nodes);
            self.forget_other_instances();
        }
        for ObjectChange { before, after } in changes {
            if !is_list {
                self.shared.addresses.lock().apply(before.as_deref(), after.as_deref());
                self.reindex_one(before.as_deref(), after.as_deref());
                let watch_listeners = self.shared.watch_listeners.lock();
                watch_listeners.iter().for_each(|it| it(before.as_deref(), after.as_deref()));
            }
            listeners.iter().for_each(|it| it(before.as_deref(), after.as_deref()));
        }
    }

    /// A node has changed, or is gone.
    fn reindex_one(&self, before: Option<&KubeNode>, after: Option<&KubeNode>) {
        let now_alone = match (before, after) {
            (_, Some(node)) => self.reindex(|index| index.apply(node, Instant::now())),
            (Some(node), None) => {
                let name = node.name_any();
                let now_alone = self.reindex(|index| index.delete(&name));
                self.forget_instance(&name);
                now_alone
            }
            (None, None) => return,
        };
        self.doubt_instances(&now_alone);
    }

    fn reindex<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.index();
        let changed = change(&mut index);
        self.shared.waiting.store(index.waiting(), Ordering::Relaxed);
        changed
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.shared.index.lock()
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<NodeListener>> {
        self.shared.listeners.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Calls = Arc<Mutex<Vec<String>>>;

    /// A listener that keeps its calls as `old > new`, of resourceVersions.
    fn listener(calls: &Calls) -> impl Fn(Option<&KubeNode>, Option<&KubeNode>) + Send + 'static {
        let calls = calls.clone();
        let version = |it: Option<&KubeNode>| it.and_then(KubeNode::resource_version).unwrap_or_else(|| "-".to_owned());
        move |old, new| {
            let name = new.or(old).map(ResourceExt::name_any).unwrap();
            calls.lock().push(format!("{name}: {} > {}", version(old), version(new)));
        }
    }

    fn node(name: &str, version: &str) -> KubeNode {
        let mut node = KubeNode::default();
        node.metadata.name = Some(name.into());
        node.metadata.resource_version = Some(version.into());
        node
    }

    #[test]
    fn nodes_and_what_was_seen_of_them_tell_of_the_same_events() {
        let (nodes, mut writer) = Nodes::new();
        // How many nodes there are by what the watch has shown.
        let seen = Arc::new(AtomicUsize::new(0));
        let count = seen.clone();
        nodes.listen_to_watch(move |_, after| {
            match after {
                Some(_) => count.fetch_add(1, Ordering::SeqCst),
                None => count.fetch_sub(1, Ordering::SeqCst),
            };
        });
        let known = nodes.clone();
        let writing = std::thread::spawn(move || {
            for _ in 0..20_000 {
                nodes.apply(Event::Apply(node("a", "1")), &mut writer);
                nodes.apply(Event::Delete(node("a", "2")), &mut writer);
            }
        });
        while !writing.is_finished() {
            let (nodes, seen) = known.between_events(|| seen.load(Ordering::SeqCst));
            assert_eq!(nodes.len(), seen);
        }
        writing.join().unwrap();
    }

    #[test]
    fn a_listener_gets_known_nodes_and_every_change_once() {
        let (nodes, mut writer) = Nodes::new();
        let calls = Calls::default();
        let mut apply = |events: Vec<Event<KubeNode>>| events.into_iter().for_each(|it| nodes.apply(it, &mut writer));
        let list = |listed: Vec<KubeNode>| {
            let listed = listed.into_iter().map(Event::InitApply);
            std::iter::once(Event::Init).chain(listed).chain([Event::InitDone]).collect()
        };
        apply(list(vec![node("a", "1")]));
        nodes.listen(listener(&calls));
        apply(vec![Event::Apply(node("a", "2")), Event::Apply(node("b", "3")), Event::Delete(node("a", "4"))]);
        apply(list(vec![node("c", "6")]));
        let expected = ["a: - > 1", "a: 1 > 2", "b: - > 3", "a: 4 > -", "c: - > 6", "b: 3 > -"];
        assert_eq!(*calls.lock(), expected);
    }
}
