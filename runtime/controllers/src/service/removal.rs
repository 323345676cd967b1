//! Taking a load balancer away: the cloud first, what keeps the Service last.

use std::sync::Arc;

use cloud_provider::{Deletion, Error as CloudError, LoadBalancer, LoadBalancerStatus, PendingStatus};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use tokio::time::Instant;
use tracing::debug;

use crate::events::{EventKind, reference};
use crate::inventory::list::{CALL, late};
use crate::object::{Part, Refusal, update_latest};
use crate::service::Controller;
use crate::service::desired::unclaimed;
use crate::service::error::Error;
use crate::service::memos;
use crate::service::plan::{Plan, plan};
use crate::service::state::{NextStep, Outcome};
use crate::service::status;
use crate::service::sync::held;
use crate::service::write::Written;
use crate::worker::random;

impl Controller {
    /// Takes one step towards the end of a load balancer that its Service does not want any more.
    pub(super) async fn remove(
        &self,
        key: &str,
        service: Arc<Service>,
        mut unwanted: LoadBalancer,
    ) -> Result<NextStep, Error> {
        let now = Instant::now();
        if let Some(pause) = self.states().of(key, &service, now).deleting(now) {
            return Ok(NextStep::After(pause));
        }
        self.load_balancers.check().await.map_err(Error::Delete)?;
        let about = reference(service.as_ref());
        if self.states().of(key, &service, now).begin_deletion(&unwanted, now) {
            self.record_deletion_begun(&about);
        }
        if let Some((memo, older_claimant)) = self.older_claimant(&service) {
            self.record_foreign_memo(key, &about, &memo, &older_claimant);
            unwanted = LoadBalancer { memo: None, ..unclaimed(unwanted, &self.cluster) };
        }
        match self.delete(&about, unwanted).await.map_err(Error::Delete)? {
            Deleted::Done { stays } => self.release(key, service, stays).await,
            Deleted::Pending(it) => {
                let answered = Instant::now();
                let waited = self.states().of(key, &service, now).wait(&it.reason, answered);
                let after = held(it.after, waited);
                debug!(service = key, ?after, "the load balancer is not gone: {}", it.reason);
                // What proves whose it is stays until it is gone.
                let memo = it.status.memo.or_else(|| status::memo(&service).map(str::to_owned));
                let ingress = self.usable(key, &service, it.status.ingress);
                let status = LoadBalancerStatus { memo, ingress, ..it.status };
                self.keep(key, &service, status, Outcome::Deleting(answered + after))?;
                match self.write(key, service).await? {
                    Written::Yes(_) | Written::Gone => Ok(NextStep::After(after)),
                    Written::Changed => Ok(NextStep::Again),
                }
            }
        }
    }

    /// Asks the cloud to delete what is the Service's own. What another Service holds is not: then nothing counts that
    /// the Service only says of itself.
    pub(super) async fn delete(&self, about: &ObjectReference, unwanted: LoadBalancer) -> Result<Deleted, CloudError> {
        let key = key_of(&unwanted);
        let mut deleted = self.call_delete(about, &unwanted).await?;
        if let Some((memo, holder)) = self.foreign(&unwanted, &deleted) {
            self.record_foreign_memo(&key, about, &memo, &holder);
            deleted = self.call_delete(about, &unclaimed(unwanted.clone(), &self.cluster)).await?;
            if let Some((memo, holder)) = self.foreign(&unwanted, &deleted) {
                return Err(memos::taken(&key, &memo, &holder));
            }
        }
        if let Deleted::Done { stays } = &mut deleted {
            *stays |= self.states().get(&key).is_some_and(|it| it.work.has_foreign_memo);
        }
        Ok(deleted)
    }

    /// The memo that a deletion goes on with, and whose it is, if it is another Service's.
    fn foreign(&self, unwanted: &LoadBalancer, removal: &Deleted) -> Option<(String, String)> {
        let Deleted::Pending(PendingStatus { status: LoadBalancerStatus { memo, .. }, .. }) = removal else {
            return None;
        };
        let memo = memo.clone().filter(|it| unwanted.memo.as_ref() != Some(it))?;
        let holder = memos::holder(&unwanted.owner.uid, &memo, &self.states(), &self.services.all())?;
        Some((memo, holder))
    }

    async fn call_delete(&self, about: &ObjectReference, unwanted: &LoadBalancer) -> Result<Deleted, CloudError> {
        let call = tokio::time::timeout(CALL, self.load_balancers.delete(unwanted));
        let reply = call.await.map_err(|_| late())?;
        // A provider that is done and warns has left something: its warning names what.
        let stays = reply.events.iter().any(|it| it.kind == EventKind::Warning);
        self.record_provider_events(about, reply.events);
        Ok(match reply.answer? {
            Deletion::Done => Deleted::Done { stays },
            Deletion::Pending(it) => Deleted::Pending(it),
            Deletion::Kept(reason) => {
                let message = format!("the load balancer stays in the cloud: {reason}");
                self.recorder.record(about.clone(), EventKind::Warning, "LoadBalancerNotDeleted", &message);
                Deleted::Done { stays: true }
            }
        })
    }

    /// The cloud has said that it is done: the finalizer goes, and with it the memo and the addresses.
    async fn release(&self, key: &str, service: Arc<Service>, stays: bool) -> Result<NextStep, Error> {
        let uid = service.metadata.uid.clone();
        let about = reference(service.as_ref());
        let plan = |it: &Service| match plan(it, true, &self.cluster) {
            // Somebody wants it again, or another controller has it: what it had is gone all the same.
            Ok(Plan::Ensure(_) | Plan::Forget) => Err(Refusal::Plan(())),
            Ok(Plan::Ignore | Plan::Delete(_)) | Err(_) => Ok(status::released(it)),
        };
        let latest = || self.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.api(&service), Part::StatusAndMetadata);
        match update_latest(&api, service, part, plan, latest, random).await {
            Ok(Some(written)) => {
                let mut states = self.states();
                let state = states.of(key, &written, Instant::now());
                state.end_deletion();
                state.wrote(&written);
            }
            Ok(None) => self.end(key),
            Err(Refusal::Api(error)) if error.is_gone() => self.end(key),
            Err(Refusal::Api(error)) => return Err(Error::Release(error)),
            Err(Refusal::Plan(())) => return Ok(NextStep::Again),
        }
        self.record_deleted(&about, stays);
        Ok(NextStep::Done)
    }

    fn end(&self, key: &str) {
        if let Some(state) = self.states().get(key) {
            state.end_deletion();
        }
    }

    /// The load balancer behind the memo stays, and so nothing is said to be deleted in the end.
    fn record_foreign_memo(&self, key: &str, about: &ObjectReference, memo: &str, holder: &str) {
        if let Some(state) = self.states().get(key) {
            state.work.has_foreign_memo = true;
        }
        let message = format!(
            "the load balancer that is remembered as {memo:?} is Service {holder}'s: it is not deleted with this one"
        );
        self.recorder.record(about.clone(), EventKind::Warning, "LoadBalancerNotDeleted", &message);
    }

    pub(super) fn record_deletion_begun(&self, about: &ObjectReference) {
        self.recorder.record(about.clone(), EventKind::Normal, "DeletingLoadBalancer", "Deleting load balancer");
    }

    /// Nothing is said to be deleted where the provider has warned that something stays.
    pub(super) fn record_deleted(&self, about: &ObjectReference, stays: bool) {
        if stays {
            return;
        }
        self.recorder.record(about.clone(), EventKind::Normal, "DeletedLoadBalancer", "Deleted load balancer");
    }
}

/// What a provider's call to delete came to.
pub(super) enum Deleted {
    /// There is nothing more to do. `stays`: the provider has warned of what it did not delete.
    Done {
        stays: bool,
    },
    Pending(PendingStatus),
}

/// What the work queue calls the Service that had it.
fn key_of(unwanted: &LoadBalancer) -> String {
    format!("{}/{}", unwanted.owner.namespace, unwanted.owner.name)
}
