//! Keeping what the provider answered: in the state at once, and on the Service before it is called again.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use crate::events::EventKind;
use crate::object::{ObjectPart, UpdateRefusal, update_latest};
use crate::service::error::Error;
use crate::service::inventory::drift::evidence;
use crate::service::ownership;
use crate::service::plan::Planner;
use crate::service::state::{AnswerMeaning, Cause, NextStep, ServiceState, Unwritten};
use crate::service::status::{self, memo};
use crate::service::syncer::Syncer;
use crate::worker::random;

impl Syncer {
    /// Keeps an answer, and writes it on the Service. `means` says how its work goes on. Returns that, or that it goes on at once because
    /// somebody has changed the Service meanwhile.
    pub(super) async fn keep_and_write(
        &self,
        key: &str,
        service: Arc<Service>,
        status: LoadBalancerStatus,
        means: impl FnOnce(&mut ServiceState, Instant) -> AnswerMeaning + Send,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        let now = Instant::now();
        let unwritten = self.keep(key, &service, status, means, now)?;
        let next = match unwritten.then {
            AnswerMeaning::Ready | AnswerMeaning::Restored | AnswerMeaning::MemoOnly => NextStep::Done,
            AnswerMeaning::Pending(until) | AnswerMeaning::Deleting(until) => NextStep::After(until - now),
        };
        if let (AnswerMeaning::Pending(_), Some(lists)) = (unwritten.then, &self.lists) {
            lists.wake();
        }
        Ok(match self.write(key, service, unwritten, planner).await? {
            Continue(_) => next,
            Break(changed) => changed,
        })
    }

    /// Keeps in the state what the provider answered, unless its memo is another Service's. Returns what is to be written.
    fn keep(
        &self,
        key: &str,
        service: &Service,
        status: LoadBalancerStatus,
        means: impl FnOnce(&mut ServiceState, Instant) -> AnswerMeaning,
        now: Instant,
    ) -> Result<Unwritten, Error> {
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        self.shared.states.all(|states| {
            let then = means(states.of(key, service, now), now);
            if let Some(memo) = status.memo.as_deref().filter(|it| Some(*it) != status::memo(service))
                && let Some(holder) = ownership::holder(uid, memo, states, &self.shared.services.all())
            {
                let error = ownership::taken(key, memo, &holder);
                return Err(match then {
                    AnswerMeaning::Deleting(_) => Error::Delete(error),
                    AnswerMeaning::Ready
                    | AnswerMeaning::Restored
                    | AnswerMeaning::Pending(_)
                    | AnswerMeaning::MemoOnly => Error::Ensure(error),
                });
            }
            Ok(states.of(key, service, now).keep(status, status::memo(service), then))
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
        let now = Timestamp::now();
        let class = self.shared.cluster.class.as_deref();
        // The desired load balancer before and after: our own write is no change.
        let mut desires = (planner, None::<LoadBalancer>);
        let plan = |(planner, before): &mut (&mut Planner<'_>, Option<LoadBalancer>), it: &Service| {
            // Who has written a memo that is neither the call's nor its answer's knows more.
            let other = memo(it).filter(|it| Some(*it) != sent_memo.as_deref() && Some(*it) != status.memo.as_deref());
            if let Some(other) = other {
                return Err(UpdateRefusal::Plan(other.to_owned()));
            }
            *before = planner.desired(it);
            Ok(match then {
                AnswerMeaning::Ready => {
                    let served = status::served(it, &status, class, now);
                    match planner.desired(&served).zip(revision.as_deref()) {
                        Some((desired, revision)) => {
                            let evidence = evidence(&self.fingerprint(&desired, &backends, &served), revision);
                            status::proven(served, &evidence, now)
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
        let (written, cause) = self
            .update(key, service, &mut desires, plan, |(planner, before), state, written| match written {
                Ok(Some(written)) => state.end(written, before.as_ref(), planner.desired(written)),
                // Should the API server show it again after all, what is kept in the state is written first.
                Ok(None) => {
                    if let Some(then) = state.work.unwritten.as_ref().map(|it| it.then) {
                        state.follow(then);
                    }
                    None
                }
                Err(UpdateRefusal::Plan(other)) => {
                    state.work.unwritten = None;
                    state.work.memo = Some(other.clone());
                    None
                }
                Err(UpdateRefusal::Api(error)) => {
                    // The memo alone, so that the work goes on: with this answer there would never be another call.
                    if let Some(unwritten) = state.work.unwritten.as_mut().filter(|_| error.is_refusal()) {
                        unwritten.keep_only_memo();
                    }
                    None
                }
            })
            .await;
        match written {
            Ok(written) => {
                if let (Some(written), Some(cause)) = (&written, cause.flatten()) {
                    self.record_success(written, cause, backends.is_empty());
                }
                Ok(Continue(written))
            }
            Err(UpdateRefusal::Plan(_)) => Ok(Break(NextStep::Again)),
            Err(UpdateRefusal::Api(error)) => Err(Error::Status(error)),
        }
    }

    /// Makes a Service what `plan` makes of it, in one write or, if it is that already, in none; if others change it meanwhile, `plan` is
    /// asked again. Returns the Service as it is then, `None` if it is gone, or why it was not written; and the result of `then`, which
    /// is given the same and the Service's state, if it has one. Both are given `context`.
    pub(super) async fn update<C, E, T>(
        &self,
        key: &str,
        service: Arc<Service>,
        context: &mut C,
        mut plan: impl FnMut(&mut C, &Service) -> Result<Service, UpdateRefusal<E>> + Send,
        then: impl FnOnce(&mut C, &mut ServiceState, &Result<Option<Arc<Service>>, UpdateRefusal<E>>) -> T + Send,
    ) -> (Result<Option<Arc<Service>>, UpdateRefusal<E>>, Option<T>)
    where
        C: Send,
        E: Send,
    {
        let uid = service.metadata.uid.clone();
        let latest = || self.shared.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.shared.api(&service), ObjectPart::StatusAndMetadata);
        let written = match update_latest(&api, service, part, |it| plan(context, it), latest, random).await {
            Err(UpdateRefusal::Api(error)) if error.is_gone() => Ok(None),
            written => written,
        };
        let service = written.as_ref().ok().and_then(|it| it.as_deref());
        let result = self.shared.states.written(key, service, |state| then(context, state, &written));
        (written, result)
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
