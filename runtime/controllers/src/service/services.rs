//! The cluster's Services, from one watch.

use std::sync::Arc;

use crate::watched::WatchWriter;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use parking_lot::Mutex;

use crate::service::addresses::ServiceAddresses;
use crate::watched::Watched;

/// The cluster's Services as this process knows them.
pub(super) struct Services {
    watched: Watched<Service>,
    addresses: Mutex<ServiceAddresses>,
}

impl Services {
    pub(super) fn new() -> (Self, WatchWriter<Service>) {
        let (watched, writer) = Watched::new();
        (Self { watched, addresses: Mutex::default() }, writer)
    }

    /// Waits until all Services are known that existed when the watch began.
    pub(super) async fn synced(&self) {
        self.watched.synced().await;
    }

    /// The Service under this key.
    pub(super) fn get(&self, key: &str) -> Option<Arc<Service>> {
        self.watched.get(key)
    }

    pub(super) fn all(&self) -> Vec<Arc<Service>> {
        self.watched.all()
    }

    /// What the index of all their addresses says.
    pub(super) fn addresses<T>(&self, read: impl FnOnce(&ServiceAddresses) -> T) -> T {
        read(&self.addresses.lock())
    }

    /// Applies an event of the watch, and calls `changed` for every Service that has changed: with its key, and with what
    /// it is now, if it still exists.
    pub(super) fn apply(
        &self,
        event: Event<Service>,
        writer: &mut WatchWriter<Service>,
        changed: impl Fn(&str, Option<&Service>),
    ) {
        for change in self.watched.apply(event, writer) {
            if let Some(service) = change.after.as_ref().or(change.before.as_ref()) {
                let key = key(service);
                self.addresses.lock().apply(&key, change.before.as_deref(), change.after.as_deref());
                changed(&key, change.after.as_deref());
            }
        }
    }
}

/// What the work queue calls a Service: `namespace/name`.
pub(super) fn key(service: &Service) -> String {
    format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any())
}
