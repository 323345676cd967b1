//! Bringing one Service to where it should be: the order of the steps, each of which may be the last of this process.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error as CloudError, LoadBalancer, LoadBalancerStatus, Progress};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::events::EventKind;
use crate::inventory::list::{CALL, late};
use crate::limits::too_many_nodes;
use crate::object::{self, Part, update_latest};
use crate::service::Controller;
use crate::service::backends::Backends;
use crate::service::desired::compared_fields;
use crate::service::error::Error;
use crate::service::ingress;
use crate::service::memos;
use crate::service::plan::{Plan, is_wanted, plan};
use crate::service::state::{Cause, NextStep, Outcome, Phase, Unwritten};
use crate::service::status;
use crate::service::write::Written;
use crate::worker::{Next, random};

/// How often a Service is looked at again at once because somebody has changed it meanwhile.
const ATTEMPTS: usize = 10;
/// How soon a cloud that is busy is asked again at least, and at most.
const SHORTEST_PENDING: Duration = Duration::from_secs(1);
const LONGEST_PENDING: Duration = Duration::from_secs(300);
/// The pause before another look.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(50);

/// How a step ended.
pub(super) enum Step<T> {
    /// It was made.
    Made(T),
    /// Somebody has changed the Service: everything is to be decided anew.
    Changed,
}

impl Controller {
    /// Does what is to be done about the Service under a key.
    pub(super) async fn reconcile(&self, key: &str) -> Result<Next, Error> {
        for _ in 0..ATTEMPTS {
            match self.reconcile_once(key).await? {
                Step::Made(next) => return Ok(next),
                Step::Changed => {
                    debug!(service = key, "the Service has changed meanwhile; looking at it again");
                    tokio::time::sleep(ATTEMPT_PAUSE.mul_f64(1.0 + random())).await;
                }
            }
        }
        Ok(Next::After(SHORTEST_PENDING))
    }

    async fn reconcile_once(&self, key: &str) -> Result<Step<Next>, Error> {
        let service = self.latest(key);
        let credentials = self.rights();
        if let Some(state) = self.states().get(key) {
            state.start_work(credentials);
        }
        if let Some(after) = self.delete_orphan(key, service.as_deref()).await? {
            return Ok(Step::Made(Next::After(after)));
        }
        let Some(service) = service else {
            self.confirmations.forget(key);
            return Ok(Step::Made(Next::Done));
        };
        let service = match self.settle(key, service).await? {
            Step::Made(Some(service)) => service,
            Step::Made(None) => return Ok(Step::Made(Next::Done)),
            Step::Changed => return Ok(Step::Changed),
        };
        let may_exist = {
            let mut states = self.states();
            let state = states.of(key, &service, Instant::now());
            state.start_work(credentials);
            if is_wanted(&service) {
                self.record_unknown_annotations(state, &service);
            }
            state.may_exist
        };
        match plan(&service, may_exist, &self.cluster)? {
            Plan::Ignore => {
                self.states().forget(key);
                Ok(Step::Made(Next::Done))
            }
            Plan::Delete(unwanted) => self.remove(key, service, unwanted).await,
            Plan::Forget => self.leave(key, service).await,
            Plan::Ensure(desired) => self.ensure(key, service, desired).await,
        }
    }

    /// Takes one step towards the load balancer that a Service wishes for.
    async fn ensure(&self, key: &str, service: Arc<Service>, desired: LoadBalancer) -> Result<Step<Next>, Error> {
        if !self.confirmations.are_complete() {
            // Another account, or a cloud that does not answer at all, is told of as ever.
            self.load_balancers.check().await.map_err(Error::Ensure)?;
            if self.confirmations.hold(key) {
                debug!(service = key, "the Service waits until the cloud has said which nodes exist");
                return Ok(Step::Made(Next::Done));
            }
        }
        let (backends, compared) = (self.changes.backends(), compared_fields(desired));
        let now = Instant::now();
        let (step, pass) = {
            let mut states = self.states();
            let state = states.of(key, &service, now);
            match state.next_step(&compared, &backends.compared_fields, now) {
                // The pass has not ended for it.
                NextStep::Wait(pause) => (NextStep::Wait(pause), None),
                step => (step, state.pass.take()),
            }
        };
        let (cause, new_backends) = match step {
            NextStep::Nothing => return Ok(Step::Made(Next::Done)),
            NextStep::Wait(pause) => return Ok(Step::Made(Next::After(pause))),
            NextStep::Ensure { cause, new_backends } => (cause, new_backends),
        };
        // Nothing at all is written for another account, in the cluster neither.
        self.load_balancers.check().await.map_err(Error::Ensure)?;
        if self.states().of(key, &service, now).announces() {
            self.record(&service, EventKind::Normal, "EnsuringLoadBalancer", "Ensuring load balancer");
        }
        let Some(service) = self.finalize(&service, key).await? else { return Ok(Step::Changed) };
        // The finalizer may have met a conflict, and the Service may be another one by now.
        let desired = match plan(&service, true, &self.cluster)? {
            Plan::Ensure(desired) if compared_fields(desired.clone()) == compared => desired,
            Plan::Ignore | Plan::Delete(_) | Plan::Forget | Plan::Ensure(_) => return Ok(Step::Changed),
        };
        if cause == Cause::Service && new_backends && backends.nodes.is_empty() {
            self.warn_of_no_backends(&service);
        }
        let asked = Instant::now();
        let progress = self.ask(key, &service, desired, &backends).await;
        if cause == Cause::Backends {
            self.metrics.backend_updates.inc();
            self.metrics.backend_update.observe(asked.elapsed().as_secs_f64());
            self.metrics.backend_update_errors.inc_by(u64::from(progress.is_err()));
        }
        let step = match progress {
            Ok(progress) => self.follow(key, service, progress).await,
            Err(source) if cause == Cause::Backends => {
                Err(Error::Update { backends: backends.compared_fields.clone(), source })
            }
            Err(error) => Err(Error::Ensure(error)),
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
            state.may_exist = true;
            state.about.clone()
        };
        let call = tokio::time::timeout(CALL, self.load_balancers.ensure(&desired));
        let reply = call.await.map_err(|_| late())?;
        self.record_provider_events(&about, reply.events);
        reply.answer
    }

    /// Does what follows from the provider's answer.
    async fn follow(&self, key: &str, service: Arc<Service>, progress: Progress) -> Result<Step<Next>, Error> {
        let (status, then, after) = match progress {
            Progress::NotManaged => {
                if let Some(state) = self.states().get(key) {
                    state.settle();
                }
                return Ok(Step::Made(Next::Done));
            }
            Progress::Failed(status, error) => {
                let ingress = ingress::usable(key, status.ingress);
                let status = LoadBalancerStatus { ingress, ..status };
                return self.fail(key, service, status, Error::Ensure(error)).await;
            }
            Progress::Ready(status) => {
                self.record_dropped_memo(key, &service, &status);
                if let Some(objection) = ingress::objection(&status.ingress) {
                    return self.refuse(key, service, status, &objection).await;
                }
                (status, Outcome::Ready, None)
            }
            Progress::Pending(mut it) => {
                self.record_dropped_memo(key, &service, &it.status);
                it.status.ingress = ingress::usable(key, it.status.ingress);
                // There is nothing to wait for but our own write. A Service has its first memo once.
                let announces = it.after.is_zero() && status::memo(&service).is_none() && it.status.memo.is_some();
                let after = if announces { Duration::ZERO } else { held(it.after) };
                debug!(service = key, ?after, "the load balancer is not ready: {}", it.reason);
                if let Some(state) = self.states().get(key) {
                    state.wait(&it.reason, Instant::now());
                }
                (it.status, Outcome::Pending(Instant::now() + after), Some(after))
            }
        };
        self.keep(key, &service, status, then)?;
        match self.write(key, service).await? {
            Written::Yes(_) | Written::Gone => Ok(Step::Made(after.map_or(Next::Done, Next::After))),
            Written::Changed => Ok(Step::Changed),
        }
    }

    /// Keeps of an answer what Kubernetes takes, which is all but its addresses, and says what is wrong with those.
    async fn refuse(
        &self,
        key: &str,
        service: Arc<Service>,
        status: LoadBalancerStatus,
        objection: &str,
    ) -> Result<Step<Next>, Error> {
        let error = Error::Ensure(CloudError::Invalid(format!(
            "the provider's answer about Service {key} cannot be its status: {objection}. Its addresses stay as they are, \
             and its memo is kept"
        )));
        self.fail(key, service, LoadBalancerStatus { ingress: Vec::new(), ..status }, error).await
    }

    /// Keeps the status of a load balancer that is not as desired, and fails.
    async fn fail(
        &self,
        key: &str,
        service: Arc<Service>,
        status: LoadBalancerStatus,
        error: Error,
    ) -> Result<Step<Next>, Error> {
        self.keep(key, &service, status, Outcome::MemoOnly)?;
        match self.write(key, service).await? {
            Written::Yes(_) | Written::Gone => Err(error),
            Written::Changed => Ok(Step::Changed),
        }
    }

    /// Writes first what is still to be written, so that the next call has the last memo.
    async fn settle(&self, key: &str, service: Arc<Service>) -> Result<Step<Option<Arc<Service>>>, Error> {
        {
            let mut states = self.states();
            let state = states.of(key, &service, Instant::now());
            if plan(&service, true, &self.cluster) == Ok(Plan::Forget) {
                state.unwritten = None;
                return Ok(Step::Made(Some(service)));
            }
            state.drop_outdated_answer(self.desired_now(&service).as_ref());
            let found = status::memo(&service);
            if state.unwritten.is_none() {
                if found == state.memo.as_deref() {
                    return Ok(Step::Made(Some(service)));
                }
                if found.is_some() {
                    info!(service = key, "somebody has written another memo; the cloud is asked with it");
                    state.memo = found.map(str::to_owned);
                    if state.phase == Phase::Settled {
                        state.phase = Phase::Open;
                    }
                    return Ok(Step::Made(Some(service)));
                }
                let status = LoadBalancerStatus { memo: state.memo.clone(), ..LoadBalancerStatus::default() };
                state.unwritten = Some(Unwritten { status, sent_memo: None, then: Outcome::MemoOnly });
            }
        }
        match self.write(key, service).await? {
            Written::Yes(service) => Ok(Step::Made(Some(service))),
            Written::Gone => Ok(Step::Made(None)),
            Written::Changed => Ok(Step::Changed),
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
            // Nobody may put a finalizer on it any more; what it wants now is decided anew.
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

    /// Whoever writes a provider has to return the memo with each answer: what is not returned is not kept.
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

/// When a cloud that is busy is asked again.
pub(super) fn held(after: Duration) -> Duration {
    after.clamp(SHORTEST_PENDING, LONGEST_PENDING)
}
