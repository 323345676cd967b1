//! The cluster's objects of one kind, as a watch shows them, and what changes with each of its events.

use std::collections::HashMap;
use std::sync::Arc;

use kube::Resource;
use kube::runtime::watcher::Event;
use parking_lot::RwLock;
use tokio::sync::watch;

/// Objects by name, or by namespace and name: `namespace/name`.
type ByName<K> = HashMap<Box<str>, Arc<K>>;

/// The cluster's objects of one kind: a copy that one watch keeps up to date. Clones share it.
pub(crate) struct Watched<K> {
    objects: Arc<RwLock<ByName<K>>>,
    /// Whether a complete list was applied.
    synced: Arc<watch::Sender<bool>>,
}

/// The right to apply events, and the objects of a list that is not complete yet.
pub(crate) struct WatchWriter<K> {
    listed: ByName<K>,
}

/// An object as it was before an event, if it was known, and as it is after it, if it still exists.
pub(crate) struct ObjectChange<K> {
    pub(crate) before: Option<Arc<K>>,
    pub(crate) after: Option<Arc<K>>,
}

impl<K> Clone for Watched<K> {
    fn clone(&self) -> Self {
        Self { objects: self.objects.clone(), synced: self.synced.clone() }
    }
}

impl<K: Resource> Watched<K> {
    /// Nothing is known yet. Events are applied with the writer.
    pub(crate) fn new() -> (Self, WatchWriter<K>) {
        (Self { objects: Arc::default(), synced: Arc::default() }, WatchWriter { listed: HashMap::new() })
    }

    /// Waits until all objects are known that existed when the watch began.
    pub(crate) async fn synced(&self) {
        // There is a sender: this is one.
        let _ = self.synced.subscribe().wait_for(|it| *it).await;
    }

    /// The object with this name, or `namespace/name`.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<K>> {
        self.objects.read().get(name).cloned()
    }

    /// All objects, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.objects.read().values().cloned().collect()
    }

    /// How many objects there are.
    pub(crate) fn count(&self) -> usize {
        self.objects.read().len()
    }

    /// Applies an event of the watch. Returns what it changes, once `get` shows it: a complete list is a change of
    /// each object in it, and then of each that is gone.
    pub(crate) fn apply(&self, event: Event<K>, writer: &mut WatchWriter<K>) -> Vec<ObjectChange<K>> {
        match event {
            Event::Init => {
                writer.listed = HashMap::new();
                Vec::new()
            }
            Event::InitApply(object) => {
                writer.listed.insert(name(&object), Arc::new(object));
                Vec::new()
            }
            Event::InitDone => {
                let mut listed = std::mem::take(&mut writer.listed);
                listed.shrink_to_fit();
                let mut changes: Vec<_> =
                    listed.values().map(|it| ObjectChange { before: None, after: Some(it.clone()) }).collect();
                let mut before = std::mem::replace(&mut *self.objects.write(), listed);
                self.synced.send_replace(true);
                for change in &mut changes {
                    change.before = change.after.as_ref().and_then(|it| before.remove(&name(&**it)));
                }
                changes.extend(before.into_values().map(|it| ObjectChange { before: Some(it), after: None }));
                changes
            }
            Event::Apply(object) => {
                let (name, object) = (name(&object), Arc::new(object));
                let before = self.objects.write().insert(name, object.clone());
                vec![ObjectChange { before, after: Some(object) }]
            }
            Event::Delete(object) => {
                self.objects.write().remove(&name(&object));
                vec![ObjectChange { before: Some(Arc::new(object)), after: None }]
            }
        }
    }
}

/// The name under which an object stands.
fn name(object: &impl Resource) -> Box<str> {
    let meta = object.meta();
    let name = meta.name.as_deref().unwrap_or_default();
    meta.namespace.as_ref().map_or_else(|| name.into(), |namespace| format!("{namespace}/{name}").into())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;
    use serde_json::{from_value, json};

    use super::*;

    fn service(name: &str, version: &str) -> Service {
        from_value(json!({ "metadata": { "name": name, "namespace": "a", "resourceVersion": version } })).unwrap()
    }

    /// Changes as `old > new`, of resourceVersions.
    fn versions(changes: Vec<ObjectChange<Service>>) -> Vec<String> {
        let version = |object: &Option<Arc<Service>>| {
            object.as_ref().and_then(|it| it.metadata.resource_version.clone()).unwrap_or_else(|| "-".to_owned())
        };
        let mut shown: Vec<_> =
            changes.iter().map(|it| format!("{} > {}", version(&it.before), version(&it.after))).collect();
        shown.sort();
        shown
    }

    #[test]
    fn objects_are_as_the_last_event_shows_them() {
        let (watched, mut writer) = Watched::new();
        let mut apply = |event| versions(watched.apply(event, &mut writer));
        assert!(apply(Event::Init).is_empty() && apply(Event::InitApply(service("b", "1"))).is_empty());
        assert_eq!(watched.count(), 0, "the list is not complete");
        assert!(apply(Event::InitApply(service("c", "2"))).is_empty());
        assert_eq!(apply(Event::InitDone), ["- > 1", "- > 2"]);
        assert_eq!(apply(Event::Apply(service("b", "3"))), ["1 > 3"]);
        assert_eq!(apply(Event::Apply(service("d", "4"))), ["- > 4"]);
        assert_eq!(apply(Event::Delete(service("d", "5"))), ["5 > -"]);
        assert!(watched.get("a/d").is_none() && watched.get("b").is_none());
        assert_eq!(watched.get("a/b").and_then(|it| it.metadata.resource_version.clone()).as_deref(), Some("3"));
        apply(Event::Init);
        apply(Event::InitApply(service("c", "6")));
        // A list that broke off.
        apply(Event::Init);
        apply(Event::InitApply(service("b", "7")));
        assert_eq!(apply(Event::InitDone), ["2 > -", "3 > 7"]);
        assert_eq!((watched.count(), watched.all().len()), (1, 1));
    }

    #[tokio::test]
    async fn all_who_wait_for_the_first_list_are_woken() {
        let (watched, mut writer) = Watched::<Service>::new();
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
