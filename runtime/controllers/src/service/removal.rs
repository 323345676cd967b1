//! Taking a load balancer away: the cloud first, what keeps the Service last.

use std::sync::Arc;

use cloud_provider::{Deletion, Error as CloudError, LoadBalancer, LoadBalancerStatus, PendingStatus};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use tokio::time::Instant;

use crate::cloud_call::{CALL, late};
use crate::events::{EventKind, reference};
use crate::object::{ObjectPart, UpdateRefusal, update_latest};
use crate::service::desired::unclaimed;
use crate::service::error::Error;
use crate::service::ownership;
use crate::service::plan::{Plan, Planner, plan};
use crate::service::state::NextStep;
use crate::service::status;
use crate::service::syncer::Syncer;
use crate::service::write::ProviderAnswer;
use crate::worker::random;

impl Syncer {
    /// Takes one step towards the end of a load balancer that its Service does not want any more.
    pub(super) async fn remove(
        &self,
        key: &str,
        service: Arc<Service>,
        mut unwanted: LoadBalancer,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        let now = Instant::now();
        self.shared.load_balancers.check().await.map_err(Error::Delete)?;
        let about = reference(service.as_ref());
        let claimed = self.older_claimant(&service);
        let foreign_memo = self.shared.states.of(key, &service, |state| {
            if state.begin_deletion(&unwanted, now) {
                self.record_deletion_begun(&about);
            }
            if let Some((memo, _)) = &claimed {
                state.meets_foreign_memo(memo);
            }
            state.foreign_memo()
        });
        if let Some((memo, older_claimant)) = &claimed {
            self.record_foreign_memo(&about, memo, older_claimant);
            unwanted = LoadBalancer { memo: None, ..unclaimed(unwanted, &self.shared.cluster) };
        }
        match self.delete(&about, unwanted, foreign_memo).await.map_err(Error::Delete)? {
            Deletion::Pending(it) => {
                // What proves whose it is stays until it is gone.
                let memo = it.status.memo.or_else(|| status::memo(&service).map(str::to_owned));
                let ingress = self.usable(key, &service, it.status.ingress);
                let status = LoadBalancerStatus { memo, ingress, ..it.status };
                let answer = ProviderAnswer::BusyDeleting(PendingStatus { status, ..it });
                self.keep_and_write(key, service, answer, planner).await
            }
            done => self.release(key, service, &done).await,
        }
    }

    /// Asks the cloud to delete what is the Service's own. What another Service holds is not: then nothing counts that
    /// the Service only says of itself. `foreign_memo` is that of another Service which this deletion has met before. Nothing is
    /// called done that has left something, of whatever cause.
    pub(super) async fn delete(
        &self,
        about: &ObjectReference,
        unwanted: LoadBalancer,
        mut foreign_memo: Option<String>,
    ) -> Result<Deletion, CloudError> {
        let key = key_of(&unwanted);
        let mut deleted = self.call_delete(about, &unwanted).await?;
        if let Some((memo, holder)) = self.foreign(&key, &unwanted, &deleted) {
            self.record_foreign_memo(about, &memo, &holder);
            foreign_memo = Some(memo);
            deleted = self.call_delete(about, &unclaimed(unwanted.clone(), &self.shared.cluster)).await?;
            if let Some((memo, holder)) = self.foreign(&key, &unwanted, &deleted) {
                return Err(ownership::taken(&key, &memo, &holder));
            }
        }
        Ok(match (deleted, foreign_memo) {
            (Deletion::Done, Some(memo)) => Deletion::Kept(memo),
            (other, _) => other,
        })
    }

    /// The memo that a deletion goes on with, and whose it is, if it is another Service's.
    fn foreign(&self, key: &str, unwanted: &LoadBalancer, deleted: &Deletion) -> Option<(String, String)> {
        let Deletion::Pending(PendingStatus { status: LoadBalancerStatus { memo, .. }, .. }) = deleted else {
            return None;
        };
        let memo = memo.clone().filter(|it| unwanted.memo.as_ref() != Some(it))?;
        let all = self.shared.services.all();
        let holder = self.shared.states.all(|states| {
            let holder = ownership::holder(&unwanted.owner.uid, &memo, states, &all);
            if let Some(state) = states.get(key).filter(|_| holder.is_some()) {
                state.meets_foreign_memo(&memo);
            }
            holder
        })?;
        Some((memo, holder))
    }

    async fn call_delete(&self, about: &ObjectReference, unwanted: &LoadBalancer) -> Result<Deletion, CloudError> {
        let call = tokio::time::timeout(CALL, self.shared.load_balancers.delete(unwanted));
        let reply = call.await.map_err(|_| late())?;
        // A provider that is done and warns has left something: its warning names what.
        let warns = reply.events.iter().any(|it| it.kind == EventKind::Warning);
        self.record_provider_events(about, reply.events);
        Ok(match reply.answer? {
            Deletion::Done if warns => Deletion::Kept("the provider has warned of what it did not delete".to_owned()),
            Deletion::Kept(reason) => {
                let message = format!("the load balancer stays in the cloud: {reason}");
                self.shared.recorder.record(about.clone(), EventKind::Warning, "LoadBalancerNotDeleted", &message);
                Deletion::Kept(reason)
            }
            other => other,
        })
    }

    /// The cloud has said that it is done: the finalizer goes, and with it the memo and the addresses.
    async fn release(&self, key: &str, service: Arc<Service>, deleted: &Deletion) -> Result<NextStep, Error> {
        let uid = service.metadata.uid.clone();
        let about = reference(service.as_ref());
        let plan = |it: &Service| match plan(it, true, &self.shared.cluster) {
            // Somebody wants it again, or another controller has it: what it had is gone all the same.
            Ok(Plan::Ensure(_) | Plan::Forget) => Err(UpdateRefusal::Plan(())),
            Ok(Plan::Ignore | Plan::Delete(_)) | Err(_) => Ok(status::released(it)),
        };
        let latest = || self.shared.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.shared.api(&service), ObjectPart::StatusAndMetadata);
        match update_latest(&api, service, part, plan, latest, random).await {
            Ok(written) => self.end_deletion(key, written.as_ref()),
            Err(UpdateRefusal::Api(error)) if error.is_gone() => self.end_deletion(key, None),
            Err(UpdateRefusal::Api(error)) => return Err(Error::Release(error)),
            Err(UpdateRefusal::Plan(())) => return Ok(NextStep::Again),
        }
        self.record_deleted(&about, deleted);
        Ok(NextStep::Done)
    }

    /// The Service has nothing of ours any more; `written` is how we left it, if it is still there.
    pub(super) fn end_deletion(&self, key: &str, written: Option<&Arc<Service>>) {
        self.shared.states.written(key, written.map(|it| &**it), |state| state.end_deletion(written));
    }

    /// The load balancer behind the memo stays, and so nothing is said to be deleted in the end.
    fn record_foreign_memo(&self, about: &ObjectReference, memo: &str, holder: &str) {
        let message = format!(
            "the load balancer that is remembered as {memo:?} is Service {holder}'s: it is not deleted with this one"
        );
        self.shared.recorder.record(about.clone(), EventKind::Warning, "LoadBalancerNotDeleted", &message);
    }

    pub(super) fn record_deletion_begun(&self, about: &ObjectReference) {
        self.shared.recorder.record(about.clone(), EventKind::Normal, "DeletingLoadBalancer", "Deleting load balancer");
    }

    /// Nothing is said to be deleted where the provider has warned that something stays.
    pub(super) fn record_deleted(&self, about: &ObjectReference, deleted: &Deletion) {
        if *deleted == Deletion::Done {
            self.shared.recorder.record(
                about.clone(),
                EventKind::Normal,
                "DeletedLoadBalancer",
                "Deleted load balancer",
            );
        }
    }
}

/// What the work queue calls the Service that had it.
fn key_of(unwanted: &LoadBalancer) -> String {
    format!("{}/{}", unwanted.owner.namespace, unwanted.owner.name)
}
