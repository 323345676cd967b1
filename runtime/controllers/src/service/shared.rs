//! The state that the parts of this controller share: the cluster, what is known of its Services, and where they are put to work.

use std::sync::Arc;

use budgets::RequestedChanges;
use cloud_provider::{LoadBalancer, LoadBalancers};
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use kube::{Client, ResourceExt};
use tokio::sync::watch::Receiver;

use crate::events::{EventKind, Recorder, reference};
use crate::metrics::Metrics;
use crate::queue::pump::WorkQueue;
use crate::service::backends::Backends;
use crate::service::desired::{Invalid, ServedCluster};
use crate::service::selectors::Selectors;
use crate::service::services::{Services, key};
use crate::service::state::ServiceState;
use crate::service::states::States;
use crate::trimmed::Trimmed;

/// The state that the parts of this controller share.
pub(super) struct SharedState {
    pub(super) client: Client,
    pub(super) cluster: ServedCluster,
    pub(super) load_balancers: Arc<dyn LoadBalancers>,
    pub(super) services: Services,
    pub(super) states: States,
    pub(super) queue: Arc<WorkQueue>,
    /// The versions of the credentials.
    pub(super) versions: Receiver<u64>,
    pub(super) requested: RequestedChanges,
    pub(super) recorder: Recorder,
    pub(super) metrics: Metrics,
}

impl SharedState {
    /// The Service under a key, as the watch knows it or as we left it, whichever is newer.
    pub(super) fn latest(&self, key: &str) -> Option<Arc<Service>> {
        let watched = self.services.get(key)?;
        Some(self.states.with(key, |state| state.newest(watched.clone())).unwrap_or(watched))
    }

    /// Looks at what is remembered of each Service that the watch shows.
    pub(super) fn each(&self, mut look: impl FnMut(&str, &Service, &mut ServiceState)) {
        for service in self.services.all() {
            let key = key(&service);
            self.states.with(&key, |state| look(&key, &service, state));
        }
    }

    /// Those of the nodes that take traffic which a load balancer selects: all of them, unless it has a selector.
    pub(super) fn selected(
        &self,
        desired: Option<&LoadBalancer>,
        backends: &Arc<Backends>,
    ) -> Result<Arc<Backends>, Invalid> {
        let description = self.cluster.description.now();
        let selectors = desired.map(|it| Selectors::of(it, &description)).transpose().map_err(Invalid::new)?;
        Ok(match selectors.flatten() {
            Some(selectors) => Arc::new(backends.selected(&selectors)),
            None => backends.clone(),
        })
    }

    /// Another number whenever what was refused may be allowed: a credential has changed, or a person has approved.
    pub(super) fn rights(&self) -> u64 {
        let (version, approvals) = (*self.versions.borrow(), *self.requested.approvals().borrow());
        version.wrapping_add(approvals)
    }

    pub(super) fn record(&self, service: &Service, kind: EventKind, reason: &str, message: &str) {
        self.recorder.record(reference(service), kind, reason, message);
    }

    pub(super) fn api(&self, service: &Service) -> Api<Trimmed<Service>> {
        Api::namespaced(self.client.clone(), &service.namespace().unwrap_or_default())
    }
}
