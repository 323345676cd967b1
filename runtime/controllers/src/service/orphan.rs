//! Services that are not there any more, and did not wait for their load balancers to go: only our state names their
//! load balancers.
//!
//! The watch shows the Service no more; the API server, asked for it alone, knows it no more either; and only so many go in
//! a while.

use std::time::Duration;

use budgets::LOAD_BALANCERS;
use cloud_provider::{APPROVAL, LoadBalancer};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use kube::api::Api;
use kube::core::Status;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::object;
use crate::service::Controller;
use crate::service::error::Error;
use crate::service::memos;
use crate::service::removal::Deleted;
use crate::service::state::Outcome;
use crate::service::sync::held;
use crate::trimmed::Trimmed;

/// When a Service is reconciled again that the API server has, and the watch does not show.
const BEHIND: Duration = Duration::from_secs(10);

impl Controller {
    /// Deletes what a Service had that is not there any more. `service` is what has its name now. Returns when to come back,
    /// if the cloud is busy with it, or if the Service is there after all.
    pub(super) async fn delete_orphan(&self, key: &str, service: Option<&Service>) -> Result<Option<Duration>, Error> {
        let now = Instant::now();
        let (about, unwanted, is_gone) = {
            let mut states = self.states();
            let Some(state) = states.get(key) else { return Ok(None) };
            if service.is_some_and(|it| it.metadata.uid.as_deref() == Some(state.uid.as_str())) {
                return Ok(None);
            }
            if let Some(pause) = state.deleting(now) {
                return Ok(Some(pause));
            }
            let (may_exist, memo, current_ingress) =
                (state.work.may_exist, state.work.memo.clone(), state.work.current.clone());
            match state.work.desired.clone().filter(|_| may_exist) {
                Some(desired) => (
                    state.observed.about.clone(),
                    LoadBalancer { memo, current_ingress, ..desired },
                    state.work.is_gone,
                ),
                None => {
                    states.forget(key);
                    return Ok(None);
                }
            }
        };
        if !is_gone {
            if self.is_there(&about).await.map_err(Error::Unknown)? {
                warn!(
                    service = key,
                    "the watch does not show the Service, and the API server has it: nothing is deleted"
                );
                return Ok(Some(BEHIND));
            }
            if let Some(state) = self.states().get(key) {
                state.work.is_gone = true;
            }
        }
        if let Some(holder) = self.memo_owner(&unwanted) {
            info!(service = key, "the Service is gone, and its load balancer is Service {holder}'s now");
            self.states().forget(key);
            return Ok(None);
        }
        self.load_balancers.check().await.map_err(Error::Vanished)?;
        self.spend(key, now)?;
        if self.states().get(key).is_some_and(|it| it.begin_deletion(&unwanted, now)) {
            self.record_deletion_begun(&about);
        }
        match self.delete(&about, unwanted.clone()).await.map_err(Error::Vanished)? {
            Deleted::Done { stays } => {
                self.states().forget(key);
                self.record_deleted(&about, stays);
                Ok(None)
            }
            Deleted::Pending(it) => {
                let (answered, mut states) = (Instant::now(), self.states());
                let mut after = held(it.after, Duration::ZERO);
                if let Some(state) = states.get(key) {
                    state.work.memo = it.status.memo.or(unwanted.memo);
                    after = held(it.after, state.wait(&it.reason, answered));
                    state.follow(Outcome::Deleting(answered + after));
                }
                Ok(Some(after))
            }
        }
    }

    /// Whether the API server has this very Service. It is a consistent read; what is no answer about the Service is an
    /// error.
    async fn is_there(&self, about: &ObjectReference) -> Result<bool, object::Error> {
        let (namespace, name) = (about.namespace.as_deref(), about.name.as_deref().unwrap_or_default());
        let services: Api<Trimmed<Service>> = Api::namespaced(self.client.clone(), namespace.unwrap_or_default());
        match object::answer(services.get(name)).await {
            Ok(Trimmed(found)) => Ok(found.metadata.uid == about.uid),
            Err(object::Error::Refused(status)) if denies(&status, name) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Counts the deletion that is about to begin, unless it was asked for or has begun before.
    fn spend(&self, key: &str, now: Instant) -> Result<(), Error> {
        let status = {
            let mut states = self.states();
            if states.get(key).is_none_or(|it| it.is_deleting()) {
                return Ok(());
            }
            states.iter().filter(|(_, it)| it.work.may_exist).count()
        };
        if self.requested.within(LOAD_BALANCERS.window, now).is_approved {
            return Ok(());
        }
        let mut orphans = self.orphans.lock();
        orphans.take(&LOAD_BALANCERS, status, now).map_err(|deletions| {
            self.metrics.load_balancers_withheld.inc();
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
        memos::watched(&unwanted.owner.uid, unwanted.memo.as_deref()?, &self.services.all()).next()
    }
}

/// Whether the API server says that there is no Service with this name: not that it does not know the path.
fn denies(status: &Status, name: &str) -> bool {
    let is_about_it = status.details.as_ref().is_some_and(|it| it.name == name && it.kind == "services");
    status.code == 404 && status.reason == "NotFound" && is_about_it
}
