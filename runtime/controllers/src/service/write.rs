//! Keeping what the provider answered: in the state at once, and on the Service before it is called again.

use std::sync::Arc;

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use crate::events::EventKind;
use crate::object::{Part, Refusal, update_latest};
use crate::service::Controller;
use crate::service::backends::Backend;
use crate::service::desired::compared_fields;
use crate::service::error::Error;
use crate::service::inventory::drift::Evidence;
use crate::service::memos;
use crate::service::plan::{Plan, plan};
use crate::service::state::{Cause, Outcome, Unwritten};
use crate::service::status::{self, memo};
use crate::worker::random;

/// What became of a write.
pub(super) enum Written {
    /// The Service is like this now.
    Yes(Arc<Service>),
    /// The Service is gone.
    Gone,
    /// Somebody has written another memo: what the provider said was about something else.
    Changed,
}

impl Controller {
    /// Keeps in the state what the provider answered, unless its memo is another Service's.
    pub(super) fn keep(
        &self,
        key: &str,
        service: &Service,
        status: LoadBalancerStatus,
        then: Outcome,
    ) -> Result<(), Error> {
        let mut states = self.states();
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        if let Some(memo) = status.memo.as_deref().filter(|it| Some(*it) != status::memo(service))
            && let Some(holder) = memos::holder(uid, memo, &states, &self.services.all())
        {
            let error = memos::taken(key, memo, &holder);
            return Err(match then {
                Outcome::Deleting(_) => Error::Delete(error),
                Outcome::Ready | Outcome::Restored | Outcome::Pending(_) | Outcome::MemoOnly => Error::Ensure(error),
            });
        }
        let state = states.of(key, service, Instant::now());
        state.work.memo.clone_from(&status.memo);
        if status.memo.as_deref() != status::memo(service) {
            state.work.new_memo.clone_from(&status.memo);
        }
        let sent_memo = status::memo(service).map(str::to_owned);
        state.work.unwritten = Some(Unwritten { status, sent_memo, then });
        Ok(())
    }

    /// Writes what is kept in the state on the Service, in one write or, if it is there already, in none.
    pub(super) async fn write(&self, key: &str, service: Arc<Service>) -> Result<Written, Error> {
        let unwritten = {
            let mut states = self.states();
            states.of(key, &service, Instant::now()).work.unwritten.clone()
        };
        let Some(Unwritten { status, sent_memo, then }) = unwritten else { return Ok(Written::Yes(service)) };
        let (uid, now) = (service.metadata.uid.clone(), Timestamp::now());
        let (backends, revision) = self.seen(key);
        let mut compared = None;
        let class = self.cluster.class.as_deref();
        let plan = |it: &Service| {
            // Who has written a memo that is neither the call's nor its answer's knows more.
            let other = memo(it).filter(|it| Some(*it) != sent_memo.as_deref() && Some(*it) != status.memo.as_deref());
            if let Some(other) = other {
                return Err(Refusal::Plan(other.to_owned()));
            }
            compared = self.desired_now(it);
            Ok(match then {
                Outcome::Ready => {
                    let served = status::served(it, &status, class, now);
                    match self.evidence(&served, &backends, revision.as_deref()) {
                        Some(evidence) => status::proven(served, &evidence, now),
                        // What was kept before says itself what it is about.
                        None => served,
                    }
                }
                Outcome::Restored => status::served(it, &status, class, now),
                Outcome::Pending(_) | Outcome::Deleting(_) | Outcome::MemoOnly => status::kept(it, &status, class, now),
            })
        };
        let latest = || self.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.api(&service), Part::StatusAndMetadata);
        match update_latest(&api, service, part, plan, latest, random).await {
            Ok(Some(written)) => {
                let desired_now = self.desired_now(&written);
                let cause = {
                    let mut states = self.states();
                    states.of(key, &written, Instant::now()).end(&written, compared.as_ref(), desired_now)
                };
                if let Some(cause) = cause {
                    self.record_success(key, &written, cause);
                }
                Ok(Written::Yes(written))
            }
            Ok(None) => Ok(self.gone(key)),
            Err(Refusal::Api(error)) if error.is_gone() => Ok(self.gone(key)),
            Err(Refusal::Api(error)) => {
                // The memo alone, so that the work goes on: with this answer there would never be another call.
                if error.is_refusal()
                    && let Some(unwritten) = self.states().get(key).and_then(|it| it.work.unwritten.as_mut())
                {
                    unwritten.keep_only_memo();
                }
                Err(Error::Status(error))
            }
            Err(Refusal::Plan(other)) => {
                if let Some(state) = self.states().get(key) {
                    state.work.unwritten = None;
                    state.work.memo = Some(other);
                }
                Ok(Written::Changed)
            }
        }
    }

    /// The Service is gone. Should the API server show it again after all, what is kept in the state is written first.
    fn gone(&self, key: &str) -> Written {
        if let Some(state) = self.states().get(key)
            && let Some(then) = state.work.unwritten.as_ref().map(|it| it.then)
        {
            state.follow(then);
        }
        Written::Gone
    }

    /// The memo of a Service and who else has it, if that one is older: whose load balancer it is, is clear.
    pub(super) fn older_claimant(&self, service: &Service) -> Option<(String, String)> {
        let memo = memo(service)?;
        let older_claimant = memos::older_claimant(service, memo, &self.services.all())?;
        Some((memo.to_owned(), older_claimant))
    }

    fn record_success(&self, key: &str, service: &Service, cause: Cause) {
        let has_backends = self.states().get(key).is_some_and(|it| !it.work.backends.is_empty());
        match cause {
            Cause::Service => {
                self.record(service, EventKind::Normal, "EnsuredLoadBalancer", "Ensured load balancer");
            }
            Cause::Backends if has_backends => {
                let message = "Updated load balancer with new hosts";
                self.record(service, EventKind::Normal, "UpdatedLoadBalancer", message);
            }
            Cause::Backends => self.warn_of_no_backends(service),
            // Whoever asked for it was told then.
            Cause::Resync => {}
        }
    }

    /// The nodes for which a Service was worked on, and the revision that a list showed when the cloud was asked.
    fn seen(&self, key: &str) -> (Arc<[Backend]>, Option<String>) {
        let states = self.states();
        let work = states.peek(key).map(|it| &it.work);
        work.map_or_else(Default::default, |it| {
            (it.backends.clone(), it.asked_revision.clone().or(it.revision.clone()))
        })
    }

    /// What is kept on a Service of a load balancer that is as desired.
    fn evidence(&self, served: &Service, backends: &[Backend], revision: Option<&str>) -> Option<String> {
        let (desired, revision) = (self.desired_now(served)?, revision?.to_owned());
        Some(Evidence { fingerprint: self.fingerprint(&desired, backends, served), revision }.text())
    }

    /// What a Service desires, without what we write ourselves; `None` if it desires nothing.
    pub(super) fn desired_now(&self, service: &Service) -> Option<LoadBalancer> {
        match plan(service, true, &self.cluster) {
            Ok(Plan::Ensure(desired)) => Some(compared_fields(desired)),
            Ok(Plan::Ignore | Plan::Delete(_) | Plan::Forget) | Err(_) => None,
        }
    }
}
