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
    /// have put right what the revision stands for, and whoever changes it the same way once more must not be believed: the
    /// first revision that is known at all neither.
    fn is_accepted(&mut self, listed: &str) -> bool {
        let work = &mut self.work;
        if work.revision.as_deref() == Some(listed) {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::service::desired::{compared_fields, desired};
    use crate::service::state::{Counted, NextStep};
    use crate::service::testing::{SIZE, cluster, service, with_load_balancer};

    const SECOND: Duration = Duration::from_secs(1);

    fn wanted(size: &str) -> LoadBalancer {
        let service = service(json!({ "metadata": { "annotations": { SIZE: size } } }));
        compared_fields(desired(&service, &cluster()).unwrap())
    }

    fn state(now: Instant) -> ServiceState {
        ServiceState::new(&service(with_load_balancer()), &Counted::default(), now)
    }

    /// One that is asked for at `now`, with what a list shows then, and is as desired.
    fn ask(state: &mut ServiceState, size: &str, listed: Option<&str>, now: Instant) {
        state.observed.resync = Some(Resync::AskAt(now));
        assert!(state.next_step(&wanted(size), &Arc::default(), now).is_continue());
        state.answered(listed.map(str::to_owned), now);
        state.follow(Outcome::Ready);
    }

    #[test]
    fn case_149_a_strange_revision_is_accepted_the_third_time() {
        let now = Instant::now();
        let mut state = state(now);
        ask(&mut state, "small", Some("1"), now);
        assert_eq!(state.work.revision, None, "the call has changed what the list showed");
        let mut asked = |size: &str, listed: &str| {
            ask(&mut state, size, Some(listed), now);
            state.work.revision.clone().unwrap_or_default()
        };
        assert_eq!([(); 3].map(|()| asked("small", "1")), ["", "", "1"], "each call may have changed it too");
        assert_eq!([asked("small", "2"), asked("small", "1"), asked("small", "2")], ["1", "1", "1"]);
        assert_eq!([asked("small", "2"), asked("small", "3"), asked("small", "2")], ["1", "1", "1"]);
        assert_eq!([asked("small", "2"), asked("small", "2")], ["1", "2"]);
        assert_eq!(asked("large", "2"), "", "something else was asked for");
        assert_eq!([(); 3].map(|()| asked("large", "4")), ["", "", "4"]);
    }

    #[test]
    fn case_150_what_was_there_before_is_settled_once() {
        let now = Instant::now();
        let (mut before, nodes) = (state(now), Arc::default());
        assert!(before.settle_before(&wanted("small"), &nodes, "7".to_owned(), now));
        assert!(before.is_at_ease());
        assert_eq!(before.work.revision.as_deref(), Some("7"));
        assert!(!before.settle_before(&wanted("small"), &nodes, "8".to_owned(), now), "it is known by now");
        assert_eq!(before.next_step(&wanted("small"), &nodes, now).break_value(), Some(NextStep::Done));
        assert!(before.next_step(&wanted("large"), &nodes, now).is_continue(), "a change is asked for as ever");
    }

    #[test]
    fn who_waits_is_asked_about_before_its_time_once_it_is_at_rest() {
        let now = Instant::now();
        let (mut state, nodes) = (state(now), Arc::default());
        let small = wanted("small");
        assert!(state.next_step(&small, &nodes, now).is_continue());
        assert!(state.waiting(now).is_none());
        state.answered(None, now);
        state.follow(Outcome::Pending(now + 60 * SECOND));
        assert_eq!(
            state.waiting(now).map(|it| (it.memo.to_owned(), it.due)),
            Some(("lb-1".to_owned(), now + 60 * SECOND))
        );
        let later = now + SECOND;
        assert_eq!(state.next_step(&small, &nodes, later).break_value(), Some(NextStep::After(59 * SECOND)));
        state.observed.is_at_rest = true;
        assert!(state.next_step(&small, &nodes, later).is_continue());
        // The provider says otherwise: from then on it is not believed.
        state.answered(None, later);
        state.is_busy(false);
        state.follow(Outcome::Pending(later + 60 * SECOND));
        assert!(state.waiting(later).is_some_and(|it| it.is_doubtful));
        state.work.creates = true;
        assert!(state.waiting(later).is_none(), "it is about to be created");
    }

    #[test]
    fn case_148_what_is_restored_is_what_was_written() {
        let now = Instant::now();
        let mut state = state(now);
        assert!(state.settle_before(&wanted("small"), &Arc::default(), "7".to_owned(), now));
        assert!(!state.restore());
        state.observed.resync = Some(Resync::Restore);
        assert!(state.restore());
        let unwritten = state.work.unwritten.clone().unwrap();
        assert_eq!((unwritten.status.ingress, unwritten.then), (state.work.current.clone(), Outcome::Restored));
        assert_eq!(unwritten.status.memo.as_deref(), Some("lb-1"));
        assert!(!state.restore(), "once");
    }
}
