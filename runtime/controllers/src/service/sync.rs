//! Bringing one Service to where it should be: the order of the steps, each of which may be the last of this process.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error as CloudError, LoadBalancer, LoadBalancerStatus, Progress, Reply};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::{debug, info};

use crate::cloud_call::{CALL, late};
use crate::events::EventKind;
use crate::limits::too_many_nodes;
use crate::object::{self, ObjectPart, update_latest};
use crate::service::backends::{BackendNode, Backends};
use crate::service::changes::BackendPass;
use crate::service::desired::compared_fields;
use crate::service::error::Error;
use crate::service::inventory::drift::{ReadyEvidence, revision};
use crate::service::inventory::fingerprint::fingerprint;
use crate::service::ownership;
use crate::service::plan::{Plan, Planner, is_anothers, is_wanted};
use crate::service::state::{AnswerMeaning, AskedNodes, Cause, NextStep, ServiceState, Unwritten};
use crate::service::status;
use crate::service::syncer::{SHORTEST_PENDING, Syncer};
use crate::service::write::ProviderAnswer;
use crate::worker::{NextSync, random};

/// How often a Service is reconciled again at once because somebody has changed it meanwhile.
const ATTEMPTS: usize = 10;
/// The pause before the next attempt.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(50);

/// What is done about a Service that wants a load balancer.
enum NextMove {
    /// Nothing: it was as desired before this process began, and the next list tells whether it still is.
    BelieveEvidence,
    /// Its status is written again as it was.
    Restore(Unwritten),
    /// Nothing for now.
    Wait(NextStep),
    /// The cloud is asked. The pass over changed nodes ends with that.
    Ask(Cause, AskedNodes, Option<Arc<BackendPass>>),
}

impl Syncer {
    /// Reconciles the Service under a key, several times if somebody changes it meanwhile.
    pub(super) async fn reconcile(&self, key: &str) -> Result<NextSync, Error> {
        for _ in 0..ATTEMPTS {
            match self.steps(key).await? {
                NextStep::Done => return Ok(NextSync::Done),
                NextStep::Forget => {
                    self.shared.states.forget(key);
                    return Ok(NextSync::Done);
                }
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
        let service = match self.write_last_answer(key, service, &mut planner).await? {
            Continue(service) => service,
            Break(next) => return Ok(next),
        };
        // 3. What becomes of it.
        let now = Instant::now();
        let remembered = self.shared.states.with(key, |state| (state.may_exist(), state.deleting(now)));
        let (may_exist, is_busy_for) = remembered.unwrap_or_default();
        match planner.plan(&service, may_exist)? {
            Plan::Ignore => Ok(NextStep::Forget),
            Plan::Delete(unwanted) => match is_busy_for {
                Some(pause) => Ok(NextStep::After(pause)),
                None => self.remove(key, service, unwanted, &mut planner).await,
            },
            Plan::Forget => self.leave(key, service).await,
            Plan::Ensure(desired) => self.ensure(key, service, desired, &mut planner).await,
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
            NextMove::Ask(cause, nodes, pass) => (cause, nodes, pass),
            NextMove::Wait(next) => return Ok(next),
            NextMove::Restore(unwritten) => {
                info!(
                    service = key,
                    "somebody has changed where its status says that it is reached: it is written again"
                );
                return self.write(key, service, unwritten, planner).await.map(|_| NextStep::Done);
            }
            NextMove::BelieveEvidence => {
                debug!(
                    service = key,
                    "it was as desired before this process began; the next list tells whether it still is"
                );
                return Ok(NextStep::Done);
            }
        };
        // 6. Nothing at all is written for another account, in the cluster neither.
        self.shared.load_balancers.check().await.map_err(Error::Ensure)?;
        // 7. The finalizer is on it before anything is made that it keeps.
        if self.shared.states.of(key, &service, ServiceState::announces) {
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
                        self.keep_and_write(key, service, ProviderAnswer::Ready(status), planner).await
                    }
                    Err(refused) => self.fail(key, service, status, refused, planner).await,
                }
            }
            Progress::Pending(mut it) => {
                self.record_dropped_memo(key, &service, &it.status);
                it.status.ingress = self.usable(key, &service, it.status.ingress);
                // There is nothing to wait for but our own write. A Service has its first memo once.
                let announces = it.after.is_zero() && status::memo(&service).is_none() && it.status.memo.is_some();
                let answer = if announces { ProviderAnswer::Announced(it) } else { ProviderAnswer::Busy(it) };
                self.keep_and_write(key, service, answer, planner).await
            }
        };
        drop(pass);
        step
    }

    /// Step 2: writes first what is still to be written, so that the next call has the last memo.
    async fn write_last_answer(
        &self,
        key: &str,
        service: Arc<Service>,
        planner: &mut Planner<'_>,
    ) -> Result<ControlFlow<NextStep, Arc<Service>>, Error> {
        let (rights, cluster) = (self.shared.rights(), &self.shared.cluster);
        let desired = planner.desired(&service);
        let unwritten = self.shared.states.of(key, &service, |state| {
            state.start_work(rights);
            if is_wanted(&service, cluster) {
                self.record_unknown_annotations(state, &service);
            }
            if is_anothers(&service, cluster) {
                state.work.unwritten = None;
                return None;
            }
            state.drop_outdated_answer(desired.as_ref());
            match status::memo(&service) {
                _ if state.work.unwritten.is_some() => {}
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
            state.work.unwritten.clone()
        });
        let Some(unwritten) = unwritten else { return Ok(Continue(service)) };
        Ok(match self.write(key, service, unwritten, planner).await? {
            Continue(Some(service)) => Continue(service),
            Continue(None) => Break(NextStep::Done),
            Break(next) => Break(next),
        })
    }

    /// Step 5: what is to be done for this desired load balancer.
    fn decide(&self, key: &str, service: &Service, compared: &LoadBalancer, backends: &Backends) -> NextMove {
        let now = Instant::now();
        let backends = &backends.compared_fields;
        let kept = self.evidence_on(service, compared, backends);
        let decision = self.shared.states.of(key, service, |state| {
            if kept.is_some_and(|revision| state.settle_before(compared, backends, revision, now)) {
                return NextMove::BelieveEvidence;
            }
            if let Some(unwritten) = state.restore() {
                return NextMove::Restore(unwritten);
            }
            let is_same = state.desired() == Some(compared);
            let waiting = state.waiting().filter(|_| is_same);
            let lists = self.lists.as_ref();
            if let Some(pause) = lists.zip(waiting).and_then(|(lists, waiting)| lists.leaves(&waiting, now)) {
                return NextMove::Wait(NextStep::After(pause));
            }
            match state.next_step(compared, backends, now) {
                Continue((cause, nodes)) => NextMove::Ask(cause, nodes, state.observed.pass.take()),
                Break(next) => {
                    if next == NextStep::Done {
                        // The pass has ended for it.
                        state.observed.pass = None;
                    }
                    NextMove::Wait(next)
                }
            }
        });
        if let (NextMove::BelieveEvidence, Some(lists)) = (&decision, &self.lists) {
            lists.resync_soon(now);
        }
        decision
    }

    /// The revision with which a Service says itself that what it asks for was there when it was asked for last. Then it is as
    /// desired until the next list, which comes soon, says otherwise.
    fn evidence_on(&self, service: &Service, compared: &LoadBalancer, backends: &[BackendNode]) -> Option<String> {
        self.lists.as_ref().filter(|it| it.have_revisions())?;
        let kept = status::evidence(service).and_then(ReadyEvidence::parse)?;
        let is_ours = status::memo(service).is_some() && status::is_finalized(service);
        (is_ours && kept.fingerprint == self.fingerprint(compared, backends, service)).then_some(kept.revision)
    }

    /// Step 7: puts the finalizer on. `None` if the Service is gone.
    async fn finalize(&self, service: &Arc<Service>, key: &str) -> Result<Option<Arc<Service>>, Error> {
        if status::is_finalized(service) {
            return Ok(Some(service.clone()));
        }
        let uid = &service.metadata.uid;
        let plan = |it: &Service| match &it.metadata.deletion_timestamp {
            None => Ok(status::finalized(it)),
            // Nobody may put a finalizer on it any more; what it wants now is decided again.
            Some(_) => Ok(it.clone()),
        };
        let latest = || self.shared.latest(key).filter(|it| it.metadata.uid == *uid);
        let (api, part) = (self.shared.api(service), ObjectPart::StatusAndMetadata);
        let written = update_latest(&api, service.clone(), part, plan, latest, random).await;
        match written {
            Ok(Some(written)) => {
                self.shared.states.of(key, &written, |state| state.wrote(&written));
                Ok(Some(written))
            }
            Ok(None) => Ok(None),
            Err(error) if object::Error::is_gone(&error) => Ok(None),
            Err(error) => Err(Error::Finalizer(error)),
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
        let (about, memo, was_announced, listed_after, creations) = self.shared.states.all(|states| {
            let state = states.of(key, service, Instant::now());
            let was_announced = state.is_announced();
            desired.memo_is_new = state.begin_call(desired.memo.as_deref());
            let (about, memo) = (state.observed.about.clone(), state.work.memo.clone());
            let (after, creates) = (state.listed_after(), state.creates());
            let creations = if creates { states.iter().filter(|(_, it)| it.creates()).count() } else { 0 };
            (about, memo, was_announced, after, creations)
        });
        let freshness = match (&self.lists, listed_after) {
            (Some(lists), Some(after)) => lists.answer(after, creations).await,
            (Some(_), None) | (None, _) => None,
        };
        let newest = self.lists.as_ref().and_then(|it| it.newest());
        let listed = newest.as_deref().and_then(|list| Some((revision(memo.as_deref(), list)?, list.began)));
        let load_balancers = &self.shared.load_balancers;
        let call = match freshness {
            Some(freshness) => load_balancers.ensure_listed(&desired, freshness),
            None => load_balancers.ensure(&desired),
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

    /// Keeps the status of a load balancer that is not as desired, and fails.
    async fn fail(
        &self,
        key: &str,
        service: Arc<Service>,
        status: LoadBalancerStatus,
        error: Error,
        planner: &mut Planner<'_>,
    ) -> Result<NextStep, Error> {
        match self.keep_and_write(key, service, ProviderAnswer::Failed(status), planner).await? {
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
