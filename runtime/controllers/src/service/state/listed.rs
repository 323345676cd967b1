//! Lists of load balancers, and their meaning for one Service.

use std::sync::Arc;

use cloud_provider::{Freshness, LoadBalancer, LoadBalancerStatus, Progress, Reply, Result};
use tokio::time::Instant;

use super::stage::{ListWord, NextCall, SyncState};
use super::steps::{AskedNodes, Resync};
use super::unwritten::{AnswerMeaning, Unwritten};
use super::work::LastCall;
use super::{Cause, ServiceState};
use crate::freshness::{CallEnded, LOAD_BALANCER_CHANGE, LOAD_BALANCER_CREATION, WriteEnded};
use crate::service::backends::BackendNode;
use crate::service::inventory::drift::Outlined;
use crate::service::inventory::schedule::WaitingService;

impl ServiceState {
    /// The wait of a Service whose own load balancer the cloud is busy with, as long as lists may end it: none about which one was wrong.
    pub(crate) fn waiting(&self) -> Option<WaitingService<'_>> {
        let work = &self.work;
        let SyncState::Pending { question, until } = &work.state else { return None };
        let (Some(memo), LastCall::Ensure(answered)) = (work.memo.as_deref(), work.last_call) else { return None };
        let wrote = work.wrote.unwrap_or(answered);
        let goes_on = self.creates() || work.unwritten.is_some() || question.listed != ListWord::Open;
        Some(WaitingService { memo, answered, wrote, due: *until }).filter(|_| !goes_on)
    }

    /// A list has shown that the cloud is done with it.
    pub(crate) fn rests(&mut self) {
        if let SyncState::Pending { question, .. } = &mut self.work.state {
            question.listed = ListWord::AtRest;
        }
    }

    /// Whether it is as desired, and nothing is still to be written.
    pub(crate) fn is_at_ease(&self) -> bool {
        matches!(self.work.state, SyncState::Settled { .. }) && self.work.unwritten.is_none()
    }

    /// The step that a Service needs although it is as desired.
    pub(crate) fn resync(&self) -> Option<Resync> {
        match self.work.state {
            SyncState::Settled { resync, .. } => resync,
            _ => None,
        }
    }

    /// This is to be done about it, if it is as desired.
    pub(crate) fn set_resync(&mut self, next: Option<Resync>) {
        if let SyncState::Settled { resync, .. } = &mut self.work.state {
            *resync = next;
        }
    }

    /// Whether its creation was announced in the memo, and comes next.
    pub(crate) fn creates(&self) -> bool {
        self.work.state.question().is_some_and(|it| it.next_call == NextCall::Creates)
    }

    /// Whether the next call is the one that an announcement in the memo is for, and none has begun with that memo.
    pub(crate) fn is_announced(&self) -> bool {
        self.creates() && self.work.new_memo.is_some()
    }

    /// Whether an earlier life of this process has left it, and no call of this one has ended.
    pub(crate) fn is_unasked(&self) -> bool {
        self.work.last_call == LastCall::None && self.work.memo.is_some()
    }

    /// How fresh a list must be that answers the next call about it too: it began after the last call ended or, for a creation,
    /// after the last one that wrote. `None`: no list does.
    pub(crate) fn listed_since(&self) -> Option<Freshness> {
        match self.work.last_call {
            LastCall::Ensure(_) if self.creates() => Some(LOAD_BALANCER_CREATION.since(WriteEnded(self.work.wrote))),
            LastCall::Ensure(ended) => Some(LOAD_BALANCER_CHANGE.since(CallEnded(Some(ended)))),
            LastCall::None if self.is_unasked() => Some(LOAD_BALANCER_CHANGE.since(CallEnded(self.work.forgotten))),
            LastCall::None | LastCall::Delete => None,
        }
    }

    /// The evidence that it is as desired, where it is: the revision that its `ready` was seen with.
    pub(crate) fn evidence(&self) -> Option<&str> {
        match &self.work.state {
            SyncState::Settled { evidence, .. } => evidence.as_deref(),
            _ => None,
        }
    }

    /// A list that began then shows it with this outline, if with any. Returns whether that spares it a question, if it is as desired. One that lets
    /// few sources in is asked about anyhow: outlines do not tell who comes in.
    pub(crate) fn is_spared(&mut self, outline: Option<&str>, began: Instant, now: Instant) -> bool {
        let is_open = self.desired().is_none_or(|it| it.source_ranges.is_empty());
        let work = &mut self.work;
        work.outlined = Outlined::after(work.outlined.take(), outline, began, work.wrote);
        is_open && work.outlined.as_ref().zip(work.asked).is_some_and(|(it, asked)| it.spares(asked, now, &self.uid))
    }

    /// A call about it has ended; `listed` is the revision that the newest list showed when it began, and when that list began.
    ///
    /// A revision is believed only if the list has seen all that was written, and the call wrote nothing: what was put right
    /// is not as it was listed, and who changes it the same way once more must not be believed.
    pub(crate) fn answered(&mut self, reply: &Reply<Result<Progress>>, listed: Option<(&str, Instant)>, now: Instant) {
        let work = &mut self.work;
        if reply.wrote {
            work.wrote = Some(now);
        }
        work.last_call = LastCall::Ensure(now);
        let Some(question) = work.state.question_mut() else { return };
        // What failed before it wrote is still to be created.
        if reply.answer.is_ok() || reply.wrote {
            question.next_call = NextCall::GoesOn;
        }
        let is_believed = |began: Instant| work.wrote.is_none_or(|wrote| began > wrote);
        question.asked_revision = listed.filter(|it| is_believed(it.1)).map(|it| it.0.to_owned());
        if matches!(reply.answer, Ok(Progress::NotManaged)) {
            self.settle();
        }
    }

    /// The answer was that the cloud is busy, and that the next call is about to do this.
    pub(crate) fn is_busy(&mut self, next_call: NextCall) {
        let Some(question) = self.work.state.question_mut() else { return };
        question.next_call = next_call;
        if question.listed == ListWord::AtRest {
            question.listed = ListWord::Doubtful;
        }
    }

    /// The load balancer of an earlier life of this process is the one that is desired now, and was there. Says `false` if
    /// something was asked for in this life.
    pub(crate) fn settle_before(
        &mut self,
        desired: &LoadBalancer,
        backends: &Arc<[BackendNode]>,
        revision: String,
        now: Instant,
    ) -> bool {
        let is_new = matches!(self.work.state, SyncState::New(None)) && self.work.unwritten.is_none();
        if is_new {
            // As when it is asked for: what the cloud then has to have changed may be written.
            let _ = self.ask(Cause::Service, desired, backends, AskedNodes::Same, now);
            if let Some(question) = self.work.state.question_mut() {
                question.announced = Some(now);
                question.last_evidence = Some(revision);
            }
            self.work.last_call = LastCall::Ensure(now);
            // No call has compared it.
            self.work.asked = None;
            self.settle();
        }
        is_new
    }

    /// The status is to be written again as it was, if a list has shown that the cloud has it as it was. Returns whether it is.
    pub(crate) fn restore(&mut self) -> bool {
        if self.resync() != Some(Resync::Restore) || !self.is_at_ease() {
            return false;
        }
        self.set_resync(None);
        let (memo, ingress) = (self.work.memo.as_deref(), self.work.current.clone());
        let status = LoadBalancerStatus { memo: memo.map(str::to_owned), ingress, ..LoadBalancerStatus::default() };
        self.work.unwritten = Some(Unwritten::new(status, memo, AnswerMeaning::Restored));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cloud_provider::Error;
    use serde_json::json;

    use super::*;
    use crate::service::desired::{compared_fields, desired};
    use crate::service::state::{Counted, NextStep, ServiceStates};
    use crate::service::testing::{SIZE, cluster, service, with_load_balancer};

    const SECOND: Duration = Duration::from_secs(1);

    fn wanted(size: &str) -> LoadBalancer {
        let service = service(json!({ "metadata": { "annotations": { SIZE: size } } }));
        compared_fields(desired(&service, &cluster()).unwrap())
    }

    fn state(now: Instant) -> ServiceState {
        ServiceState::new(&service(with_load_balancer()), &Counted::default(), now)
    }

    fn reply(wrote: bool) -> Reply<Result<Progress>> {
        Reply { answer: Ok(Progress::Ready(LoadBalancerStatus::default())), events: Vec::new(), wrote }
    }

    /// One that is asked for at `now`, with what a list shows that began at `began`, and is as desired. Returns the revision
    /// that is known then.
    fn ask(state: &mut ServiceState, size: &str, listed: (&str, Instant), wrote: bool, now: Instant) -> String {
        state.set_resync(Some(Resync::AskAt(now)));
        assert!(state.next_step(&wanted(size), &Arc::default(), now).is_continue());
        state.begin_call(None);
        state.answered(&reply(wrote), Some(listed), now);
        state.follow(AnswerMeaning::Ready);
        state.evidence().unwrap_or_default().to_owned()
    }

    #[test]
    fn case_149_a_revision_is_believed_unless_the_call_wrote() {
        let start = Instant::now();
        let (mut state, mut now) = (state(start), start);
        let mut asked = |size: &str, listed: &str, wrote: bool| {
            now += SECOND;
            ask(&mut state, size, (listed, now), wrote, now + SECOND / 2)
        };
        assert_eq!(asked("small", "1", true), "", "the call has changed what the list showed");
        assert_eq!(asked("small", "2", false), "2");
        assert_eq!([(); 5].map(|()| asked("small", "3", true)), ["2"; 5], "whoever changes it again and again");
        assert_eq!(asked("small", "2", false), "2");
        assert_eq!(asked("small", "3", false), "3");
        assert_eq!(asked("large", "3", true), "", "something else was asked for");
        assert_eq!(asked("large", "4", false), "4");
        assert_eq!(asked("small", "4", false), "4", "the cloud has nothing to change for it");
    }

    #[test]
    fn case_149_a_list_from_before_a_write_is_not_believed() {
        let now = Instant::now();
        let mut state = state(now);
        assert_eq!(ask(&mut state, "small", ("1", now), true, now + SECOND), "");
        assert_eq!(ask(&mut state, "small", ("1", now), false, now + 2 * SECOND), "", "it has changed since that list");
        assert_eq!(ask(&mut state, "small", ("1", now + SECOND), false, now + 2 * SECOND), "");
        assert_eq!(ask(&mut state, "small", ("2", now + 2 * SECOND), false, now + 3 * SECOND), "2");
    }

    #[test]
    fn outline_spares_one_that_was_asked_about_since() {
        let (start, hour) = (Instant::now(), Duration::from_hours(1));
        let (mut state, mut before) = (state(start), state(start));
        assert!(!state.is_spared(Some("o"), start, start), "nobody has asked about it");
        ask(&mut state, "small", ("1", start), false, start + hour);
        assert!(state.is_spared(Some("o"), start + hour, start + hour));
        assert!(!state.is_spared(Some("p"), start + 2 * hour, start + 2 * hour), "it has changed in the cloud");
        ask(&mut state, "small", ("1", start), false, start + 3 * hour);
        assert!(state.is_spared(Some("p"), start + 4 * hour, start + 4 * hour));
        assert!(!state.is_spared(Some("p"), start + 18 * hour, start + 18 * hour), "it is compared now and then");
        ask(&mut state, "small", ("1", start), true, start + 19 * hour);
        assert!(!state.is_spared(Some("p"), start + 20 * hour, start + 20 * hour), "it was put right since that list");
        ask(&mut state, "small", ("1", start), false, start + 21 * hour);
        assert!(state.is_spared(Some("p"), start + 22 * hour, start + 22 * hour));
        assert!(!state.is_spared(None, start + 22 * hour, start + 22 * hour));
        let limited = LoadBalancer { source_ranges: vec!["192.0.2.0/24".to_owned()], ..wanted("small") };
        state.work.state.question_mut().unwrap().desired = limited;
        assert!(!state.is_spared(Some("p"), start + 22 * hour, start + 22 * hour), "few sources may come in");
        assert!(before.settle_before(&wanted("small"), &Arc::default(), "7".to_owned(), start + hour));
        assert!(!before.is_spared(Some("o"), start, start + hour), "no call of this process has compared it");
        assert!(!before.is_spared(Some("o"), start, start + 2 * hour));
    }

    #[test]
    fn a_creation_that_did_not_leave_is_still_to_come() {
        let now = Instant::now();
        let failed = |wrote| Reply {
            answer: Err(Error::RetryAfter { after: SECOND, reason: "a pause".to_owned() }),
            ..reply(wrote)
        };
        for (reply, creates) in [(failed(false), true), (failed(true), false), (reply(false), false)] {
            let mut state = state(now);
            assert!(state.next_step(&wanted("small"), &Arc::default(), now).is_continue());
            state.begin_call(None);
            state.is_busy(NextCall::Creates);
            state.answered(&reply, None, now);
            assert_eq!(state.creates(), creates, "{reply:?}");
        }
    }

    #[test]
    fn a_list_answers_the_first_call_about_what_was_left() {
        let now = Instant::now();
        let mut left = state(now);
        assert!(left.is_unasked());
        let since = left.listed_since().unwrap();
        assert!(since.allows(now, now + 2 * SECOND) && !since.allows(now, now + 4 * SECOND));
        assert!(left.next_step(&wanted("small"), &Arc::default(), now).is_continue());
        left.begin_call(None);
        assert!(left.is_unasked(), "as long as the call is under way");
        left.answered(&reply(false), None, now + SECOND);
        assert!(!left.is_unasked());
        assert!(!left.listed_since().unwrap().allows(now, now + 2 * SECOND), "that list is older than the call");
        let new = ServiceState::new(&service(json!({})), &Counted::default(), now);
        assert!(!new.is_unasked() && new.listed_since().is_none());
    }

    #[test]
    fn a_list_from_before_a_deletion_answers_nothing() {
        let now = Instant::now();
        for answered in [false, true] {
            let mut left = state(now);
            if answered {
                assert!(left.next_step(&wanted("small"), &Arc::default(), now).is_continue());
                left.begin_call(None);
                left.answered(&reply(false), None, now);
            }
            assert!(left.listed_since().unwrap().allows(now + SECOND, now + 2 * SECOND));
            left.begin_deletion(&wanted("small"), now + 2 * SECOND);
            assert_eq!(left.listed_since(), None, "a list may show what is deleted by now");
            left.answered(&reply(false), None, now + 4 * SECOND);
            assert!(left.listed_since().unwrap().allows(now + 5 * SECOND, now + 6 * SECOND));
        }
    }

    #[test]
    fn a_list_from_before_a_service_was_forgotten_answers_nothing() {
        let now = Instant::now();
        let (mut states, left) = (ServiceStates::default(), service(with_load_balancer()));
        let first = states.of("default/s1", &left, now).listed_since().unwrap();
        assert!(first.allows(now - SECOND, now), "nothing of this process was before");
        states.forget("default/s1", now + 2 * SECOND);
        let again = states.of("default/s1", &left, now + 3 * SECOND);
        assert!(again.is_unasked());
        let since = again.listed_since().unwrap();
        assert!(!since.allows(now + SECOND, now + 3 * SECOND), "calls about it may have ended since");
        assert!(since.allows(now + 3 * SECOND, now + 3 * SECOND));
    }

    #[test]
    fn case_150_a_load_balancer_there_before_is_settled_once() {
        let now = Instant::now();
        let (mut before, nodes) = (state(now), Arc::default());
        assert!(before.settle_before(&wanted("small"), &nodes, "7".to_owned(), now));
        assert!(before.is_at_ease());
        assert_eq!(before.evidence(), Some("7"));
        assert!(!before.settle_before(&wanted("small"), &nodes, "8".to_owned(), now), "it is known by now");
        assert_eq!(before.next_step(&wanted("small"), &nodes, now).break_value(), Some(NextStep::Done));
        assert!(before.next_step(&wanted("large"), &nodes, now).is_continue(), "a change is asked for as ever");
    }

    #[test]
    fn a_waiting_service_is_asked_about_once_it_rests() {
        let now = Instant::now();
        let (mut state, nodes) = (state(now), Arc::default());
        let small = wanted("small");
        assert!(state.next_step(&small, &nodes, now).is_continue());
        state.begin_call(None);
        assert!(state.waiting().is_none());
        state.answered(&reply(false), None, now);
        state.follow(AnswerMeaning::Pending(now + 60 * SECOND));
        assert_eq!(
            state.waiting().map(|it| (it.memo.to_owned(), it.due)),
            Some(("lb-1".to_owned(), now + 60 * SECOND))
        );
        state.is_busy(NextCall::Creates);
        assert!(state.waiting().is_none(), "it is about to be created");
        state.is_busy(NextCall::GoesOn);
        let later = now + SECOND;
        assert_eq!(state.next_step(&small, &nodes, later).break_value(), Some(NextStep::After(59 * SECOND)));
        state.rests();
        assert!(state.next_step(&small, &nodes, later).is_continue());
        // The provider says otherwise: from then on it is not believed.
        state.answered(&reply(false), None, later);
        state.is_busy(NextCall::GoesOn);
        state.follow(AnswerMeaning::Pending(later + 60 * SECOND));
        assert!(state.waiting().is_none(), "a list was wrong about it");
    }

    #[test]
    fn case_148_a_restored_status_is_the_written_one() {
        let now = Instant::now();
        let mut state = state(now);
        assert!(state.settle_before(&wanted("small"), &Arc::default(), "7".to_owned(), now));
        assert!(!state.restore());
        state.set_resync(Some(Resync::Restore));
        assert!(state.restore());
        let unwritten = state.work.unwritten.clone().unwrap();
        assert_eq!((unwritten.status.ingress, unwritten.then), (state.work.current.clone(), AnswerMeaning::Restored));
        assert_eq!(unwritten.status.memo.as_deref(), Some("lb-1"));
        assert!(!state.restore(), "once");
    }
}
