//! Keeping what the provider answered: in the state at once, and on the Service before it is called again.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{LoadBalancerStatus, PendingStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::debug;

use crate::events::EventKind;
use crate::object::{ObjectPart, UpdateRefusal, update_latest};
use crate::service::error::Error;
use crate::service::inventory::drift::ReadyEvidence;
use crate::service::ownership;
use crate::service::plan::Planner;
use crate::service::state::{AnswerMeaning, Cause, NextCall, NextStep, Unwritten};
use crate::service::status::{self, memo};
use crate::service::syncer::{Syncer, held};
use crate::worker::random;

/// An answer of the provider.
pub(super) enum ProviderAnswer {
    /// The load balancer is as desired.
    Ready(LoadBalancerStatus),
    /// It is not, and that is an error: the memo counts.
    Failed(LoadBalancerStatus),
    /// The next call creates it.
    Announced(PendingStatus),
    /// The cloud is busy with it.
    Busy(PendingStatus),
    /// The cloud is busy deleting it.
    BusyDeleting(PendingStatus),
}

impl Syncer {
    /// Keeps an answer, and writes it on the Service. Returns how the work goes on: at once if somebody has changed the Service
    /// meanwhile.
    pub(super) async fn keep_and_write(
        &self,
        key: &str,
        service: Arc<Service>,
        answer: ProviderAnswer,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        let (next, unwritten) = self.keep(key, &service, &answer)?;
        match (&answer, next) {
            (ProviderAnswer::Announced(it) | ProviderAnswer::Busy(it), NextStep::After(after)) => {
                debug!(service = key, ?after, "the load balancer is not ready: {}", it.reason);
                if let Some(lists) = &self.lists {
                    lists.wake();
                }
            }
            (ProviderAnswer::BusyDeleting(it), NextStep::After(after)) => {
                debug!(service = key, ?after, "the load balancer is not gone: {}", it.reason);
            }
            (_, _) => {}
        }
        Ok(match self.write(key, service, unwritten, planner).await? {
            Continue(_) => next,
            Break(changed) => changed,
        })
    }

    /// Keeps in the state what the provider answered, unless its memo is another Service's. Returns how the work goes on, and
    /// what is to be written before.
    fn keep(&self, key: &str, service: &Service, answer: &ProviderAnswer) -> Result<(NextStep, Unwritten), Error> {
        let (now, uid) = (Instant::now(), service.metadata.uid.as_deref().unwrap_or_default());
        self.shared.states.all(|states| {
            let state = states.of(key, service, now);
            let (status, next, then) = match answer {
                ProviderAnswer::Ready(status) => (status, NextStep::Done, AnswerMeaning::Ready),
                ProviderAnswer::Failed(status) => (status, NextStep::Done, AnswerMeaning::MemoOnly),
                ProviderAnswer::Announced(it) => {
                    state.wait(&it.reason, now);
                    state.is_busy(NextCall::Creates);
                    (&it.status, NextStep::After(Duration::ZERO), AnswerMeaning::Pending(now))
                }
                ProviderAnswer::Busy(it) => {
                    let after = held(it.after, state.wait(&it.reason, now));
                    state.is_busy(NextCall::GoesOn);
                    (&it.status, NextStep::After(after), AnswerMeaning::Pending(now + after))
                }
                ProviderAnswer::BusyDeleting(it) => {
                    let after = held(it.after, state.wait(&it.reason, now));
                    (&it.status, NextStep::After(after), AnswerMeaning::Deleting(now + after))
                }
            };
            if let Some(memo) = status.memo.as_deref().filter(|it| Some(*it) != status::memo(service))
                && let Some(holder) = ownership::holder(uid, memo, states, &self.shared.services.all())
            {
                let error = ownership::taken(key, memo, &holder);
                return Err(match answer {
                    ProviderAnswer::BusyDeleting(_) => Error::Delete(error),
                    ProviderAnswer::Ready(_)
                    | ProviderAnswer::Failed(_)
                    | ProviderAnswer::Announced(_)
                    | ProviderAnswer::Busy(_) => Error::Ensure(error),
                });
            }
            Ok((next, states.of(key, service, now).keep(status.clone(), status::memo(service), then)))
        })
    }

    /// Writes what is kept in the state on the Service, in one write or, if it is there already, in none. Returns the Service
    /// as it is then, or `None` if it is gone. It ends the step if somebody has written another memo: what the provider said was
    /// about something else.
    pub(super) async fn write(
        &self,
        key: &str,
        service: Arc<Service>,
        unwritten: Unwritten,
        planner: &mut Planner<'_>,
    ) -> Result<ControlFlow<NextStep, Option<Arc<Service>>>, Error> {
        let Unwritten { status, sent_memo, then, backends, revision } = unwritten;
        let (uid, now) = (service.metadata.uid.clone(), Timestamp::now());
        let mut compared = None;
        let class = self.shared.cluster.class.as_deref();
        let plan = |it: &Service| {
            // Who has written a memo that is neither the call's nor its answer's knows more.
            let other = memo(it).filter(|it| Some(*it) != sent_memo.as_deref() && Some(*it) != status.memo.as_deref());
            if let Some(other) = other {
                return Err(UpdateRefusal::Plan(other.to_owned()));
            }
            compared = planner.desired(it);
            Ok(match then {
                AnswerMeaning::Ready => {
                    let served = status::served(it, &status, class, now);
                    match planner.desired(&served).zip(revision.clone()) {
                        Some((desired, revision)) => {
                            let fingerprint = self.fingerprint(&desired, &backends, &served);
                            status::proven(served, &ReadyEvidence { fingerprint, revision }.text(), now)
                        }
                        // What was kept before says itself what it is about.
                        None => served,
                    }
                }
                AnswerMeaning::Restored => status::served(it, &status, class, now),
                AnswerMeaning::Pending(_) | AnswerMeaning::Deleting(_) | AnswerMeaning::MemoOnly => {
                    status::kept(it, &status, class, now)
                }
            })
        };
        let latest = || self.shared.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.shared.api(&service), ObjectPart::StatusAndMetadata);
        let (written, error) = match update_latest(&api, service, part, plan, latest, random).await {
            Ok(written) => (written, None),
            Err(UpdateRefusal::Api(error)) if error.is_gone() => (None, None),
            Err(error) => (None, Some(error)),
        };
        let desired_now = written.as_ref().and_then(|it| planner.desired(it));
        let cause = self.shared.states.written(key, written.as_deref(), |state| match (&written, &error) {
            (Some(written), _) => state.end(written, compared.as_ref(), desired_now),
            // Should the API server show it again after all, what is kept in the state is written first.
            (None, None) => {
                if let Some(then) = state.work.unwritten.as_ref().map(|it| it.then) {
                    state.follow(then);
                }
                None
            }
            (None, Some(UpdateRefusal::Plan(other))) => {
                state.work.unwritten = None;
                state.work.memo = Some(other.clone());
                None
            }
            (None, Some(UpdateRefusal::Api(error))) => {
                // The memo alone, so that the work goes on: with this answer there would never be another call.
                if let Some(unwritten) = state.work.unwritten.as_mut().filter(|_| error.is_refusal()) {
                    unwritten.keep_only_memo();
                }
                None
            }
        });
        if let (Some(written), Some(cause)) = (&written, cause.flatten()) {
            self.record_success(written, cause, backends.is_empty());
        }
        match error {
            None => Ok(Continue(written)),
            Some(UpdateRefusal::Plan(_)) => Ok(Break(NextStep::Again)),
            Some(UpdateRefusal::Api(error)) => Err(Error::Status(error)),
        }
    }

    /// The memo of a Service and who else has it, if that one is older: whose load balancer it is, is clear.
    pub(super) fn older_claimant(&self, service: &Service) -> Option<(String, String)> {
        let memo = memo(service)?;
        let older_claimant = ownership::older_claimant(service, memo, &self.shared.services.all())?;
        Some((memo.to_owned(), older_claimant))
    }

    fn record_success(&self, service: &Service, cause: Cause, has_no_backends: bool) {
        match cause {
            Cause::Service => {
                self.shared.record(service, EventKind::Normal, "EnsuredLoadBalancer", "Ensured load balancer");
            }
            Cause::Backends if has_no_backends => self.warn_of_no_backends(service),
            Cause::Backends => {
                let message = "Updated load balancer with new hosts";
                self.shared.record(service, EventKind::Normal, "UpdatedLoadBalancer", message);
            }
            // Whoever asked for it was told then.
            Cause::Resync => {}
        }
    }
}
