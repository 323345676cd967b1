//! Bringing one Service to where it should be: the steps, numbered in their order, each of which may be the last of this process.

use std::convert::Infallible;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Deletion, Error as CloudError, LoadBalancer, LoadBalancerStatus, Progress, Reply};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::{debug, info};

use crate::cloud_call::{CALL, late};
use crate::events::{EventKind, reference};
use crate::limits::too_many_nodes;
use crate::object::UpdateRefusal;
use crate::service::backends::{BackendNode, Backends};
use crate::service::changes::BackendPass;
use crate::service::desired::{compared_fields, unclaimed};
use crate::service::error::Error;
use crate::service::inventory::drift::{proven_revision, revision};
use crate::service::inventory::fingerprint::fingerprint;
use crate::service::ownership;
use crate::service::plan::{Plan, Planner, is_anothers, is_wanted};
use crate::service::state::{AnswerMeaning, AskedNodes, Cause, NextCall, NextStep, ServiceState, Unwritten};
use crate::service::status;
use crate::service::syncer::{SHORTEST_PENDING, Syncer, held};
use crate::worker::{NextSync, random};

/// How often a Service is reconciled again at once because somebody has changed it meanwhile.
const ATTEMPTS: usize = 10;
/// The pause before the next attempt.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(50);

impl Syncer {
    /// Reconciles the Service under a key, several times if somebody changes it meanwhile.
    pub(super) async fn reconcile(&self, key: &str) -> Result<NextSync, Error> {
        for _ in 0..ATTEMPTS {
            let step = self.steps(key).await;
            if let Some(refused) = self.shared.states.end_step(key, matches!(step, Ok(NextStep::Forget))) {
                return Err(Error::Fault(refused.to_string()));
            }
            match step? {
                NextStep::Done | NextStep::Forget => return Ok(NextSync::Done),
                NextStep::After(pause) => return Ok(NextSync::After(pause)),
                NextStep::Again => {
                    debug!(service = key, "the Service has changed meanwhile; it is reconciled again");
                    tokio::time::sleep(ATTEMPT_PAUSE.mul_f64(1.0 + random())).await;
                }
            }
        }
        Ok(NextSync::After(SHORTEST_PENDING))
    }

    /// The steps of a reconciliation, in the order that is safe to interrupt. A step that cannot go on ends it.
    async fn steps(&self, key: &str) -> Result<NextStep, Error> {
        let watched = self.shared.latest(key);
        // 1. What an earlier Service of this name left behind in the cloud goes first.
        if let Some(pause) = self.delete_vanished(key, watched.as_deref()).await? {
            return Ok(NextStep::After(pause));
        }
        let Some(service) = watched else {
            self.confirmations.forget(key);
            return Ok(NextStep::Forget);
        };
        let mut planner = Planner::new(&self.shared.cluster);
        // 2. What the provider answered last is written before it is called again.
        let (service, may_exist, deleting_until) = match self.write_last_answer(key, service, &mut planner).await? {
            Continue(known) => known,
            Break(next) => return Ok(next),
        };
        // 3. What becomes of it: `remove` and `ensure` go on with their own steps. While the cloud is busy deleting, it is not asked.
        let now = Instant::now();
        match planner.plan(&service, may_exist)? {
            Plan::Ignore => Ok(NextStep::Forget),
            Plan::Delete(unwanted) => match deleting_until.filter(|it| *it > now) {
                Some(until) => Ok(NextStep::After(until - now)),
                None => self.remove(key, service, unwanted, &mut planner).await,
            },
            Plan::Forget => self.leave(key, service).await,
            Plan::Ensure(desired) => self.ensure(key, service, desired, &mut planner).await,
        }
    }

    /// One step towards the end of a load balancer that its Service does not want any more.
    async fn remove(
        &self,
        key: &str,
        service: Arc<Service>,
        mut unwanted: LoadBalancer,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        // 4. Nothing is deleted in another account.
        self.shared.load_balancers.check().await.map_err(Error::Delete)?;
        // 5. The deletion begins once. With a memo that is an older Service's, only what proves itself is this one's.
        let about = reference(service.as_ref());
        let claimed = self.older_claimant(&service);
        let claimed_memo = claimed.as_ref().map(|(memo, _)| memo.as_str());
        let foreign_memo = self.begin_deletion(key, Some(&service), &about, &mut unwanted, claimed_memo)?;
        if let Some((memo, older_claimant)) = &claimed {
            self.record_foreign_memo(&about, memo, older_claimant);
            unwanted = LoadBalancer { memo: None, ..unclaimed(unwanted, &self.shared.cluster) };
        }
        // 6. The cloud is asked.
        match self.delete(&about, unwanted, foreign_memo).await.map_err(Error::Delete)? {
            // 7. Its answer is kept, and written. What proves whose it is stays until it is gone.
            Deletion::Pending(it) => {
                let memo = it.status.memo.or_else(|| status::memo(&service).map(str::to_owned));
                let ingress = self.usable(key, &service, it.status.ingress);
                let status = LoadBalancerStatus { memo, ingress, ..it.status };
                let means = |state: &mut ServiceState, now| {
                    let after = held(it.after, state.wait(&it.reason, now));
                    debug!(service = key, ?after, "the load balancer is not gone: {}", it.reason);
                    AnswerMeaning::Deleting(now + after)
                };
                self.keep_and_write(key, service, status, means, planner).await
            }
            // 8. Nothing keeps the Service any more.
            done => self.release(key, service, &done).await,
        }
    }

    /// One step towards the load balancer that a Service desires.
    async fn ensure(
        &self,
        key: &str,
        service: Arc<Service>,
        desired: LoadBalancer,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        // 4. Until it is known which nodes exist, no load balancer is changed.
        if !self.confirmations.are_complete() {
            // Another account, or a cloud that does not answer at all, is reported as ever.
            self.shared.load_balancers.check().await.map_err(Error::Ensure)?;
            if self.confirmations.hold(key) {
                debug!(service = key, "the Service waits until the cloud has said which nodes exist");
                return Ok(NextStep::Done);
            }
        }
        // 5. What is as desired, or waits for the cloud, is not asked about.
        let compared = compared_fields(desired);
        let backends = self.shared.selected(Some(&compared), &self.changes.backends())?;
        let (cause, nodes, pass) = match self.decide(key, &service, &compared, &backends) {
            Continue(asked) => asked,
            Break(next) => return Ok(next),
        };
        // 6. Nothing at all is written for another account, in the cluster neither.
        self.shared.load_balancers.check().await.map_err(Error::Ensure)?;
        // 7. The finalizer is on it before anything is made that it keeps.
        if self.shared.states.of(key, &service, |state| state.announces(Instant::now())) {
            self.shared.record(&service, EventKind::Normal, "EnsuringLoadBalancer", "Ensuring load balancer");
        }
        let Some(service) = self.finalize(&service, key).await? else { return Ok(NextStep::Again) };
        // 8. The finalizer may have met a conflict, and the Service may be another one by now.
        let desired = match planner.plan(&service, true)? {
            Plan::Ensure(desired) if compared_fields(desired.clone()) == compared => desired,
            Plan::Ignore | Plan::Delete(_) | Plan::Forget | Plan::Ensure(_) => return Ok(NextStep::Again),
        };
        if cause == Cause::Service && nodes == AskedNodes::Others && backends.nodes.is_empty() {
            self.warn_of_no_backends(&service);
        }
        // 9. The cloud is asked.
        let asked_at = Instant::now();
        let asked = self.ask(key, &service, desired, &backends).await;
        if cause == Cause::Backends {
            let failed = matches!(asked, Err(_) | Ok((Progress::Failed(..), _)));
            self.count_update(asked_at.elapsed(), failed);
        }
        let error = |source| match cause {
            Cause::Backends => Error::Update { backends: backends.compared_fields.clone(), source },
            Cause::Service | Cause::Resync => Error::Ensure(source),
        };
        // 10. Its answer is kept, and written: what is not returned is not kept.
        let (progress, was_announced) = asked.map_err(error)?;
        let step = match progress {
            Progress::NotManaged => Ok(NextStep::Done),
            Progress::Failed(mut status, source) => {
                // What was only announced, and failed at once, has left nothing to remember.
                if !was_announced {
                    self.record_dropped_memo(key, &service, &status);
                }
                status.ingress = self.usable(key, &service, status.ingress);
                self.fail(key, service, status, error(source), planner).await
            }
            Progress::Ready(mut status) => {
                self.record_dropped_memo(key, &service, &status);
                // Of an answer is kept what Kubernetes takes, which is all but its addresses.
                match self.judged(key, &service, std::mem::take(&mut status.ingress)) {
                    Ok(ingress) => {
                        status.ingress = ingress;
                        self.keep_and_write(key, service, status, |_, _| AnswerMeaning::Ready, planner).await
                    }
                    Err(refused) => self.fail(key, service, status, refused, planner).await,
                }
            }
            Progress::Pending(mut it) => {
                self.record_dropped_memo(key, &service, &it.status);
                it.status.ingress = self.usable(key, &service, it.status.ingress);
                // There is nothing to wait for but our own write. A Service has its first memo once.
                let announces = it.after.is_zero() && status::memo(&service).is_none() && it.status.memo.is_some();
                let means = |state: &mut ServiceState, now| {
                    let waited = state.wait(&it.reason, now);
                    state.is_busy(if announces { NextCall::Creates } else { NextCall::GoesOn });
                    let after = if announces { Duration::ZERO } else { held(it.after, waited) };
                    debug!(service = key, ?after, "the load balancer is not ready: {}", it.reason);
                    AnswerMeaning::Pending(now + after)
                };
                self.keep_and_write(key, service, it.status, means, planner).await
            }
        };
        drop(pass);
        step
    }

    /// Step 2: writes first what is still to be written, so that the next call has the last memo. Returns the Service as it is then,
    /// whether it may have a load balancer, and until when the cloud is busy deleting that.
    async fn write_last_answer(
        &self,
        key: &str,
        service: Arc<Service>,
        planner: &mut Planner<'_>,
    ) -> Result<ControlFlow<NextStep, (Arc<Service>, bool, Option<Instant>)>, Error> {
        let (rights, cluster) = (self.shared.rights(), &self.shared.cluster);
        let desired = planner.desired(&service);
        let (unwritten, may_exist, deleting_until) = self.shared.states.of(key, &service, |state| {
            state.start_work(rights);
            if is_wanted(&service, cluster) {
                self.record_unknown_annotations(state, &service);
            }
            if is_anothers(&service, cluster) {
                state.work.unwritten = None;
            } else {
                if desired.is_some() && state.restore() {
                    info!(
                        service = key,
                        "somebody has changed where its status says that it is reached: it is written again"
                    );
                }
                state.drop_outdated_answer(desired.as_ref());
            }
            match status::memo(&service) {
                _ if state.work.unwritten.is_some() || is_anothers(&service, cluster) => {}
                found if found == state.work.memo.as_deref() => {}
                Some(found) => {
                    info!(service = key, "somebody has written another memo; the cloud is asked with it");
                    state.adopt_memo(found);
                }
                None => {
                    let status = LoadBalancerStatus { memo: state.work.memo.clone(), ..LoadBalancerStatus::default() };
                    state.work.unwritten = Some(Unwritten::new(status, None, AnswerMeaning::MemoOnly));
                }
            }
            (state.work.unwritten.clone(), state.may_exist(), state.deleting_until())
        });
        let Some(unwritten) = unwritten else { return Ok(Continue((service, may_exist, deleting_until))) };
        Ok(match self.write(key, service, unwritten, planner).await? {
            Continue(Some(service)) => Continue((service, may_exist, deleting_until)),
            Continue(None) => Break(NextStep::Done),
            Break(next) => Break(next),
        })
    }

    /// Step 5: whether the cloud is asked for this desired load balancer: why, whether for other nodes than before, and the pass over
    /// changed nodes that ends with it.
    fn decide(
        &self,
        key: &str,
        service: &Service,
        compared: &LoadBalancer,
        backends: &Backends,
    ) -> ControlFlow<NextStep, (Cause, AskedNodes, Option<Arc<BackendPass>>)> {
        let now = Instant::now();
        let backends = &backends.compared_fields;
        let kept = self.evidence_on(service, compared, backends);
        self.shared.states.of(key, service, |state| {
            if kept.is_some_and(|revision| state.settle_before(compared, backends, revision, now)) {
                debug!(
                    service = key,
                    "it was as desired before this process began; the next list tells whether it still is"
                );
                self.lists.iter().for_each(|it| it.resync_soon(now));
                return Break(NextStep::Done);
            }
            let is_same = state.desired() == Some(compared);
            let waiting = state.waiting().filter(|_| is_same);
            let lists = self.lists.as_ref();
            if let Some(pause) = lists.zip(waiting).and_then(|(lists, waiting)| lists.leaves(&waiting, now)) {
                return Break(NextStep::After(pause));
            }
            let next = state.next_step(compared, backends, now);
            if next == Break(NextStep::Done) {
                // The pass has ended for it.
                state.observed.pass = None;
            }
            next.map_continue(|(cause, nodes)| (cause, nodes, state.observed.pass.take()))
        })
    }

    /// The revision with which a Service says itself that what it asks for was there when it was asked for last. Then it is as
    /// desired until the next list, which comes soon, says otherwise.
    fn evidence_on(&self, service: &Service, compared: &LoadBalancer, backends: &[BackendNode]) -> Option<String> {
        self.lists.as_ref().filter(|it| it.have_revisions())?;
        let kept =
            status::evidence(service).filter(|_| status::memo(service).is_some() && status::is_finalized(service))?;
        proven_revision(kept, &self.fingerprint(compared, backends, service)).map(str::to_owned)
    }

    /// Step 7: puts the finalizer on. `None` if the Service is gone.
    async fn finalize(&self, service: &Arc<Service>, key: &str) -> Result<Option<Arc<Service>>, Error> {
        if status::is_finalized(service) {
            return Ok(Some(service.clone()));
        }
        let plan = |(): &mut (), it: &Service| match &it.metadata.deletion_timestamp {
            None => Ok(status::finalized(it)),
            // Nobody may put a finalizer on it any more; what it wants now is decided again.
            Some(_) => Ok(it.clone()),
        };
        let then = |(): &mut (), state: &mut ServiceState, written: &Result<Option<Arc<Service>>, _>| {
            if let Ok(Some(written)) = written {
                state.wrote(written);
            }
        };
        match self.update::<_, Infallible, _>(key, service.clone(), &mut (), plan, then).await.0 {
            Ok(written) => Ok(written),
            Err(UpdateRefusal::Api(error)) => Err(Error::Finalizer(error)),
            Err(UpdateRefusal::Plan(never)) => match never {},
        }
    }

    /// Step 9: asks the cloud, if the memo is this Service's. Returns its answer, and whether the call was the one that an
    /// announcement in the memo was for.
    async fn ask(
        &self,
        key: &str,
        service: &Service,
        mut desired: LoadBalancer,
        backends: &Backends,
    ) -> Result<(Progress, bool), CloudError> {
        if let Some((memo, older_claimant)) = self.older_claimant(service) {
            return Err(ownership::taken(key, &memo, &older_claimant));
        }
        if let Some(too_many) = too_many_nodes(backends.nodes.len()) {
            return Err(CloudError::Invalid(too_many));
        }
        desired.nodes.clone_from(&backends.nodes);
        self.leave_out_shared(service, &mut desired);
        let (about, memo, was_announced, listed_since, together) = self.shared.states.all(|states| {
            let state = states.of(key, service, Instant::now());
            let was_announced = state.is_announced();
            desired.memo_is_new = state.begin_call(desired.memo.as_deref());
            let (about, memo) = (state.observed.about.clone(), state.work.memo.clone());
            let (since, creates, is_unasked) = (state.listed_since(), state.creates(), state.is_unasked());
            let together = match (creates, is_unasked) {
                (true, _) => states.iter().filter(|(_, it)| it.creates()).count(),
                (false, true) => states.iter().filter(|(_, it)| it.is_unasked() && !it.is_at_ease()).count(),
                (false, false) => 0,
            };
            (about, memo, was_announced, since, together)
        });
        let freshness = match (&self.lists, listed_since) {
            (Some(lists), Some(since)) => lists.answer(since, together).await,
            (Some(_), None) | (None, _) => None,
        };
        let newest = self.lists.as_ref().and_then(|it| it.newest());
        let listed = newest.as_deref().and_then(|list| Some((revision(memo.as_deref(), list)?, list.began)));
        let load_balancers = &self.shared.load_balancers;
        let call = async {
            let Some(freshness) = freshness else { return load_balancers.ensure(&desired).await };
            let reply = load_balancers.ensure_listed(&desired, freshness).await;
            if may_be_outdated(&reply) { load_balancers.ensure(&desired).await } else { reply }
        };
        // What was given up may have written.
        let reply = tokio::time::timeout(CALL, call).await.unwrap_or_else(|_| Reply {
            answer: Err(late()),
            events: Vec::new(),
            wrote: true,
        });
        self.shared.states.with(key, |state| state.answered(&reply, listed, Instant::now()));
        self.record_provider_events(&about, reply.events);
        reply.answer.map(|progress| (progress, was_announced))
    }

    /// Leaves out where a Service is reached, as far as an older one is reached there by the same hostname: the load balancer is that one's
    /// alone.
    fn leave_out_shared(&self, service: &Service, desired: &mut LoadBalancer) {
        let description = self.shared.cluster.description.now();
        let all = self.shared.services.all();
        let older = all.iter().filter(|it| ownership::is_older(it, service));
        if let Some((hostname, other)) = ownership::leave_out_shared(desired, &description.writes_annotations, older) {
            let message = format!(
                "the hostname {hostname} in the status is that of Service {other} as well, which is older: its load balancer is that \
                 Service's alone, and this one needs another"
            );
            self.shared.record(service, EventKind::Warning, "LoadBalancerShared", &message);
        }
    }

    /// Keeps the status of a load balancer that is not as desired, and fails.
    async fn fail(
        &self,
        key: &str,
        service: Arc<Service>,
        status: LoadBalancerStatus,
        error: Error,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        match self.keep_and_write(key, service, status, |_, _| AnswerMeaning::MemoOnly, planner).await? {
            NextStep::Again => Ok(NextStep::Again),
            NextStep::Done | NextStep::Forget | NextStep::After(_) => Err(error),
        }
    }

    /// A short name for what a Service asks for, for the nodes behind it, and for where it is reached.
    pub(super) fn fingerprint(&self, desired: &LoadBalancer, backends: &[BackendNode], service: &Service) -> String {
        let description = self.shared.cluster.description.now();
        let versions = (env!("CARGO_PKG_VERSION"), &*description.version);
        fingerprint(versions, desired, backends, &status::current(service))
    }
}

/// Whether an answer that rests on a list may be wrong by now: a list shows names of load balancers that were deleted or renamed since.
fn may_be_outdated(reply: &Reply<Result<Progress, CloudError>>) -> bool {
    let refused = match &reply.answer {
        Ok(Progress::Failed(_, error)) | Err(error) => matches!(error, CloudError::Invalid(_)),
        Ok(Progress::Ready(_) | Progress::Pending(_) | Progress::NotManaged) => false,
    };
    refused && !reply.wrote
}
