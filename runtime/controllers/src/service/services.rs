//! The cluster's Services, from one watch.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;

/// The cluster's Services as this process knows them.
#[derive(Clone)]
pub(super) struct Services {
    store: Store<Service>,
}

impl Services {
    pub(super) fn new() -> (Self, Writer<Service>) {
        let writer = Writer::<Service>::new(());
        (Self { store: writer.as_reader() }, writer)
    }

    /// Waits until all Services are known that there were when the watch began.
    pub(super) async fn synced(&self) {
        if self.store.wait_until_ready().await.is_err() {
            // The watch was dropped before it had begun: there will be no Services.
            std::future::pending::<()>().await;
        }
    }

    /// The Service under this key.
    pub(super) fn get(&self, key: &str) -> Option<Arc<Service>> {
        let (namespace, name) = parts(key);
        self.store.get(&ObjectRef::new(name).within(namespace))
    }

    pub(super) fn all(&self) -> Vec<Arc<Service>> {
        self.store.state()
    }

    /// Deals with an event of the watch, and tells `heard` of every Service that has changed: its key, and what it is
    /// now, if it still is.
    pub(super) fn apply(
        &self,
        event: Event<Service>,
        writer: &mut Writer<Service>,
        heard: impl Fn(&str, Option<&Service>),
    ) {
        match event {
            Event::Init => writer.apply_watcher_event(&Event::Init),
            Event::InitApply(service) => writer.apply_watcher_event(&Event::InitApply(service)),
            Event::InitDone => {
                let mut gone: HashSet<_> = self.all().iter().map(|it| key(it)).collect();
                writer.apply_watcher_event(&Event::InitDone);
                for service in self.all() {
                    let key = key(&service);
                    gone.remove(&key);
                    heard(&key, Some(&service));
                }
                gone.iter().for_each(|it| heard(it, None));
            }
            Event::Apply(service) => {
                let event = Event::Apply(service);
                writer.apply_watcher_event(&event);
                if let Event::Apply(service) = &event {
                    heard(&key(service), Some(service));
                }
            }
            Event::Delete(service) => {
                let key = key(&service);
                writer.apply_watcher_event(&Event::Delete(service));
                heard(&key, None);
            }
        }
    }
}

/// What the work queue calls a Service: `namespace/name`.
pub(super) fn key(service: &Service) -> String {
    format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any())
}

/// Namespace and name.
pub(super) fn parts(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}
