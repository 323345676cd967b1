//! What was asked of the cloud for each Service, and how far that is. No client, no log; times are arguments.

mod counted;
mod observed;
mod resync;
mod steps;
mod unwritten;
mod work;

use std::collections::HashMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cloud_provider::LoadBalancer;
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use kube::ResourceExt;
use tokio::time::Instant;

use crate::events::reference;
use crate::service::backends::{Backend, other_names};
use crate::service::desired::{asked, compared_fields};
use crate::service::error::FailureKind;
use crate::service::long_pending::LongPending;
use crate::service::status;
use crate::version;

pub(super) use self::counted::Counted;
use self::observed::Observed;
pub(super) use self::steps::{Ask, Cause, EventEffect, NextStep, Phase, Resync};
pub(super) use self::unwritten::{Outcome, Unwritten};
use self::work::Work;

/// What is remembered of Services, by key.
#[derive(Default)]
pub(super) struct ServiceStates {
    entries: HashMap<String, ServiceState>,
    counted: Counted,
}

/// What is remembered of one Service. All of it is behind one lock.
pub(super) struct ServiceState {
    /// A Service with the same key and another UID is another Service.
    pub(super) uid: String,
    pub(super) observed: Observed,
    pub(super) work: Work,
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
            let Some(wait) = &mut state.observed.pending else { continue };
            longest = longest.max(wait.age(now));
            // What failed since then is shown by its failure.
            let is_pending = matches!(state.work.phase, Phase::Pending(_) | Phase::Deleting(Some(_)));
            if let Some(message) = wait.message_due(now).filter(|_| is_pending) {
                is_announced.push((state.observed.about.clone(), message));
            }
        }
        (is_announced, longest)
    }

    /// As [`ServiceStates::iter`], for what whoever has the lock may write.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut ServiceState)> {
        self.entries.iter_mut().map(|(key, state)| (key.as_str(), state))
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
        let uid = service.metadata.uid.clone().unwrap_or_default();
        Self { uid, observed: Observed::new(service), work: Work::new(service, counted, now) }
    }

    /// What is to be done for this desired load balancer and these backends. What is to be asked is remembered as
    /// asked.
    pub(super) fn next_step(
        &mut self,
        desired: &LoadBalancer,
        backends: &Arc<[Backend]>,
        now: Instant,
    ) -> ControlFlow<NextStep, Ask> {
        let other_backends = self.work.backends != *backends;
        if self.work.desired.as_ref() != Some(desired) {
            if let Err(pause) = self.work.burst.try_take(now) {
                return Break(NextStep::After(pause));
            }
            let new_backends = self.work.desired.is_none() || other_backends;
            self.work.shown = None;
            self.work.is_announced = false;
            self.observed.pending = None;
            return self.ask(Cause::Service, desired, backends, new_backends, now);
        }
        let asks = matches!(self.work.phase, Phase::Settled | Phase::Open);
        if asks
            && other_backends
            && let Err(pause) = self.work.backend_burst.try_take(now)
        {
            return Break(NextStep::After(pause));
        }
        match self.work.phase {
            Phase::Settled if other_backends => self.ask(Cause::Backends, desired, backends, true, now),
            Phase::Settled if self.is_to_be_asked(now) => self.ask(Cause::Resync, desired, backends, false, now),
            Phase::Settled => Break(NextStep::Done),
            Phase::Pending(until) if until > now && !self.observed.is_at_rest => Break(NextStep::After(until - now)),
            Phase::Pending(_) => self.ask(self.work.cause, desired, backends, false, now),
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
        let is_changed = new_backends || self.work.desired.as_ref() != Some(desired);
        self.work.desired = Some(desired.clone());
        self.work.backends = backends.clone();
        self.work.cause = cause;
        self.work.phase = Phase::Open;
        self.work.is_changed = is_changed;
        if is_changed {
            self.work.revision = None;
            self.work.is_doubtful = false;
        }
        self.work.was_at_rest = std::mem::take(&mut self.observed.is_at_rest) && !is_changed;
        self.observed.resync = None;
        Continue(Ask { cause, new_backends })
    }

    /// Counts what is about to be asked of the cloud for Kubernetes' sake. What the provider said itself is no change: the
    /// annotations that it writes, the addresses of machines, and which instances exist.
    fn count(&mut self, desired: &LoadBalancer, backends: &[Backend], now: Instant) {
        let node_changes = self.work.counted.node_changes.load(Ordering::Relaxed);
        // Kubernetes has changed so many nodes, and the Service has so many others: what only the provider says of machines
        // is no change.
        let changed_nodes = node_changes.saturating_sub(self.work.counted_nodes);
        let changed_nodes = changed_nodes.min(other_names(&self.work.backends, backends) as u64) as u32;
        let provider = self.work.counted.provider.now();
        let written = &provider.writes_annotations;
        match &self.work.desired {
            None => {
                self.work.counted.requested.add_new(now);
                self.work.waiting = self.work.current.is_empty().then(|| self.work.counted.requested.wait());
                self.work.counted_nodes = node_changes;
            }
            Some(before) if asked(before, written) != asked(desired, written) || changed_nodes > 0 => {
                self.work.counted_nodes = node_changes;
                self.count_changes(changed_nodes.max(1), now);
            }
            Some(_) => {}
        }
    }

    fn count_changes(&mut self, changes: u32, now: Instant) {
        if self.work.counted_burst.try_take(now).is_ok() {
            self.work.counted.requested.add_changes(changes, now);
        }
    }

    /// Whether the work that begins is still to be recorded. It is once for each desired load balancer.
    pub(super) fn announces(&mut self) -> bool {
        self.work.cause == Cause::Service && !std::mem::replace(&mut self.work.is_announced, true)
    }

    /// How long the cloud is still busy deleting. Afterwards it is to be asked; `None` says so.
    pub(super) fn deleting(&mut self, now: Instant) -> Option<Duration> {
        match self.work.phase {
            Phase::Deleting(Some(until)) if until > now => Some(until - now),
            _ => None,
        }
    }

    /// Whether the deletion of its load balancer has begun.
    pub(super) fn is_deleting(&self) -> bool {
        matches!(self.work.phase, Phase::Deleting(_))
    }

    /// Begins or goes on to delete what was desired. Returns whether it begins.
    pub(super) fn begin_deletion(&mut self, unwanted: &LoadBalancer, now: Instant) -> bool {
        let begins = !self.is_deleting();
        if begins {
            // Never asked for by this process: a process before may have begun it.
            match self.work.desired {
                Some(_) => self.count_changes(1, now),
                None => self.work.counted.requested.add_deletion_found(now),
            }
            self.work.waiting = None;
            self.work.desired = Some(compared_fields(unwanted.clone()));
            self.work.may_exist = true;
            self.work.has_foreign_memo = false;
            self.work.shown = None;
            self.work.is_announced = false;
            self.observed.pending = None;
            self.observed.pass = None;
        }
        self.work.phase = Phase::Deleting(None);
        begins
    }

    /// The load balancer is gone. The Service may still be there as it was.
    pub(super) fn end_deletion(&mut self) {
        self.work.phase = Phase::Released;
        self.work.desired = None;
        self.work.may_exist = false;
        self.work.memo = None;
        self.work.current.clear();
        self.work.unwritten = None;
        self.observed.pending = None;
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
        let unwritten = self.work.unwritten.take()?;
        if self.work.desired.is_some() && self.work.desired.as_ref() == compared {
            self.work.desired = desired_now;
        }
        self.wrote(written);
        self.follow(unwritten.then);
        (unwritten.then == Outcome::Ready).then_some(self.work.cause)
    }

    /// Keeps of what is still to be written only the memo, if the Service wants something else by now.
    pub(super) fn drop_outdated_answer(&mut self, desired: Option<&LoadBalancer>) {
        let asked = self.work.desired.as_ref();
        if let Some(unwritten) = self.work.unwritten.as_mut().filter(|it| !it.answers(asked, desired)) {
            unwritten.keep_only_memo();
        }
    }

    /// What an answer means has come true.
    pub(super) fn follow(&mut self, then: Outcome) {
        match then {
            Outcome::Ready => self.settle(),
            Outcome::Restored => {}
            Outcome::Pending(until) => self.work.phase = Phase::Pending(until),
            Outcome::Deleting(until) => self.work.phase = Phase::Deleting(Some(until)),
            Outcome::MemoOnly => {}
        }
    }

    /// There is nothing left to do for the present spec.
    pub(super) fn settle(&mut self) {
        self.work.phase = Phase::Settled;
        if let Some(revision) = self.work.asked_revision.take() {
            self.work.revision = Some(revision);
        }
        self.work.waiting = None;
        self.work.shown = None;
        self.work.creates = false;
        self.work.is_doubtful = false;
        self.observed.pending = None;
    }

    /// The cloud is busy, and says with what. Returns for how long it has been busy with that.
    pub(super) fn wait(&mut self, because: &str, now: Instant) -> Duration {
        self.observed.pending.get_or_insert_with(|| LongPending::new(now)).says(because, now)
    }

    /// Whether these annotations, which nobody knows, are others than those that were recorded last.
    pub(super) fn are_new(&mut self, unknown: &[&str]) -> bool {
        let are_new = !unknown.is_empty() && self.observed.unknown != unknown;
        if self.observed.unknown != unknown {
            self.observed.unknown = unknown.iter().map(|it| (*it).to_owned()).collect();
        }
        are_new
    }

    /// The Service is as we left it.
    pub(super) fn wrote(&mut self, written: &Arc<Service>) {
        self.work.current = status::current(written);
        self.observed.about = reference(written.as_ref());
        self.observed.written = Some(written.clone());
    }

    /// The newer one of what the watch knows and what we wrote.
    pub(super) fn newest(&self, watched: Arc<Service>) -> Arc<Service> {
        match &self.observed.written {
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
        if self.observed.written.as_ref().is_some_and(|it| is_newer(it, watched)) {
            return EventEffect::None;
        }
        self.observed.written = None;
        self.observed.about = reference(watched);
        let other_memo = status::memo(watched) != self.work.memo.as_deref();
        match (desired, self.work.phase) {
            (Some(_), Phase::Deleting(_) | Phase::Released) => EventEffect::Add,
            (Some(desired), _) if self.work.desired.as_ref() != Some(desired) => EventEffect::Add,
            (Some(_), _) if other_memo && self.work.unwritten.is_some() => EventEffect::AddIfIdle,
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
        match self.work.phase {
            Phase::Deleting(_) => EventEffect::Add,
            Phase::Open | Phase::Pending(_) | Phase::Settled | Phase::Released => EventEffect::AddDespitePause,
        }
    }

    /// Whether it has to be asked about because other nodes take traffic. What failed comes back by itself, unless it had
    /// no nodes, or the wrong ones; so does what is pending. They see the nodes as they are by then.
    pub(super) fn lacks(&self, backends: &Arc<[Backend]>) -> bool {
        let waits_for_nodes = match self.work.phase {
            Phase::Settled => true,
            Phase::Open => self.work.backends.is_empty() || self.work.failure_kind == FailureKind::InvalidSpec,
            Phase::Pending(_) | Phase::Deleting(_) | Phase::Released => false,
        };
        waits_for_nodes && self.work.backends != *backends
    }

    /// It is worked on with this version of the credentials.
    pub(super) fn start_work(&mut self, credentials: u64) {
        self.observed.credentials = credentials;
        self.work.failure_kind = FailureKind::Transient;
    }

    /// Whether it was refused, and another version of the credentials may do. It says so once for each.
    pub(super) fn may_be_allowed(&mut self, credentials: u64) -> bool {
        let refused = self.work.failure_kind == FailureKind::Denied;
        refused && std::mem::replace(&mut self.observed.credentials, credentials) != credentials
    }

    /// Whether a failure is to be shown: where a person has to do something, it is once.
    pub(super) fn shows(&mut self, message: &str, failure_kind: FailureKind) -> bool {
        self.work.failure_kind = failure_kind;
        let known = self.work.shown.as_deref() == Some(message);
        self.work.shown = Some(message.to_owned());
        !(failure_kind.needs_a_person() && known)
    }

    fn uid_of(&self, service: &Service) -> bool {
        service.metadata.uid.as_deref().unwrap_or_default() == self.uid
    }
}

/// Whether one version of a Service is newer than another.
fn is_newer(one: &Service, other: &Service) -> bool {
    let version = |it: &Service| it.resource_version().unwrap_or_default();
    version::is_newer(&version(one), &version(other))
}

#[cfg(test)]
mod tests;
