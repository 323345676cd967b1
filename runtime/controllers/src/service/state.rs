//! What was asked of the cloud for each Service, and how far that is. No client, no log; times are arguments.

mod answers;
mod counted;
mod listed;
mod stage;
mod steps;
mod unwritten;
mod watched;
mod work;

use std::collections::HashMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cloud_provider::LoadBalancer;
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use tokio::time::Instant;

use crate::service::backends::{BackendNode, other_names};
use crate::service::desired::asked;

pub(super) use self::counted::Counted;
use self::stage::{ListWord, Question, SyncStage, SyncState};
pub(super) use self::stage::{NextCall, RefusedMove};
pub(super) use self::steps::{AskedNodes, Cause, EventEffect, NextStep, Resync};
pub(super) use self::unwritten::{AnswerMeaning, Unwritten};
use self::work::{Observed, Work};

/// What is remembered of Services, by key.
#[derive(Default)]
pub(super) struct ServiceStates {
    entries: HashMap<String, ServiceState>,
    counted: Counted,
    /// When something was forgotten last.
    forgotten: Option<Instant>,
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
        Self { entries: HashMap::new(), counted, forgotten: None }
    }

    /// What is remembered under a key.
    pub(super) fn get(&mut self, key: &str) -> Option<&mut ServiceState> {
        self.entries.get_mut(key)
    }

    /// What is remembered of this Service. Nothing may be remembered of an earlier one with its key.
    pub(super) fn of(&mut self, key: &str, service: &Service, now: Instant) -> &mut ServiceState {
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        if self.entries.get(key).is_some_and(|it| it.uid != uid) {
            self.forget(key, now);
        }
        let forgotten = self.forgotten;
        self.entries.entry(key.to_owned()).or_insert_with(|| {
            let mut state = ServiceState::new(service, &self.counted, now);
            state.work.forgotten = forgotten;
            state
        })
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
            let is_pending =
                matches!(state.work.state, SyncState::Pending { .. } | SyncState::Deleting { until: Some(_), .. });
            if let Some(message) = wait.message_due(now).filter(|_| is_pending) {
                is_announced.push((state.observed.about.clone(), message));
            }
        }
        (is_announced, longest)
    }

    /// As [`ServiceStates::iter`], for what anybody with the lock may write.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut ServiceState)> {
        self.entries.iter_mut().map(|(key, state)| (key.as_str(), state))
    }

    /// All that is remembered.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &ServiceState)> {
        self.entries.iter().map(|(key, state)| (key.as_str(), state))
    }

    pub(super) fn forget(&mut self, key: &str, now: Instant) {
        if self.entries.remove(key).is_some() {
            self.forgotten = Some(now);
        }
    }
}

impl ServiceState {
    fn new(service: &Service, counted: &Counted, now: Instant) -> Self {
        let uid = service.metadata.uid.clone().unwrap_or_default();
        Self { uid, observed: Observed::new(service), work: Work::new(service, counted, now) }
    }

    /// The load balancer that was worked on last, without what we write ourselves.
    pub(super) fn desired(&self) -> Option<&LoadBalancer> {
        self.work.state.question().map(|it| &it.desired)
    }

    /// The nodes for which it was worked on.
    pub(super) fn backends(&self) -> &[BackendNode] {
        self.work.state.question().map_or(&[], |it| &it.backends)
    }

    /// The move of its state that was refused since this was asked last.
    pub(super) fn take_refused(&mut self) -> Option<RefusedMove> {
        self.work.refused.take()
    }

    /// Whether a call may have given it a load balancer.
    pub(super) fn may_exist(&self) -> bool {
        !matches!(self.work.state, SyncState::New(_) | SyncState::Gone)
    }

    /// The next step for this desired load balancer and these backends: how the work goes on, or why the cloud is asked.
    /// A question to the cloud is remembered as asked.
    pub(super) fn next_step(
        &mut self,
        desired: &LoadBalancer,
        backends: &Arc<[BackendNode]>,
        now: Instant,
    ) -> ControlFlow<NextStep, (Cause, AskedNodes)> {
        let others = *self.backends() != **backends;
        let nodes = if others { AskedNodes::Others } else { AskedNodes::Same };
        if self.desired() != Some(desired) {
            if let Err(pause) = self.work.burst.try_take(now) {
                return Break(NextStep::After(pause));
            }
            let nodes = if self.desired().is_none() { AskedNodes::Others } else { nodes };
            self.work.shown = None;
            self.observed.pending = None;
            return self.ask(Cause::Service, desired, backends, nodes, now);
        }
        let asks = matches!(self.work.state.stage(), SyncStage::New | SyncStage::Ensuring | SyncStage::Settled);
        if asks
            && others
            && let Err(pause) = self.work.backend_burst.try_take(now)
        {
            return Break(NextStep::After(pause));
        }
        match &self.work.state {
            SyncState::Settled { .. } if others => self.ask(Cause::Backends, desired, backends, nodes, now),
            SyncState::Settled { resync: Some(Resync::AskAt(at)), .. } if *at <= now => {
                self.ask(Cause::Resync, desired, backends, AskedNodes::Same, now)
            }
            SyncState::Settled { .. } => Break(NextStep::Done),
            SyncState::Pending { question, until } if *until > now && question.listed != ListWord::AtRest => {
                Break(NextStep::After(*until - now))
            }
            SyncState::Pending { question, .. } => {
                let cause = question.cause;
                self.ask(cause, desired, backends, AskedNodes::Same, now)
            }
            SyncState::New(_) | SyncState::Ensuring(_) | SyncState::Deleting { .. } | SyncState::Gone => {
                self.ask(Cause::Service, desired, backends, nodes, now)
            }
        }
    }

    fn ask(
        &mut self,
        cause: Cause,
        desired: &LoadBalancer,
        backends: &Arc<[BackendNode]>,
        nodes: AskedNodes,
        now: Instant,
    ) -> ControlFlow<NextStep, (Cause, AskedNodes)> {
        self.count(desired, backends, now);
        self.work.asked = Some(now);
        let stage = self.work.state.stage();
        let ask = |before: Question| {
            let is_other = before.desired != *desired;
            let mut question = Question { cause, desired: desired.clone(), backends: backends.clone(), ..before };
            if is_other {
                question.announced = None;
            }
            if is_other || nodes == AskedNodes::Others {
                question.last_evidence = None;
                question.listed = ListWord::Open;
            } else if stage != SyncStage::Pending && question.listed == ListWord::AtRest {
                // The list was believed, and the call failed.
                question.listed = ListWord::Open;
            }
            question
        };
        let question = |before: Option<Question>| match before {
            Some(before) => ask(before),
            None => Question::new(cause, desired.clone(), backends.clone()),
        };
        match stage {
            SyncStage::New | SyncStage::Gone => {
                self.work.become_of(SyncStage::New, |before| SyncState::New(Some(question(before))));
            }
            SyncStage::Ensuring | SyncStage::Pending | SyncStage::Settled | SyncStage::Deleting => {
                self.work.become_of(SyncStage::Ensuring, |before| SyncState::Ensuring(question(before)));
            }
        }
        Continue((cause, nodes))
    }

    /// A call begins that may give it a load balancer. Returns whether it is the first one with its memo.
    pub(super) fn begin_call(&mut self, memo: Option<&str>) -> bool {
        if matches!(self.work.state, SyncState::New(Some(_))) {
            self.work.go_on(SyncStage::Ensuring, SyncState::Ensuring);
        }
        memo.is_some() && self.work.new_memo.take().as_deref() == memo
    }

    /// Whether no call that may give it a load balancer has begun with this memo.
    pub(super) fn is_memo_new(&self, memo: Option<&str>) -> bool {
        memo.is_some() && self.work.new_memo.as_deref() == memo
    }

    /// Counts what is about to be asked of the cloud for Kubernetes' sake. What the provider said itself is no change: the
    /// annotations that it writes, the addresses of machines, and which instances exist.
    fn count(&mut self, desired: &LoadBalancer, backends: &[BackendNode], now: Instant) {
        let node_changes = self.work.counted.node_changes.load(Ordering::Relaxed);
        // Kubernetes has changed so many nodes, and the Service has so many others: what only the provider says of machines
        // is no change.
        let changed_nodes = node_changes.saturating_sub(self.work.counted_nodes);
        let changed_nodes = changed_nodes.min(other_names(self.backends(), backends) as u64) as u32;
        let provider = self.work.counted.provider.now();
        let written = &provider.writes_annotations;
        match self.desired() {
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
}

#[cfg(test)]
mod tests;
