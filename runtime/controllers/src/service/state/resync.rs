//! What lists of load balancers mean to one Service.

use std::sync::Arc;

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use tokio::time::Instant;

use super::steps::{Phase, Resync};
use super::unwritten::{Outcome, Unwritten};
use super::{Cause, ServiceState};
use crate::service::backends::Backend;
use crate::service::inventory::schedule::Waiting;

/// After so many calls in a row with one strange revision it is the known one.
const ACCEPTED: u8 = 3;

impl ServiceState {
    /// What it waits for, if the cloud is busy with a load balancer of its own.
    pub(crate) fn waiting(&self, now: Instant) -> Option<Waiting<'_>> {
        let work = &self.work;
        let Phase::Pending(due) = work.phase else { return None };
        let (memo, answered) = (work.memo.as_deref()?, work.answered?);
        let since = self.observed.pending.as_ref().map_or(answered, |it| it.since());
        let is_announced = work.creates || work.unwritten.is_some();
        let waiting = Waiting { memo, answered, due, since: since.min(now), is_doubtful: work.is_doubtful };
        Some(waiting).filter(|_| !is_announced)
    }

    /// Whether it is as desired, and nothing is still to be written.
    pub(crate) fn is_at_ease(&self) -> bool {
        self.work.phase == Phase::Settled && self.work.may_exist && self.work.unwritten.is_none()
    }

    /// Whether the time has come to ask the cloud although it is as desired.
    pub(super) fn is_to_be_asked(&self, now: Instant) -> bool {
        matches!(self.observed.resync, Some(Resync::AskAt(at)) if at <= now)
    }

    /// A call about it has ended; `listed` is the revision that a list showed when it began.
    pub(crate) fn answered(&mut self, listed: Option<String>, now: Instant) {
        self.work.answered = Some(now);
        self.work.creates = false;
        self.work.asked_revision = listed.filter(|it| !self.work.is_changed && self.is_accepted(it));
    }

    /// Whether a revision that a list showed when the cloud was asked is that of what it says is as desired. The call may
    /// have changed it back to the known one, and whoever changes it the same way once more must not be believed.
    fn is_accepted(&mut self, listed: &str) -> bool {
        let work = &mut self.work;
        if work.revision.as_deref().is_none_or(|it| it == listed) {
            work.strange = None;
            return true;
        }
        let times = work.strange.take().filter(|(it, _)| it == listed).map_or(1, |(_, times)| times + 1);
        let is_accepted = times >= ACCEPTED;
        work.strange = (!is_accepted).then(|| (listed.to_owned(), times));
        is_accepted
    }

    /// The answer was that the cloud is busy. `creates`: the next call is about to create it.
    pub(crate) fn is_busy(&mut self, creates: bool) {
        self.work.creates = creates;
        self.work.is_doubtful |= self.work.was_at_rest;
    }

    /// What was asked for in an earlier life of this process is what is desired now, and was there. Says `false` if
    /// something was asked for in this life.
    pub(crate) fn settle_before(
        &mut self,
        desired: &LoadBalancer,
        backends: &Arc<[Backend]>,
        revision: String,
        now: Instant,
    ) -> bool {
        let is_new = self.work.desired.is_none() && self.work.phase == Phase::Open && self.work.unwritten.is_none();
        if is_new {
            // As when it is asked for: what the cloud then has to have changed may be written.
            let _ = self.ask(Cause::Service, desired, backends, false, now);
            self.work.is_announced = true;
            self.work.may_exist = true;
            self.work.revision = Some(revision);
            self.work.answered = Some(now);
            self.settle();
        }
        is_new
    }

    /// Its status is to be written again as it was, if a list has shown that the cloud has it as it was.
    pub(crate) fn restore(&mut self) -> bool {
        let restores = self.observed.resync == Some(Resync::Restore) && self.is_at_ease();
        if restores {
            self.observed.resync = None;
            let (memo, ingress) = (self.work.memo.clone(), self.work.current.clone());
            let status = LoadBalancerStatus { memo: memo.clone(), ingress, annotations: Vec::new() };
            self.work.unwritten = Some(Unwritten { status, sent_memo: memo, then: Outcome::Restored });
        }
        restores
    }
}
