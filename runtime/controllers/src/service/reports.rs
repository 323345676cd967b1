//! Events and metrics of Services while they are synced.

use std::time::Duration;

use cloud_provider::{Event, LoadBalancerStatus};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use tokio::time::Instant;
use tracing::warn;

use crate::events::EventKind;
use crate::service::state::ServiceState;
use crate::service::status;
use crate::service::syncer::Syncer;
use crate::service::unknown;

/// So many of one call are recorded.
const EVENTS: usize = 10;

impl Syncer {
    /// Records a provider's events about a Service on it.
    pub(super) fn record_provider_events(&self, about: &ObjectReference, events: Vec<Event>) {
        let name = about.uid.as_deref().unwrap_or_default();
        let mut heard = self.events.lock();
        for event in events.into_iter().take(EVENTS) {
            if heard.is_new(name, &event, Instant::now()) {
                self.shared.recorder.record(about.clone(), event.kind, &event.reason, &event.message);
            }
        }
    }

    /// Records on a Service which of its annotations nobody knows, once for each set of them.
    pub(super) fn record_unknown_annotations(&self, state: &mut ServiceState, service: &Service) {
        let description = self.shared.cluster.description.now();
        let unknown = unknown::annotations(service, &description);
        if state.are_new(&unknown) {
            let message = unknown::message(&unknown, &description);
            self.shared.record(service, EventKind::Warning, "UnknownAnnotation", &message);
        }
    }

    /// A provider has to return the memo with each answer.
    pub(super) fn record_dropped_memo(&self, key: &str, service: &Service, status: &LoadBalancerStatus) {
        let Some(dropped) = status::memo(service).filter(|_| status.memo.is_none()) else { return };
        warn!(
            service = key,
            memo = dropped,
            "the provider's answer has no memo any more, and the next call will have none"
        );
        let message = format!(
            "the provider kept the memo {dropped:?} until now, and its answer has none: it is dropped. If the load balancer \
             is still there, its provider has to return the memo with each answer"
        );
        self.shared.record(service, EventKind::Warning, "MemoDropped", &message);
    }

    pub(super) fn warn_of_no_backends(&self, service: &Service) {
        let message = "There are no available nodes for LoadBalancer";
        self.shared.record(service, EventKind::Warning, "UnAvailableLoadBalancer", message);
    }

    /// An update for other nodes took this long.
    pub(super) fn count_update(&self, took: Duration, failed: bool) {
        let metrics = &self.shared.metrics;
        metrics.backend_updates.inc();
        metrics.backend_update.observe(took.as_secs_f64());
        metrics.backend_update_errors.inc_by(u64::from(failed));
    }
}
