//! Services that are not there any more, and did not wait for their load balancers to go: only our state names their
//! load balancers.
//!
//! The watch shows the Service no more; the API server, asked for it alone, knows it no more either; and only so many go in
//! a while.

use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

use budgets::LOAD_BALANCERS;
use cloud_provider::{APPROVAL, Deletion, LoadBalancer};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use kube::api::Api;
use kube::core::Status;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::object;
use crate::service::error::Error;
use crate::service::ownership;
use crate::service::state::AnswerMeaning;
use crate::service::syncer::{Syncer, held};
use crate::trimmed::Trimmed;

/// When a Service is reconciled again that the API server has, and the watch does not show.
const BEHIND: Duration = Duration::from_secs(10);

impl Syncer {
    /// Deletes what a Service had that is not there any more. `service` is what has its name now. Returns when to come back,
    /// if the cloud is busy with it, or if the Service is there after all; otherwise nothing of it is to be remembered.
    pub(super) async fn delete_vanished(
        &self,
        key: &str,
        service: Option<&Service>,
    ) -> Result<Option<Duration>, Error> {
        let (now, rights) = (Instant::now(), self.shared.rights());
        let found = self.shared.states.all(|states| {
            let Some(state) = states.get(key) else { return Break(None) };
            state.start_work(rights);
            if service.is_some_and(|it| it.metadata.uid.as_deref() == Some(state.uid.as_str())) {
                return Break(None);
            }
            if let Some(pause) = state.deleting(now) {
                return Break(Some(pause));
            }
            match state.desired().cloned().filter(|_| state.may_exist()) {
                Some(desired) => {
                    let (memo, current_ingress) = (state.work.memo.clone(), state.work.current.clone());
                    let unwanted = LoadBalancer { memo, current_ingress, ..desired };
                    Continue((state.observed.about.clone(), unwanted, state.work.gone_since))
                }
                None => {
                    states.forget(key, now);
                    Break(None)
                }
            }
        });
        let (about, mut unwanted, gone_since) = match found {
            Continue(found) => found,
            Break(pause) => return Ok(pause),
        };
        if gone_since.is_none() && self.is_there(&about).await.map_err(Error::Unknown)? {
            warn!(service = key, "the watch does not show the Service, and the API server has it: nothing is deleted");
            return Ok(Some(BEHIND));
        }
        if let Some(holder) = self.memo_owner(&unwanted) {
            info!(service = key, "the Service is gone, and its load balancer is Service {holder}'s now");
            return Ok(None);
        }
        self.shared.load_balancers.check().await.map_err(Error::Vanished)?;
        let foreign_memo = self.begin_deletion(key, None, &about, &mut unwanted, None)?;
        match self.delete(&about, unwanted.clone(), foreign_memo).await.map_err(Error::Vanished)? {
            Deletion::Pending(it) => {
                let answered = Instant::now();
                let after = self.shared.states.with(key, |state| {
                    state.work.memo = it.status.memo.or(unwanted.memo);
                    let after = held(it.after, state.wait(&it.reason, answered));
                    state.follow(AnswerMeaning::Deleting(answered + after));
                    after
                });
                Ok(Some(after.unwrap_or_else(|| held(it.after, Duration::ZERO))))
            }
            done => {
                self.record_deleted(&about, &done);
                Ok(None)
            }
        }
    }

    /// Whether the API server has this very Service. It is a consistent read; what is no answer about the Service is an
    /// error.
    async fn is_there(&self, about: &ObjectReference) -> Result<bool, object::Error> {
        let (namespace, name) = (about.namespace.as_deref(), about.name.as_deref().unwrap_or_default());
        let services: Api<Trimmed<Service>> =
            Api::namespaced(self.shared.client.clone(), namespace.unwrap_or_default());
        match object::answer(services.get(name)).await {
            Ok(Trimmed(found)) => Ok(found.metadata.uid == about.uid),
            Err(object::Error::Refused(status)) if denies(&status, name) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Counts the deletion that is about to begin, unless it was asked for. There may be so many load balancers.
    pub(super) fn spend(&self, key: &str, load_balancers: usize, now: Instant) -> Result<(), Error> {
        if self.shared.requested.within(LOAD_BALANCERS.window, now).is_approved {
            return Ok(());
        }
        self.vanished.lock().take(&LOAD_BALANCERS, load_balancers, now).map_err(|deletions| {
            self.shared.metrics.load_balancers_withheld.inc();
            Error::Withheld(format!(
                "Not deleting the load balancer yet: Service {key} has vanished without waiting for that, and at most \
                 {deletions} such load balancers are deleted in {} s; put the annotation {APPROVAL}: \"true\" on the \
                 Lease to have them deleted now",
                LOAD_BALANCERS.window.as_secs()
            ))
        })
    }

    /// Which Service has the memo of one that is gone.
    fn memo_owner(&self, unwanted: &LoadBalancer) -> Option<String> {
        ownership::watched(&unwanted.owner.uid, unwanted.memo.as_deref()?, &self.shared.services.all()).next()
    }
}

/// Whether the API server says that there is no Service with this name: not that it does not know the path.
fn denies(status: &Status, name: &str) -> bool {
    let is_about_it = status.details.as_ref().is_some_and(|it| it.name == name && it.kind == "services");
    status.code == 404 && status.reason == "NotFound" && is_about_it
}
