//! Bringing one Service to where it should be: the order of the steps, each of which may be the last of this process.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error as CloudError, LoadBalancer, LoadBalancerStatus, PendingStatus, Progress, Reply};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::events::EventKind;
use crate::inventory::list::{CALL, late};
use crate::limits::too_many_nodes;
use crate::object::{self, Part, update_latest};
use crate::pending;
use crate::service::Controller;
use crate::service::backends::Backends;
use crate::service::desired::compared_fields;
use crate::service::error::Error;
use crate::service::memos;
use crate::service::plan::{Plan, is_wanted, plan};
use crate::service::state::{Ask, Cause, NextStep, Outcome, Phase, ServiceState, Unwritten};
use crate::service::status;
use crate::service::write::Written;
use crate::worker::{Next, random};

/// How often a Service is reconciled again at once because somebody has changed it meanwhile.
const ATTEMPTS: usize = 10;
/// How soon a cloud that is busy is asked again at least, and at most.
const SHORTEST_PENDING: Duration = Duration::from_millis(500);
const LONGEST_PENDING: Duration = Duration::from_secs(300);
/// The pause before the next attempt.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(50);

impl Controller {
    /// Reconciles the Service under a key, several times if somebody changes it meanwhile.
    pub(super) async fn reconcile(&self, key: &str) -> Result<Next, Error> {
        for _ in 0..ATTEMPTS {
            match self.steps(key).await? {
                NextStep::Done => return Ok(Next::Done),
                NextStep::After(pause) => return Ok(Next::After(pause)),
                NextStep::Again => {
                    debug!(service = key, "the Service has changed meanwhile; it is reconciled again");
                    tokio::time::sleep(ATTEMPT_PAUSE.mul_f64(1.0 + random())).await;
                }
            }
        }
        Ok(Next::After(SHORTEST_PENDING))
    }

    /// The steps of a reconciliation, in the order that is safe to interrupt. A step that cannot go on ends it.
    async fn steps(&self, key: &str) -> Result<NextStep, Error> {
        let watched = self.latest(key);
        self.start_work(key);
        // 1. What an earlier Service of this name left behind in the cloud goes first.
        if let Some(pause) = self.delete_orphan(key, watched.as_deref()).await? {
            return Ok(NextStep::After(pause));
        }
        let Some(service) = watched else {
            self.confirmations.forget(key);
            return Ok(NextStep::Done);
        };
        // 2. What the provider answered last is written before it is called again.
        let service = match self.write_last_answer(key, service).await? {
            Continue(service) => service,
            Break(next) => return Ok(next),
        };
        // 3. One step towards what the Service wants now.
        match plan(&service, self.may_exist(key, &service), &self.cluster)? {
            Plan::Ignore => {
                self.states().forget(key);
                Ok(NextStep::Done)
            }
            Plan::Delete(unwanted) => self.remove(key, service, unwanted).await,
            Plan::Forget => self.leave(key, service).await,
            Plan::Ensure(desired) => self.ensure(key, service, desired).await,
        }
    }

    /// Notes with which version of the credentials the work begins.
    pub(super) fn start_work(&self, key: &str) {
        let rights = self.rights();
        if let Some(state) = self.states().get(key) {
            state.start_work(rights);
        }
    }

    /// Whether a call may have given the Service a load balancer. From now on its state is kept.
    fn may_exist(&self, key: &str, service: &Service) -> bool {
        let rights = self.rights();
        let mut states = self.states();
        let state = states.of(key, service, Instant::now());
        state.start_work(rights);
        if is_wanted(service, &self.cluster) {
            self.record_unknown_annotations(state, service);
        }
        state.work.may_exist
    }

    /// Takes one step towards the load balancer that a Service desires.
    async fn ensure(&self, key: &str, service: Arc<Service>, desired: LoadBalancer) -> Result<NextStep, Error> {
        if !self.confirmations.are_complete() {
            // Another account, or a cloud that does not answer at all, is reported as ever.
            self.load_balancers.check().await.map_err(Error::Ensure)?;
            if self.confirmations.hold(key) {
                debug!(service = key, "the Service waits until the cloud has said which nodes exist");
                return Ok(NextStep::Done);
            }
        }
        let compared = compared_fields(desired);
        let backends = self.selected(Some(&compared), &self.changes.backends())?;
        let now = Instant::now();
        if self.is_settled_before(key, &service, &compared, &backends.compared_fields, now) {
            debug!(
                service = key,
                "it was as desired before this process began; the next list tells whether it still is"
            );
            return Ok(NextStep::Done);
        }
        if self.states().get(key).is_some_and(ServiceState::restore) {
            info!(service = key, "somebody has changed where its status says that it is reached: it is written again");
            return self.write(key, service).await.map(|_| NextStep::Done);
        }
        if let Some(pause) = self.left_to_lists(key, &compared, now) {
            return Ok(NextStep::After(pause));
        }
        let (ask, pass) = {
            let mut states = self.states();
            let state = states.of(key, &service, now);
            match state.next_step(&compared, &backends.compared_fields, now) {
                // The pass has ended for it.
                Break(NextStep::Done) => {
                    state.observed.pass = None;
                    return Ok(NextStep::Done);
                }
                Break(next) => return Ok(next),
                Continue(ask) => (ask, state.observed.pass.take()),
            }
        };
        let Ask { cause, new_backends } = ask;
        // Nothing at all is written for another account, in the cluster neither.
        self.load_balancers.check().await.map_err(Error::Ensure)?;
        if self.states().of(key, &service, now).announces() {
            self.record(&service, EventKind::Normal, "EnsuringLoadBalancer", "Ensuring load balancer");
        }
        let Some(service) = self.finalize(&service, key).await? else { return Ok(NextStep::Again) };
        // The finalizer may have met a conflict, and the Service may be another one by now.
        let desired = match plan(&service, true, &self.cluster)? {
            Plan::Ensure(desired) if compared_fields(desired.clone()) == compared => desired,
            Plan::Ignore | Plan::Delete(_) | Plan::Forget | Plan::Ensure(_) => return Ok(NextStep::Again),
        };
        if cause == Cause::Service && new_backends && backends.nodes.is_empty() {
            self.warn_of_no_backends(&service);
        }
        let asked = Instant::now();
        let is_announced = self.states().get(key).is_some_and(|it| it.work.creates && it.work.new_memo.is_some());
        let progress = self.ask(key, &service, desired, &backends).await;
        if cause == Cause::Backends {
            self.metrics.backend_updates.inc();
            self.metrics.backend_update.observe(asked.elapsed().as_secs_f64());
            let failed = matches!(progress, Err(_) | Ok(Progress::Failed(..)));
            self.metrics.backend_update_errors.inc_by(u64::from(failed));
        }
        let error = |source| match cause {
            Cause::Backends => Error::Update { backends: backends.compared_fields.clone(), source },
            Cause::Service | Cause::Resync => Error::Ensure(source),
        };
        let step = match progress {
            Ok(Progress::Failed(mut status, source)) => {
                // What was only announced, and failed at once, has left nothing to remember.
                if !is_announced {
                    self.record_dropped_memo(key, &service, &status);
                }
                status.ingress = self.usable(key, &service, status.ingress);
                self.fail(key, service, status, error(source)).await
            }
            Ok(Progress::Ready(status)) => self.ready(key, service, status).await,
            Ok(Progress::Pending(status)) => self.pending(key, service, status).await,
            Ok(Progress::NotManaged) => {
                if let Some(state) = self.states().get(key) {
                    state.settle();
                }
                Ok(NextStep::Done)
            }
            Err(source) => Err(error(source)),
        };
        drop(pass);
        step
    }

    /// Asks the cloud, if the memo is this Service's.
    async fn ask(
        &self,
        key: &str,
        service: &Service,
        mut desired: LoadBalancer,
        backends: &Backends,
    ) -> Result<Progress, CloudError> {
        if let Some((memo, older_claimant)) = self.older_claimant(service) {
            return Err(memos::taken(key, &memo, &older_claimant));
        }
        if let Some(too_many) = too_many_nodes(backends.nodes.len()) {
            return Err(CloudError::Invalid(too_many));
        }
        desired.nodes.clone_from(&backends.nodes);
        let about = {
            let mut states = self.states();
            let state = states.of(key, service, Instant::now());
            state.work.may_exist = true;
            desired.memo_is_new = desired.memo.is_some() && state.work.new_memo.take() == desired.memo;
            state.observed.about.clone()
        };
        let (freshness, listed) = (self.is_listed(key).await, self.listed_revision(key));
        let call = match freshness {
            Some(freshness) => self.load_balancers.ensure_listed(&desired, freshness),
            None => self.load_balancers.ensure(&desired),
        };
        // What was given up may have written.
        let reply = tokio::time::timeout(CALL, call).await.unwrap_or_else(|_| Reply {
            answer: Err(late()),
            events: Vec::new(),
            wrote: true,
        });
        if let Some(state) = self.states().get(key) {
            state.answered(&reply, listed, Instant::now());
        }
        self.record_provider_events(&about, reply.events);
        reply.answer
    }

    /// The load balancer is as desired.
    async fn ready(&self, key: &str, service: Arc<Service>, mut status: LoadBalancerStatus) -> Result<NextStep, Error> {
        self.record_dropped_memo(key, &service, &status);
        // Of an answer is kept what Kubernetes takes, which is all but its addresses.
        match self.judged(key, &service, std::mem::take(&mut status.ingress)) {
            Ok(ingress) => status.ingress = ingress,
            Err(refused) => return self.fail(key, service, status, refused).await,
        }
        self.keep(key, &service, status, Outcome::Ready)?;
        match self.write(key, service).await? {
            Written::Yes(_) | Written::Gone => Ok(NextStep::Done),
            Written::Changed => Ok(NextStep::Again),
        }
    }

    /// The load balancer will be as desired.
    async fn pending(&self, key: &str, service: Arc<Service>, mut it: PendingStatus) -> Result<NextStep, Error> {
        self.record_dropped_memo(key, &service, &it.status);
        it.status.ingress = self.usable(key, &service, it.status.ingress);
        // There is nothing to wait for but our own write. A Service has its first memo once.
        let announces = it.after.is_zero() && status::memo(&service).is_none() && it.status.memo.is_some();
        let mut waited = Duration::ZERO;
        if let Some(state) = self.states().get(key) {
            waited = state.wait(&it.reason, Instant::now());
            state.is_busy(announces);
        }
        let after = if announces { Duration::ZERO } else { held(it.after, waited) };
        debug!(service = key, ?after, "the load balancer is not ready: {}", it.reason);
        if let Some(lists) = &self.lists {
            lists.wake();
        }
        self.keep(key, &service, it.status, Outcome::Pending(Instant::now() + after))?;
        match self.write(key, service).await? {
            Written::Yes(_) | Written::Gone => Ok(NextStep::After(after)),
            Written::Changed => Ok(NextStep::Again),
        }
    }

    /// Keeps the status of a load balancer that is not as desired, and fails.
    async fn fail(
        &self,
        key: &str,
        service: Arc<Service>,
        status: LoadBalancerStatus,
        error: Error,
    ) -> Result<NextStep, Error> {
        self.keep(key, &service, status, Outcome::MemoOnly)?;
        match self.write(key, service).await? {
            Written::Yes(_) | Written::Gone => Err(error),
            Written::Changed => Ok(NextStep::Again),
        }
    }

    /// Writes first what is still to be written, so that the next call has the last memo.
    async fn write_last_answer(
        &self,
        key: &str,
        service: Arc<Service>,
    ) -> Result<ControlFlow<NextStep, Arc<Service>>, Error> {
        {
            let mut states = self.states();
            let state = states.of(key, &service, Instant::now());
            if plan(&service, true, &self.cluster) == Ok(Plan::Forget) {
                state.work.unwritten = None;
                return Ok(Continue(service));
            }
            state.drop_outdated_answer(self.desired_now(&service).as_ref());
            let found = status::memo(&service);
            if state.work.unwritten.is_none() {
                if found == state.work.memo.as_deref() {
                    return Ok(Continue(service));
                }
                if found.is_some() {
                    info!(service = key, "somebody has written another memo; the cloud is asked with it");
                    state.work.memo = found.map(str::to_owned);
                    if state.work.phase == Phase::Settled {
                        state.work.phase = Phase::Open;
                    }
                    return Ok(Continue(service));
                }
                let status = LoadBalancerStatus { memo: state.work.memo.clone(), ..LoadBalancerStatus::default() };
                state.work.unwritten = Some(Unwritten { status, sent_memo: None, then: Outcome::MemoOnly });
            }
        }
        match self.write(key, service).await? {
            Written::Yes(service) => Ok(Continue(service)),
            Written::Gone => Ok(Break(NextStep::Done)),
            Written::Changed => Ok(Break(NextStep::Again)),
        }
    }

    /// Puts the finalizer on, before anything is made that it keeps. `None` if the Service is gone.
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
        let latest = || self.latest(key).filter(|it| it.metadata.uid == *uid);
        let (api, part) = (self.api(service), Part::StatusAndMetadata);
        let written = update_latest(&api, service.clone(), part, plan, latest, random).await;
        match written {
            Ok(Some(written)) => {
                self.states().of(key, &written, Instant::now()).wrote(&written);
                Ok(Some(written))
            }
            Ok(None) => Ok(None),
            Err(error) if object::Error::is_gone(&error) => Ok(None),
            Err(error) => Err(Error::Finalizer(error)),
        }
    }

    /// A provider has to return the memo with each answer: what is not returned is not kept.
    fn record_dropped_memo(&self, key: &str, service: &Service, status: &LoadBalancerStatus) {
        let Some(dropped) = status::memo(service).filter(|_| status.memo.is_none()) else { return };
        warn!(
            service = key,
            memo = dropped,
            "the provider's answer has no memo any more, and the next call will have none"
        );
        let message = format!(
            "the provider kept the memo {dropped:?} until now, and its answer has none: it is dropped. If the load balancer \
             is still there, its provider has to return the memo with each answer"
        );
        self.record(service, EventKind::Warning, "MemoDropped", &message);
    }

    pub(super) fn warn_of_no_backends(&self, service: &Service) {
        let message = "There are no available nodes for LoadBalancer";
        self.record(service, EventKind::Warning, "UnAvailableLoadBalancer", message);
    }

    pub(super) fn record(&self, service: &Service, kind: EventKind, reason: &str, message: &str) {
        self.recorder.record(crate::events::reference(service), kind, reason, message);
    }
}

/// When a cloud is asked again that has been busy for `waited` with the same thing.
pub(super) fn held(asked: Duration, waited: Duration) -> Duration {
    pending::pause(asked.clamp(SHORTEST_PENDING, LONGEST_PENDING), waited, pending::SLOWEST_LOAD_BALANCER)
}
