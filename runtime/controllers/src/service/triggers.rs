//! When a Service is put to work: its watch says something new, what was refused may be allowed now, or its work has failed.

use std::sync::Arc;
use std::time::Duration;

use crate::watched::WatchWriter;
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use tokio::time::Instant;
use tracing::warn;

use crate::account::changed;
use crate::error::{BackOff, Pause, chain};
use crate::events::EventKind;
use crate::service::desired::compared_fields;
use crate::service::error::Error;
use crate::service::plan::{Plan, is_wanted, plan};
use crate::service::state::EventEffect;
use crate::service::syncer::Syncer;
use crate::watch;
use crate::worker::{NextSync, Reconcile};

/// How often it is looked for load balancers that have been pending for long.
const LONG_PENDING: Duration = Duration::from_secs(1);

impl Syncer {
    /// Follows the watch of Services, for as long as it runs.
    pub(super) async fn watch_services(self: Arc<Self>, mut writer: WatchWriter<Service>) {
        let apply = |event| self.shared.services.apply(event, &mut writer, |key, it| self.on_service_event(key, it));
        let services = Api::all(self.shared.client.clone());
        match watch::follow(services, "Services", "the API server", watch::LASTS, apply).await {}
    }

    /// Looks at all Services that wait, each second, and at once when what was refused may be allowed, for as long as it runs.
    pub(super) async fn look_after_waiting(self: Arc<Self>) {
        let (mut versions, mut approvals) = (self.shared.versions.clone(), self.shared.requested.approvals());
        loop {
            tokio::select! {
                () = changed(&mut versions) => {}
                () = changed(&mut approvals) => {}
                () = tokio::time::sleep(LONG_PENDING) => {}
            }
            self.look_at_waiting(Instant::now());
        }
    }

    /// Takes note of what the watch says about a Service.
    pub(super) fn on_service_event(&self, key: &str, service: Option<&Service>) {
        let cluster = &self.shared.cluster;
        let effect = self.shared.states.all(|states| {
            let Some(service) = service else {
                // Only the worker with a key forgets what may have a load balancer.
                return states.get(key).map_or(EventEffect::None, |it| it.vanished());
            };
            let may_exist = states.get(key).is_some_and(|it| it.may_exist());
            let plan = plan(service, may_exist, cluster);
            let Some(state) = states.get(key) else {
                return if plan == Ok(Plan::Ignore) { EventEffect::None } else { EventEffect::Add };
            };
            if is_wanted(service, cluster) {
                self.record_unknown_annotations(state, service);
            }
            let effect = match plan {
                Ok(Plan::Ensure(desired)) => state.effect(service, Some(&compared_fields(desired)), false),
                Ok(Plan::Delete(_)) => state.effect(service, None, true),
                Ok(Plan::Ignore | Plan::Forget) => state.effect(service, None, false),
                Err(_) => EventEffect::Add,
            };
            if effect == EventEffect::Forget {
                states.forget(key, Instant::now());
            }
            effect
        });
        let queue = &self.shared.queue;
        match effect {
            EventEffect::None | EventEffect::Forget => {}
            EventEffect::AddIfIdle => queue.add_if_idle(key),
            EventEffect::Add => queue.add(key),
            EventEffect::AddDespitePause => queue.add_despite_pause(key),
        }
    }

    /// Puts those into the queue that were refused and may be allowed now, and records on Services what the cloud has been busy with for
    /// long. That is no failure, and so no warning: clouds take their time, and those who are alarmed by warnings could do nothing about
    /// it.
    pub(super) fn look_at_waiting(&self, now: Instant) {
        let rights = self.shared.rights();
        let (allowed, (blocked, longest)) =
            self.shared.states.all(|states| (states.allowed(rights), states.long_pending(now)));
        allowed.iter().for_each(|it| self.shared.queue.add(it));
        self.shared.metrics.longest_pending.set(longest.as_secs_f64());
        for (about, message) in blocked {
            self.shared.recorder.record(about, EventKind::Normal, "LoadBalancerPending", &message);
        }
    }
}

impl Reconcile for Syncer {
    type Error = Error;

    async fn sync(&self, key: &str) -> Result<NextSync, Error> {
        self.reconcile(key).await
    }

    // In the log, and on the Service.
    fn show(&self, key: &str, error: &Error, _: u32) {
        warn!(next = error.next(), "error syncing '{key}': {}, requeuing", chain(error));
        if let Some(asked) = error.cut_pause() {
            warn!(service = key, "the cloud asks for a pause of {} s; it gets an hour", asked.as_secs());
        }
        let ((reason, message), rights) = (error.event(), self.shared.rights());
        let may_be_allowed = self.shared.states.with(key, |state| {
            if state.shows(&message, error.failure_kind()) {
                let about = state.observed.about.clone();
                self.shared.recorder.record(about, EventKind::Warning, reason, &message);
            }
            state.may_be_allowed(rights)
        });
        // What may allow it has come while it was being denied.
        if may_be_allowed == Some(true) {
            self.shared.queue.add(key);
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(self.back_off, failures)
    }

    fn back_off(&self) -> BackOff {
        self.back_off
    }
}
