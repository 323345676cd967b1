//! Keeping what the provider answered: in the state at once, and on the Service before it is called again.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::LoadBalancerStatus;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use crate::events::EventKind;
use crate::object::{Part, Refusal, update_latest};
use crate::service::error::Error;
use crate::service::inventory::drift::Evidence;
use crate::service::ownership;
use crate::service::plan::Planner;
use crate::service::state::{Cause, NextCall, NextStep, Outcome, Unwritten};
use crate::service::status::{self, memo};
use crate::service::syncer::{Syncer, held};
use crate::worker::random;

/// What a provider answered.
pub(super) enum Answer<'a> {
    /// The load balancer is as desired.
    Ready,
    /// It is not, and that is an error: the memo counts.
    Failed,
    /// The next call creates it.
    Announced(CloudWait<'a>),
    /// The cloud is busy with it.
    Busy(CloudWait<'a>),
    /// The cloud is busy deleting it.
    BusyDeleting(CloudWait<'a>),
}

/// Why the cloud is waited for, and how long the provider wants to wait.
pub(super) struct CloudWait<'a> {
    pub(super) reason: &'a str,
    pub(super) after: Duration,
}

/// What became of a write.
pub(super) enum Written {
    /// The Service is like this now.
    Yes(Arc<Service>),
    /// The Service is gone.
    Gone,
    /// Somebody has written another memo: what the provider said was about something else.
    Changed,
}

impl Written {
    /// How it goes on, if nobody has changed it.
    pub(super) fn then(self, next: NextStep) -> NextStep {
        match self {
            Self::Yes(_) | Self::Gone => next,
            Self::Changed => NextStep::Again,
        }
    }
}

impl Syncer {
    /// Keeps in the state what the provider answered, unless its memo is another Service's. Returns how long the cloud is left
    /// alone.
    pub(super) fn keep(
        &self,
        key: &str,
        service: &Service,
        status: LoadBalancerStatus,
        answer: Answer<'_>,
    ) -> Result<Duration, Error> {
        let (now, uid) = (Instant::now(), service.metadata.uid.as_deref().unwrap_or_default());
        self.shared.states.all(|states| {
            let state = states.of(key, service, now);
            let (after, then) = match &answer {
                Answer::Ready => (Duration::ZERO, Outcome::Ready),
                Answer::Failed => (Duration::ZERO, Outcome::MemoOnly),
                Answer::Announced(CloudWait { reason, .. }) => {
                    state.wait(reason, now);
                    state.is_busy(NextCall::Creates);
                    (Duration::ZERO, Outcome::Pending(now))
                }
                Answer::Busy(CloudWait { reason, after }) => {
                    let after = held(*after, state.wait(reason, now));
                    state.is_busy(NextCall::GoesOn);
                    (after, Outcome::Pending(now + after))
                }
                Answer::BusyDeleting(CloudWait { reason, after }) => {
                    let after = held(*after, state.wait(reason, now));
                    (after, Outcome::Deleting(now + after))
                }
            };
            if let Some(memo) = status.memo.as_deref().filter(|it| Some(*it) != status::memo(service))
                && let Some(holder) = ownership::holder(uid, memo, states, &self.shared.services.all())
            {
                let error = ownership::taken(key, memo, &holder);
                return Err(match answer {
                    Answer::BusyDeleting(_) => Error::Delete(error),
                    Answer::Ready | Answer::Failed | Answer::Announced(_) | Answer::Busy(_) => Error::Ensure(error),
                });
            }
            states.of(key, service, now).keep(status, status::memo(service), then);
            Ok(after)
        })
    }

    /// Writes what is kept in the state on the Service, in one write or, if it is there already, in none.
    pub(super) async fn write(
        &self,
        key: &str,
        service: Arc<Service>,
        planner: &mut Planner<'_>,
    ) -> Result<Written, Error> {
        let (unwritten, backends, revision) = self.shared.states.of(key, &service, |state| {
            (state.work.unwritten.clone(), state.shared_backends(), state.next_revision().map(str::to_owned))
        });
        let Some(Unwritten { status, sent_memo, then }) = unwritten else { return Ok(Written::Yes(service)) };
        let (uid, now) = (service.metadata.uid.clone(), Timestamp::now());
        let mut compared = None;
        let class = self.shared.cluster.class.as_deref();
        let plan = |it: &Service| {
            // Who has written a memo that is neither the call's nor its answer's knows more.
            let other = memo(it).filter(|it| Some(*it) != sent_memo.as_deref() && Some(*it) != status.memo.as_deref());
            if let Some(other) = other {
                return Err(Refusal::Plan(other.to_owned()));
            }
            compared = planner.desired(it);
            Ok(match then {
                Outcome::Ready => {
                    let served = status::served(it, &status, class, now);
                    match planner.desired(&served).zip(revision.clone()) {
                        Some((desired, revision)) => {
                            let fingerprint = self.fingerprint(&desired, &backends, &served);
                            status::proven(served, &Evidence { fingerprint, revision }.text(), now)
                        }
                        // What was kept before says itself what it is about.
                        None => served,
                    }
                }
                Outcome::Restored => status::served(it, &status, class, now),
                Outcome::Pending(_) | Outcome::Deleting(_) | Outcome::MemoOnly => status::kept(it, &status, class, now),
            })
        };
        let latest = || self.shared.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.shared.api(&service), Part::StatusAndMetadata);
        let error = match update_latest(&api, service, part, plan, latest, random).await {
            Ok(Some(written)) => {
                let desired_now = planner.desired(&written);
                let cause = self.shared.states.of(key, &written, |it| it.end(&written, compared.as_ref(), desired_now));
                if let Some(cause) = cause {
                    self.record_success(&written, cause, backends.is_empty());
                }
                return Ok(Written::Yes(written));
            }
            Ok(None) => None,
            Err(Refusal::Api(error)) if error.is_gone() => None,
            Err(error) => Some(error),
        };
        self.shared.states.with(key, |state| match &error {
            // Should the API server show it again after all, what is kept in the state is written first.
            None => {
                if let Some(then) = state.work.unwritten.as_ref().map(|it| it.then) {
                    state.follow(then);
                }
            }
            Some(Refusal::Plan(other)) => {
                state.work.unwritten = None;
                state.work.memo = Some(other.clone());
            }
            Some(Refusal::Api(error)) => {
                // The memo alone, so that the work goes on: with this answer there would never be another call.
                if let Some(unwritten) = state.work.unwritten.as_mut().filter(|_| error.is_refusal()) {
                    unwritten.keep_only_memo();
                }
            }
        });
        match error {
            None => Ok(Written::Gone),
            Some(Refusal::Plan(_)) => Ok(Written::Changed),
            Some(Refusal::Api(error)) => Err(Error::Status(error)),
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
