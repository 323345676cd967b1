//! Taking a load balancer away: the cloud first, what keeps the Service last.

use std::sync::Arc;

use cloud_provider::{Deletion, Error as CloudError, LoadBalancer, LoadBalancerStatus, PendingStatus};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use tokio::time::Instant;

use crate::cloud_call::{CALL, late};
use crate::events::{EventKind, reference};
use crate::object::UpdateRefusal;
use crate::service::desired::unclaimed;
use crate::service::error::Error;
use crate::service::ownership;
use crate::service::plan::{Plan, plan};
use crate::service::state::{NextStep, ServiceState};
use crate::service::status;
use crate::service::syncer::Syncer;

impl Syncer {
    /// Begins to delete a load balancer, or goes on. `service` is the one that has it, `None` if that has vanished: then a beginning counts
    /// among the deletions of such. `claimed` is a memo on it that is an older Service's. Says in `unwanted` whether its memo is new: what
    /// was announced, and never begun, leaves nothing to wait for. Returns the memo of another Service that this deletion has met.
    pub(super) fn begin_deletion(
        &self,
        key: &str,
        service: Option<&Service>,
        about: &ObjectReference,
        unwanted: &mut LoadBalancer,
        claimed: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let now = Instant::now();
        self.shared.states.all(|states| {
            let state = match service {
                Some(service) => states.of(key, service, now),
                None => {
                    let load_balancers = states.iter().filter(|(_, it)| it.may_exist()).count();
                    let Some(state) = states.get(key) else { return Ok(None) };
                    // The API server has said so, and is not asked again.
                    state.work.gone_since.get_or_insert(now);
                    if !state.is_deleting() {
                        self.spend(key, load_balancers, now)?;
                    }
                    state
                }
            };
            if state.begin_deletion(unwanted, now) {
                let message = "Deleting load balancer";
                self.shared.recorder.record(about.clone(), EventKind::Normal, "DeletingLoadBalancer", message);
            }
            if let Some(memo) = claimed {
                state.meets_foreign_memo(memo);
            }
            unwanted.memo_is_new = claimed.is_none() && state.is_memo_new(unwanted.memo.as_deref());
            Ok(state.foreign_memo())
        })
    }

    /// Asks the cloud to delete what is the Service's own. What another Service holds is not: then nothing counts that
    /// the Service only says of itself. `foreign_memo` is that of another Service which this deletion has met before. Nothing is
    /// called done that has left something, of whatever cause.
    pub(super) async fn delete(
        &self,
        about: &ObjectReference,
        mut unwanted: LoadBalancer,
        mut foreign_memo: Option<String>,
    ) -> Result<Deletion, CloudError> {
        let key = key_of(&unwanted);
        // A load balancer by whose hostname another Service is reached is deleted by its memo or its mark alone.
        let (description, all) = (self.shared.cluster.description.now(), self.shared.services.all());
        let others = all.iter().filter(|it| it.metadata.uid.as_deref() != Some(&*unwanted.owner.uid));
        let others: Vec<Arc<Service>> = others.cloned().collect();
        ownership::leave_out_shared(&mut unwanted, &description.writes_annotations, others.iter());
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
    pub(super) async fn release(
        &self,
        key: &str,
        service: Arc<Service>,
        deleted: &Deletion,
    ) -> Result<NextStep, Error> {
        let about = reference(service.as_ref());
        let description = self.shared.cluster.description.now();
        let plan = |(): &mut (), it: &Service| match plan(it, true, &self.shared.cluster) {
            // Somebody wants it again, or another controller has it: what it had is gone all the same.
            Ok(Plan::Ensure(_) | Plan::Forget) => Err(UpdateRefusal::Plan(())),
            Ok(Plan::Ignore | Plan::Delete(_)) | Err(_) => {
                Ok(status::released(it, &description.takes_finalizers, self.shared.cluster.class.as_deref()))
            }
        };
        let then = |(): &mut (), state: &mut ServiceState, written: &Result<Option<Arc<Service>>, _>| {
            if let Ok(written) = written {
                state.end_deletion(written.as_ref());
            }
        };
        match self.update(key, service, &mut (), plan, then).await.0 {
            Ok(_) => {
                self.record_deleted(&about, deleted);
                Ok(NextStep::Done)
            }
            Err(UpdateRefusal::Api(error)) => Err(Error::Release(error)),
            Err(UpdateRefusal::Plan(())) => Ok(NextStep::Again),
        }
    }

    /// The load balancer behind the memo stays, and so nothing is said to be deleted in the end.
    pub(super) fn record_foreign_memo(&self, about: &ObjectReference, memo: &str, holder: &str) {
        let message = format!(
            "the load balancer that is remembered as {memo:?} is Service {holder}'s: it is not deleted with this one"
        );
        self.shared.recorder.record(about.clone(), EventKind::Warning, "LoadBalancerNotDeleted", &message);
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
