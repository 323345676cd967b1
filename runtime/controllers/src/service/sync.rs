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
use crate::service::backends::Hosts;
use crate::service::desired::essence;
use crate::service::error::Error;
use crate::service::ingress;
use crate::service::memos;
use crate::service::plan::{Plan, is_wanted, plan};
use crate::service::state::{Cause, State, Then, Turn, Unwritten};
use crate::service::status;
use crate::service::write::Written;
use crate::worker::{Next, random};

/// How often a Service is looked at again at once because somebody has changed it meanwhile.
const LOOKS: usize = 10;
/// How soon a cloud that is busy is asked again at least, and at most.
const SHORTEST_PENDING: Duration = Duration::from_secs(1);
const LONGEST_PENDING: Duration = Duration::from_secs(300);
/// The pause before another look.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// How a step ended.
pub(super) enum Step<T> {
    /// It was made.
    Made(T),
    /// Somebody has changed the Service: everything is to be decided anew.
    Changed,
}

impl Controller {
    /// Does what is to be done about the Service under a key.
    pub(super) async fn bring(&self, key: &str) -> Result<Next, Error> {
        for _ in 0..LOOKS {
            match self.look(key).await? {
                Step::Made(next) => return Ok(next),
                Step::Changed => {
                    debug!(service = key, "the Service has changed meanwhile; looking at it again");
                    tokio::time::sleep(LOOK_PAUSE.mul_f64(1.0 + random())).await;
                }
            }
        }
        Ok(Next::After(SHORTEST_PENDING))
    }

    async fn look(&self, key: &str) -> Result<Step<Next>, Error> {
        let service = self.latest(key);
        let credentials = self.rights();
        if let Some(entry) = self.memory().get(key) {
            entry.begin(credentials);
        }
        if let Some(after) = self.bury(key, service.as_deref()).await? {
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
        let may_stand = {
            let mut memory = self.memory();
            let entry = memory.entry(key, &service, Instant::now());
            entry.begin(credentials);
            if is_wanted(&service) {
                self.tell_of_unknown_annotations(entry, &service);
            }
            entry.may_stand
        };
        match plan(&service, may_stand, &self.cluster)? {
            Plan::Ignore => {
                self.memory().forget(key);
                Ok(Step::Made(Next::Done))
            }
            Plan::Delete(unwanted) => self.remove(key, service, unwanted).await,
            Plan::Forget => self.leave(key, service).await,
            Plan::Ensure(wish) => self.ensure(key, service, wish).await,
        }
    }

    /// Takes one step towards the load balancer that a Service wishes for.
    async fn ensure(&self, key: &str, service: Arc<Service>, wish: LoadBalancer) -> Result<Step<Next>, Error> {
        if !self.confirmations.are_complete() {
            // Another account, or a cloud that does not answer at all, is told of as ever.
            self.load_balancers.check().await.map_err(Error::Ensure)?;
            if self.confirmations.hold(key) {
                debug!(service = key, "the Service waits until the cloud has said which nodes exist");
                return Ok(Step::Made(Next::Done));
            }
        }
        let (hosts, wished) = (self.changes.hosts(), essence(wish));
        let now = Instant::now();
        let (turn, pass) = {
            let mut memory = self.memory();
            let entry = memory.entry(key, &service, now);
            match entry.turn(&wished, &hosts.essence, now) {
                // The pass has not ended for it.
                Turn::Wait(pause) => (Turn::Wait(pause), None),
                turn => (turn, entry.pass.take()),
            }
        };
        let (cause, new_hosts) = match turn {
            Turn::Rest => return Ok(Step::Made(Next::Done)),
            Turn::Wait(pause) => return Ok(Step::Made(Next::After(pause))),
            Turn::Ask { cause, new_hosts } => (cause, new_hosts),
        };
        // Nothing at all is written for another account, in the cluster neither.
        self.load_balancers.check().await.map_err(Error::Ensure)?;
        if self.memory().entry(key, &service, now).tells() {
            self.record(&service, EventKind::Normal, "EnsuringLoadBalancer", "Ensuring load balancer");
        }
        let Some(service) = self.finalize(&service, key).await? else { return Ok(Step::Changed) };
        // The finalizer may have met a conflict, and the Service may be another one by now.
        let wish = match plan(&service, true, &self.cluster)? {
            Plan::Ensure(wish) if essence(wish.clone()) == wished => wish,
            Plan::Ignore | Plan::Delete(_) | Plan::Forget | Plan::Ensure(_) => return Ok(Step::Changed),
        };
        if cause == Cause::Service && new_hosts && hosts.machines.is_empty() {
            self.warn_of_no_hosts(&service);
        }
        let asked = Instant::now();
        let progress = self.ask(key, &service, wish, &hosts).await;
        if cause == Cause::Hosts {
            self.metrics.host_updates.inc();
            self.metrics.host_update.observe(asked.elapsed().as_secs_f64());
            self.metrics.host_update_errors.inc_by(u64::from(progress.is_err()));
        }
        let step = match progress {
            Ok(progress) => self.follow(key, service, progress).await,
            Err(source) if cause == Cause::Hosts => Err(Error::Update { hosts: hosts.essence.clone(), source }),
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
        mut wish: LoadBalancer,
        hosts: &Hosts,
    ) -> Result<Progress, CloudError> {
        if let Some((memo, elder)) = self.elder(service) {
            return Err(memos::taken(key, &memo, &elder));
        }
        if let Some(too_many) = too_many_nodes(hosts.machines.len()) {
            return Err(CloudError::Invalid(too_many));
        }
        wish.nodes.clone_from(&hosts.machines);
        let about = {
            let mut memory = self.memory();
            let entry = memory.entry(key, service, Instant::now());
            entry.may_stand = true;
            entry.about.clone()
        };
        let call = tokio::time::timeout(CALL, self.load_balancers.ensure(&wish));
        let reply = call.await.map_err(|_| late())?;
        self.tell(&about, reply.events);
        reply.answer
    }

    /// Does what follows from the provider's answer.
    async fn follow(&self, key: &str, service: Arc<Service>, progress: Progress) -> Result<Step<Next>, Error> {
        let (standing, then, after) = match progress {
            Progress::NotManaged => {
                if let Some(entry) = self.memory().get(key) {
                    entry.settle();
                }
                return Ok(Step::Made(Next::Done));
            }
            Progress::Failed(status, error) => {
                let ingress = ingress::usable(key, status.ingress);
                let status = LoadBalancerStatus { ingress, ..status };
                return self.fail(key, service, status, Error::Ensure(error)).await;
            }
            Progress::Ready(standing) => {
                self.tell_of_dropped_memo(key, &service, &standing);
                if let Some(objection) = ingress::objection(&standing.ingress) {
                    return self.refuse(key, service, standing, &objection).await;
                }
                (standing, Then::Served, None)
            }
            Progress::Pending(mut it) => {
                self.tell_of_dropped_memo(key, &service, &it.status);
                it.status.ingress = ingress::usable(key, it.status.ingress);
                // There is nothing to wait for but our own write. A Service has its first memo once.
                let announces = it.after.is_zero() && status::memo(&service).is_none() && it.status.memo.is_some();
                let after = if announces { Duration::ZERO } else { held(it.after) };
                debug!(service = key, ?after, "the load balancer is not ready: {}", it.reason);
                if let Some(entry) = self.memory().get(key) {
                    entry.wait(&it.reason, Instant::now());
                }
                (it.status, Then::Pending(Instant::now() + after), Some(after))
            }
        };
        self.keep(key, &service, standing, then)?;
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
        self.keep(key, &service, status, Then::Restored)?;
        match self.write(key, service).await? {
            Written::Yes(_) | Written::Gone => Err(error),
            Written::Changed => Ok(Step::Changed),
        }
    }

    /// Writes first what is still to be written, so that the next call has the last memo.
    async fn settle(&self, key: &str, service: Arc<Service>) -> Result<Step<Option<Arc<Service>>>, Error> {
        {
            let mut memory = self.memory();
            let entry = memory.entry(key, &service, Instant::now());
            if plan(&service, true, &self.cluster) == Ok(Plan::Forget) {
                entry.unwritten = None;
                return Ok(Step::Made(Some(service)));
            }
            if !entry.is_answered(self.wishes(&service).as_ref()) {
                entry.keep_only_memo();
            }
            let found = status::memo(&service);
            if entry.unwritten.is_none() {
                if found == entry.memo.as_deref() {
                    return Ok(Step::Made(Some(service)));
                }
                if found.is_some() {
                    info!(service = key, "somebody has written another memo; the cloud is asked with it");
                    entry.memo = found.map(str::to_owned);
                    if entry.state == State::Settled {
                        entry.state = State::Open;
                    }
                    return Ok(Step::Made(Some(service)));
                }
                let standing = LoadBalancerStatus { memo: entry.memo.clone(), ..LoadBalancerStatus::default() };
                entry.unwritten = Some(Unwritten { standing, carried: None, then: Then::Restored });
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
                self.memory().entry(key, &written, Instant::now()).wrote(&written);
                Ok(Some(written))
            }
            Ok(None) => Ok(None),
            Err(error) if object::Error::is_gone(&error) => Ok(None),
            Err(error) => Err(Error::Finalizer(error)),
        }
    }

    /// Whoever writes a provider has to return the memo with each answer: what is not returned is not kept.
    fn tell_of_dropped_memo(&self, key: &str, service: &Service, standing: &LoadBalancerStatus) {
        let Some(dropped) = status::memo(service).filter(|_| standing.memo.is_none()) else { return };
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

    pub(super) fn warn_of_no_hosts(&self, service: &Service) {
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
