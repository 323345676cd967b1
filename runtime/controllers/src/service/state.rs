//! What was asked of the cloud for each Service, and how far that is. No client, no log; times are arguments.

mod steps;
mod unwritten;

use std::collections::HashMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cloud_provider::{Ingress, LoadBalancer};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use kube::ResourceExt;
use tokio::time::Instant;

use crate::events::reference;
use crate::requested_changes::{RequestedChanges, Waiting};
use crate::service::backends::{Backend, have_same_names};
use crate::service::changes::Pass;
use crate::service::desired::{asked, compared_fields};
use crate::service::error::FailureKind;
use crate::service::long_pending::LongPending;
use crate::service::status;
use crate::token_bucket::TokenBucket;
use crate::version;

pub(super) use self::steps::{Ask, Cause, EventEffect, NextStep, Phase};
pub(super) use self::unwritten::{Outcome, Unwritten};

/// Changes of one Service's load balancer at once: its author must not use up the account's quota.
const CHANGES: u32 = 10;
/// The pause between further ones.
const CHANGE_PAUSE: Duration = Duration::from_secs(10);

/// What is remembered of Services, by key.
#[derive(Default)]
pub(super) struct ServiceStates {
    entries: HashMap<String, ServiceState>,
    counted: Counted,
}

/// Where it is counted what Kubernetes asks for.
#[derive(Clone, Default)]
pub(super) struct Counted {
    pub(super) requested: RequestedChanges,
    /// The annotations that the provider writes: what it says itself is not asked for.
    pub(super) provider_writes: Arc<[String]>,
    /// How often the set of nodes has changed that take traffic by what Kubernetes says, whatever the provider confirms.
    pub(super) node_changes: Arc<AtomicU64>,
}

/// What is remembered of one Service.
pub(super) struct ServiceState {
    /// A Service with the same key and another UID is another Service.
    pub(super) uid: String,
    /// What events call it.
    pub(super) about: ObjectReference,
    /// The load balancer that was worked on last, without what we write ourselves.
    pub(super) desired: Option<LoadBalancer>,
    /// The nodes for which it was worked on.
    pub(super) backends: Arc<[Backend]>,
    pub(super) phase: Phase,
    /// Why it was worked on.
    cause: Cause,
    /// Whether a call may have given it a load balancer.
    pub(super) may_exist: bool,
    /// Whether the API server, asked for it alone, has said that it is gone. It cannot come back: its UID is not given twice.
    pub(super) is_gone: bool,
    /// Whether its deletion met a memo of another Service, whose load balancer stays.
    pub(super) has_foreign_memo: bool,
    /// What the provider asked to keep last, written or not.
    pub(super) memo: Option<String>,
    /// Where it was reached last.
    pub(super) current: Vec<Ingress>,
    /// The Service as our last write left it, until the watch has seen it.
    written: Option<Arc<Service>>,
    /// What the provider answered, and could not be written.
    pub(super) unwritten: Option<Unwritten>,
    /// The changes that its author may still make.
    burst: TokenBucket,
    counted: Counted,
    /// Which of its changes count: a Service or a node that flaps must not let a provider write without end.
    counted_burst: TokenBucket,
    /// How often the set of nodes had changed when a change of it was counted last.
    counted_nodes: u64,
    /// There while it waits for its first load balancer.
    waiting: Option<Waiting>,
    /// The changes that other nodes behind it may still make: a node that comes and goes must not cost more than an author.
    backend_burst: TokenBucket,
    /// Whether an event said that the present work began.
    is_announced: bool,
    /// What the cloud is busy with, if it said so.
    pub(super) pending: Option<LongPending>,
    /// The annotations that nobody knows, if an event said so.
    unknown: Vec<String>,
    /// The failure that was shown last.
    shown: Option<String>,
    /// What kind of failure it had last.
    failure_kind: FailureKind,
    /// The version of the credentials that it was last worked on with.
    credentials: u64,
    /// The pass over changed nodes that waits for it.
    pub(super) pass: Option<Arc<Pass>>,
}

impl ServiceStates {
    /// Nothing is remembered yet.
    pub(super) fn new(counted: Counted) -> Self {
        Self { entries: HashMap::new(), counted }
    }

    /// What is remembered under a key.
    pub(super) fn get(&mut self, key: &str) -> Option<&mut ServiceState> {
        self.entries.get_mut(key)
    }

    /// What is remembered of this Service. Nothing may be remembered of an earlier one with its key.
    pub(super) fn of(&mut self, key: &str, service: &Service, now: Instant) -> &mut ServiceState {
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        if self.entries.get(key).is_some_and(|it| it.uid != uid) {
            self.entries.remove(key);
        }
        self.entries.entry(key.to_owned()).or_insert_with(|| ServiceState::new(service, &self.counted, now))
    }

    /// As [`ServiceStates::get`], to read.
    pub(super) fn peek(&self, key: &str) -> Option<&ServiceState> {
        self.entries.get(key)
    }

    /// The keys of what was refused, and may be allowed with this version of the credentials.
    pub(super) fn allowed(&mut self, credentials: u64) -> Vec<String> {
        let entries = self.entries.iter_mut();
        entries.filter_map(|(key, it)| it.may_be_allowed(credentials).then(|| key.clone())).collect()
    }

    /// What has been pending for long and is to be recorded, with the reference to its Service; and for how long
    /// whatever has been pending longest has been so.
    pub(super) fn long_pending(&mut self, now: Instant) -> (Vec<(ObjectReference, String)>, Duration) {
        let (mut is_announced, mut longest) = (Vec::new(), Duration::ZERO);
        for state in self.entries.values_mut() {
            let Some(wait) = &mut state.pending else { continue };
            longest = longest.max(wait.age(now));
            // What failed since then is shown by its failure.
            let is_pending = matches!(state.phase, Phase::Pending(_) | Phase::Deleting(Some(_)));
            if let Some(message) = wait.message_due(now).filter(|_| is_pending) {
                is_announced.push((state.about.clone(), message));
            }
        }
        (is_announced, longest)
    }

    /// All that is remembered.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &ServiceState)> {
        self.entries.iter().map(|(key, state)| (key.as_str(), state))
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.entries.remove(key);
    }
}

impl ServiceState {
    fn new(service: &Service, counted: &Counted, now: Instant) -> Self {
        let current = status::current(service);
        Self {
            uid: service.metadata.uid.clone().unwrap_or_default(),
            about: reference(service),
            desired: None,
            backends: Arc::default(),
            phase: Phase::Open,
            cause: Cause::Service,
            may_exist: false,
            is_gone: false,
            has_foreign_memo: false,
            memo: status::memo(service).map(str::to_owned),
            waiting: None,
            current,
            written: None,
            unwritten: None,
            burst: changes(now),
            counted: counted.clone(),
            counted_burst: changes(now),
            counted_nodes: 0,
            backend_burst: changes(now),
            is_announced: false,
            pending: None,
            unknown: Vec::new(),
            shown: None,
            failure_kind: FailureKind::Transient,
            credentials: 0,
            pass: None,
        }
    }

    /// What is to be done for this desired load balancer and these backends. What is to be asked is remembered as
    /// asked.
    pub(super) fn next_step(
        &mut self,
        desired: &LoadBalancer,
        backends: &Arc<[Backend]>,
        now: Instant,
    ) -> ControlFlow<NextStep, Ask> {
        let other_backends = self.backends != *backends;
        if self.desired.as_ref() != Some(desired) {
            if let Err(pause) = self.burst.try_take(now) {
                return Break(NextStep::After(pause));
            }
            let new_backends = self.desired.is_none() || other_backends;
            self.shown = None;
            self.is_announced = false;
            self.pending = None;
            return self.ask(Cause::Service, desired, backends, new_backends, now);
        }
        let asks = matches!(self.phase, Phase::Settled | Phase::Open);
        if asks
            && other_backends
            && let Err(pause) = self.backend_burst.try_take(now)
        {
            return Break(NextStep::After(pause));
        }
        match self.phase {
            Phase::Settled if other_backends => self.ask(Cause::Backends, desired, backends, true, now),
            Phase::Settled => Break(NextStep::Done),
            Phase::Pending(until) if until > now => Break(NextStep::After(until - now)),
            Phase::Pending(_) => self.ask(self.cause, desired, backends, false, now),
            Phase::Open | Phase::Deleting(_) | Phase::Released => {
                self.ask(Cause::Service, desired, backends, other_backends, now)
            }
        }
    }

    fn ask(
        &mut self,
        cause: Cause,
        desired: &LoadBalancer,
        backends: &Arc<[Backend]>,
        new_backends: bool,
        now: Instant,
    ) -> ControlFlow<NextStep, Ask> {
        self.count(desired, backends, now);
        self.desired = Some(desired.clone());
        self.backends = backends.clone();
        self.cause = cause;
        self.phase = Phase::Open;
        Continue(Ask { cause, new_backends })
    }

    /// Counts what is about to be asked of the cloud for Kubernetes' sake. What the provider said itself is no change: the
    /// annotations that it writes, the addresses of machines, and which instances exist.
    fn count(&mut self, desired: &LoadBalancer, backends: &[Backend], now: Instant) {
        let node_changes = self.counted.node_changes.load(Ordering::Relaxed);
        let other_nodes = !have_same_names(&self.backends, backends) && self.counted_nodes != node_changes;
        let written = &self.counted.provider_writes;
        match &self.desired {
            None => {
                self.counted.requested.add_new(now);
                self.waiting = self.current.is_empty().then(|| self.counted.requested.wait());
                self.counted_nodes = node_changes;
            }
            Some(before) if asked(before, written) != asked(desired, written) || other_nodes => {
                self.counted_nodes = node_changes;
                self.count_change(now);
            }
            Some(_) => {}
        }
    }

    fn count_change(&mut self, now: Instant) {
        if self.counted_burst.try_take(now).is_ok() {
            self.counted.requested.add_change(now);
        }
    }

    /// Whether the work that begins is still to be recorded. It is once for each desired load balancer.
    pub(super) fn announces(&mut self) -> bool {
        self.cause == Cause::Service && !std::mem::replace(&mut self.is_announced, true)
    }

    /// How long the cloud is still busy deleting. Afterwards it is to be asked; `None` says so.
    pub(super) fn deleting(&mut self, now: Instant) -> Option<Duration> {
        match self.phase {
            Phase::Deleting(Some(until)) if until > now => Some(until - now),
            _ => None,
        }
    }

    /// Whether the deletion of its load balancer has begun.
    pub(super) fn is_deleting(&self) -> bool {
        matches!(self.phase, Phase::Deleting(_))
    }

    /// Begins or goes on to delete what was desired. Returns whether it begins.
    pub(super) fn begin_deletion(&mut self, unwanted: &LoadBalancer, now: Instant) -> bool {
        let begins = !self.is_deleting();
        if begins {
            self.count_change(now);
            self.waiting = None;
            self.desired = Some(compared_fields(unwanted.clone()));
            self.may_exist = true;
            self.has_foreign_memo = false;
            self.shown = None;
            self.is_announced = false;
            self.pending = None;
            self.pass = None;
        }
        self.phase = Phase::Deleting(None);
        begins
    }

    /// The load balancer is gone. The Service may still be there as it was.
    pub(super) fn end_deletion(&mut self) {
        self.phase = Phase::Released;
        self.desired = None;
        self.may_exist = false;
        self.memo = None;
        self.current.clear();
        self.unwritten = None;
        self.pending = None;
    }

    /// An answer is on the Service, `written` if that took a write. Returns why the cloud was asked if it is new that
    /// the load balancer is as desired.
    ///
    /// `compared` and `desired_now` are what the Service desires before and after: what we write ourselves is no
    /// change.
    pub(super) fn end(
        &mut self,
        written: &Arc<Service>,
        compared: Option<&LoadBalancer>,
        desired_now: Option<LoadBalancer>,
    ) -> Option<Cause> {
        let unwritten = self.unwritten.take()?;
        if self.desired.is_some() && self.desired.as_ref() == compared {
            self.desired = desired_now;
        }
        self.wrote(written);
        self.follow(unwritten.then);
        (unwritten.then == Outcome::Ready).then_some(self.cause)
    }

    /// Keeps of what is still to be written only the memo, if the Service wants something else by now.
    pub(super) fn drop_outdated_answer(&mut self, desired: Option<&LoadBalancer>) {
        let asked = self.desired.as_ref();
        if let Some(unwritten) = self.unwritten.as_mut().filter(|it| !it.answers(asked, desired)) {
            unwritten.keep_only_memo();
        }
    }

    /// What an answer means has come true.
    pub(super) fn follow(&mut self, then: Outcome) {
        match then {
            Outcome::Ready => self.settle(),
            Outcome::Pending(until) => self.phase = Phase::Pending(until),
            Outcome::Deleting(until) => self.phase = Phase::Deleting(Some(until)),
            Outcome::MemoOnly => {}
        }
    }

    /// There is nothing left to do for the present spec.
    pub(super) fn settle(&mut self) {
        self.phase = Phase::Settled;
        self.waiting = None;
        self.shown = None;
        self.pending = None;
    }

    /// The cloud is busy, and says with what.
    pub(super) fn wait(&mut self, because: &str, now: Instant) {
        self.pending.get_or_insert_with(|| LongPending::new(now)).because = because.to_owned();
    }

    /// Whether these annotations, which nobody knows, are others than those that were recorded last.
    pub(super) fn are_new(&mut self, unknown: &[&str]) -> bool {
        let are_new = !unknown.is_empty() && self.unknown != unknown;
        if self.unknown != unknown {
            self.unknown = unknown.iter().map(|it| (*it).to_owned()).collect();
        }
        are_new
    }

    /// The Service is as we left it.
    pub(super) fn wrote(&mut self, written: &Arc<Service>) {
        self.current = status::current(written);
        self.about = reference(written.as_ref());
        self.written = Some(written.clone());
    }

    /// The newer one of what the watch knows and what we wrote.
    pub(super) fn newest(&self, watched: Arc<Service>) -> Arc<Service> {
        match &self.written {
            Some(written) if self.uid_of(&watched) && is_newer(written, &watched) => written.clone(),
            _ => watched,
        }
    }

    /// What it means that the watch knows this of the Service now: `desired` if it wants a load balancer, and
    /// whether that has to go otherwise.
    pub(super) fn effect(&mut self, watched: &Service, desired: Option<&LoadBalancer>, has_to_go: bool) -> EventEffect {
        if !self.uid_of(watched) {
            return self.vanished();
        }
        if self.written.as_ref().is_some_and(|it| is_newer(it, watched)) {
            return EventEffect::None;
        }
        self.written = None;
        self.about = reference(watched);
        let other_memo = status::memo(watched) != self.memo.as_deref();
        match (desired, self.phase) {
            (Some(_), Phase::Deleting(_) | Phase::Released) => EventEffect::Add,
            (Some(desired), _) if self.desired.as_ref() != Some(desired) => EventEffect::Add,
            (Some(_), _) if other_memo && self.unwritten.is_some() => EventEffect::AddIfIdle,
            (Some(_), _) if other_memo => EventEffect::Add,
            (Some(_), _) => EventEffect::None,
            (None, Phase::Deleting(_)) if has_to_go => EventEffect::AddIfIdle,
            (None, _) if has_to_go => EventEffect::AddDespitePause,
            (None, Phase::Released) => EventEffect::Forget,
            (None, _) => EventEffect::Add,
        }
    }

    /// What it means that its Service is gone. A deletion that has begun keeps its own pause.
    pub(super) fn vanished(&self) -> EventEffect {
        match self.phase {
            Phase::Deleting(_) => EventEffect::Add,
            Phase::Open | Phase::Pending(_) | Phase::Settled | Phase::Released => EventEffect::AddDespitePause,
        }
    }

    /// Whether it has to be asked about because other nodes take traffic. What failed comes back by itself, unless it had
    /// no nodes, or the wrong ones; so does what is pending. They see the nodes as they are by then.
    pub(super) fn lacks(&self, backends: &Arc<[Backend]>) -> bool {
        let waits_for_nodes = match self.phase {
            Phase::Settled => true,
            Phase::Open => self.backends.is_empty() || self.failure_kind == FailureKind::InvalidSpec,
            Phase::Pending(_) | Phase::Deleting(_) | Phase::Released => false,
        };
        waits_for_nodes && self.backends != *backends
    }

    /// It is worked on with this version of the credentials.
    pub(super) fn start_work(&mut self, credentials: u64) {
        self.credentials = credentials;
        self.failure_kind = FailureKind::Transient;
    }

    /// Whether it was refused, and another version of the credentials may do. It says so once for each.
    pub(super) fn may_be_allowed(&mut self, credentials: u64) -> bool {
        let refused = self.failure_kind == FailureKind::Denied;
        refused && std::mem::replace(&mut self.credentials, credentials) != credentials
    }

    /// Whether a failure is to be shown: where a person has to do something, it is once.
    pub(super) fn shows(&mut self, message: &str, failure_kind: FailureKind) -> bool {
        self.failure_kind = failure_kind;
        let known = self.shown.as_deref() == Some(message);
        self.shown = Some(message.to_owned());
        !(failure_kind.needs_a_person() && known)
    }

    fn uid_of(&self, service: &Service) -> bool {
        service.metadata.uid.as_deref().unwrap_or_default() == self.uid
    }
}

/// The changes that one Service may make.
fn changes(now: Instant) -> TokenBucket {
    TokenBucket::new(CHANGE_PAUSE, CHANGES, now)
}

/// Whether one version of a Service is newer than another.
fn is_newer(one: &Service, other: &Service) -> bool {
    let version = |it: &Service| it.resource_version().unwrap_or_default();
    version::is_newer(&version(one), &version(other))
}

#[cfg(test)]
mod tests;
