//! The cluster's objects of one kind, as a watch shows them, and what changes with each of its events.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use kube::Resource;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Lookup, ObjectRef, Store};
use kube::runtime::watcher::Event;
use tokio::sync::watch;

/// The cluster's objects of one kind: a copy that one watch keeps up to date. Clones share it.
pub(crate) struct Watched<K: Lookup + Clone + 'static>
where
    K::DynamicType: Eq + Hash,
{
    store: Store<K>,
    /// Whether a complete list was applied. The store's own future wakes only one of those that wait.
    synced: Arc<watch::Sender<bool>>,
}

/// An object as it was before an event, if it was known, and as it is after it, if it still exists.
pub(crate) struct ObjectChange<K> {
    pub(crate) before: Option<Arc<K>>,
    pub(crate) after: Option<Arc<K>>,
}

impl<K: Lookup + Clone + 'static> Clone for Watched<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), synced: self.synced.clone() }
    }
}

impl<K> Watched<K>
where
    K: Resource<DynamicType = ()> + Lookup<DynamicType = ()> + Clone + Debug + 'static,
{
    /// Nothing is known yet. Events are applied with the writer.
    pub(crate) fn new() -> (Self, Writer<K>) {
        let writer = Writer::<K>::new(());
        (Self { store: writer.as_reader(), synced: Arc::default() }, writer)
    }

    /// The store itself.
    pub(crate) fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// Waits until all objects are known that existed when the watch began.
    pub(crate) async fn synced(&self) {
        // There is a sender: this is one.
        let _ = self.synced.subscribe().wait_for(|it| *it).await;
    }

    /// The object with this name.
    pub(crate) fn get(&self, name: &ObjectRef<K>) -> Option<Arc<K>> {
        self.store.get(name)
    }

    /// All objects, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// Applies an event of the watch. Returns what it changes, once the store shows it: a complete list is a change of
    /// each object in it, and then of each that is gone.
    pub(crate) fn apply(&self, event: Event<K>, writer: &mut Writer<K>) -> Vec<ObjectChange<K>> {
        match event {
            Event::Init | Event::InitApply(_) => {
                writer.apply_watcher_event(&event);
                Vec::new()
            }
            Event::InitDone => {
                let mut before: HashMap<_, _> =
                    self.all().into_iter().map(|it| (ObjectRef::from_obj(&*it), it)).collect();
                writer.apply_watcher_event(&event);
                self.synced.send_replace(true);
                let listed = self.all().into_iter().map(|object| {
                    let before = before.remove(&ObjectRef::from_obj(&*object));
                    ObjectChange { before, after: Some(object) }
                });
                let mut changes: Vec<_> = listed.collect();
                changes.extend(before.into_values().map(|it| ObjectChange { before: Some(it), after: None }));
                changes
            }
            Event::Apply(object) => {
                let name = ObjectRef::from_obj(&object);
                let before = self.get(&name);
                writer.apply_watcher_event(&Event::Apply(object));
                vec![ObjectChange { before, after: self.get(&name) }]
            }
            Event::Delete(object) => {
                let event = Event::Delete(object);
                writer.apply_watcher_event(&event);
                let Event::Delete(object) = event else { return Vec::new() };
                vec![ObjectChange { before: Some(Arc::new(object)), after: None }]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;

    use super::*;

    #[tokio::test]
    async fn all_who_wait_for_the_first_list_are_woken() {
        let (watched, mut writer) = Watched::<Node>::new();
        let mut waiting = tokio::task::JoinSet::new();
        for it in [watched.clone(), watched.clone(), watched.clone()] {
            waiting.spawn(async move { it.synced().await });
        }
        // Each of them waits before the list comes.
        tokio::task::yield_now().await;
        watched.apply(Event::Init, &mut writer);
        watched.apply(Event::InitDone, &mut writer);
        let all = tokio::time::timeout(std::time::Duration::from_secs(10), waiting.join_all());
        all.await.expect("in time");
        watched.synced().await;
    }
}
