//! Answers about one Service: how its work goes on after each, and the status that is still to be written.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use super::ServiceState;
use super::stage::{ListWord, NextCall, Question, SyncStage, SyncState};
use super::steps::Cause;
use super::unwritten::{AnswerMeaning, Unwritten};
use super::work::LastCall;
use crate::service::desired::compared_fields;
use crate::service::error::FailureKind;
use crate::service::long_pending::LongPending;

impl ServiceState {
    /// Whether the work that begins is still to be recorded. It is once for each desired load balancer.
    pub(crate) fn announces(&mut self, now: Instant) -> bool {
        let question = self.work.state.question_mut().filter(|it| it.cause == Cause::Service);
        question.is_some_and(|it| it.announced.replace(now).is_none())
    }

    /// How long the cloud is still busy deleting. Afterwards it is to be asked; `None` says so.
    pub(crate) fn deleting(&self, now: Instant) -> Option<Duration> {
        match self.work.state {
            SyncState::Deleting { until: Some(until), .. } if until > now => Some(until - now),
            _ => None,
        }
    }

    /// When the cloud is to be asked again that is busy deleting, as the last answer said, written or not.
    pub(crate) fn deleting_until(&self) -> Option<Instant> {
        match (&self.work.unwritten, &self.work.state) {
            (Some(Unwritten { then: AnswerMeaning::Deleting(until), .. }), _) => Some(*until),
            (_, SyncState::Deleting { until, .. }) => *until,
            _ => None,
        }
    }

    /// Whether the deletion of its load balancer has begun.
    pub(crate) fn is_deleting(&self) -> bool {
        self.work.state.stage() == SyncStage::Deleting
    }

    /// Begins or goes on to delete what was desired. Returns whether it begins.
    pub(crate) fn begin_deletion(&mut self, unwanted: &LoadBalancer, now: Instant) -> bool {
        self.work.last_call = LastCall::Delete;
        if let SyncState::Deleting { until, .. } = &mut self.work.state {
            *until = None;
            return false;
        }
        // Never asked for by this process: a process before may have begun it.
        match self.desired() {
            Some(_) => self.count_changes(1, now),
            None => self.work.counted.requested.add_deletion_found(now),
        }
        self.work.waiting = None;
        self.work.shown = None;
        self.observed.pending = None;
        self.observed.pass = None;
        if let Some(unwritten) = &mut self.work.unwritten {
            unwritten.keep_only_memo();
        }
        let desired = compared_fields(unwanted.clone());
        self.work.become_of(SyncStage::Deleting, |question| {
            let question = match question {
                Some(question) => Question { desired, announced: None, ..question },
                None => Question::new(Cause::Service, desired, Arc::default()),
            };
            SyncState::Deleting { question, until: None, foreign_memo: None }
        });
        true
    }

    /// The deletion has met the memo of another Service, whose load balancer stays.
    pub(crate) fn meets_foreign_memo(&mut self, memo: &str) {
        if let SyncState::Deleting { foreign_memo, .. } = &mut self.work.state {
            *foreign_memo = Some(memo.to_owned());
        }
    }

    /// The memo of another Service that the deletion has met.
    pub(crate) fn foreign_memo(&self) -> Option<String> {
        match &self.work.state {
            SyncState::Deleting { foreign_memo, .. } => foreign_memo.clone(),
            _ => None,
        }
    }

    /// The load balancer is gone. The Service may still be there, and then as we left it.
    pub(crate) fn end_deletion(&mut self, written: Option<&Arc<Service>>) {
        self.work.become_of(SyncStage::Gone, |_| SyncState::Gone);
        self.work.memo = None;
        self.work.current.clear();
        self.work.unwritten = None;
        self.observed.pending = None;
        if let Some(written) = written {
            self.wrote(written);
        }
    }

    /// An answer is on the Service, `written` if that took a write. Returns why the cloud was asked if it is new that
    /// the load balancer is as desired.
    ///
    /// `compared` and `desired_now` are what the Service desires before and after: what we write ourselves is no
    /// change.
    pub(crate) fn end(
        &mut self,
        written: &Arc<Service>,
        compared: Option<&LoadBalancer>,
        desired_now: Option<LoadBalancer>,
    ) -> Option<Cause> {
        let unwritten = self.work.unwritten.take()?;
        if let Some(question) = self.work.state.question_mut()
            && Some(&question.desired) == compared
            && let Some(desired_now) = desired_now
        {
            question.desired = desired_now;
        }
        self.wrote(written);
        self.follow(unwritten.then);
        let cause = self.work.state.question().map(|it| it.cause);
        cause.filter(|_| unwritten.then == AnswerMeaning::Ready)
    }

    /// The provider has answered, and asks to keep this; `found` is the memo that the Service has. Returns what is to be
    /// written.
    pub(crate) fn keep(&mut self, status: LoadBalancerStatus, found: Option<&str>, then: AnswerMeaning) -> Unwritten {
        self.work.memo.clone_from(&status.memo);
        if status.memo.as_deref() != found {
            self.work.new_memo.clone_from(&status.memo);
        }
        let (backends, revision) = match self.work.state.question() {
            Some(it) => (it.backends.clone(), it.asked_revision.clone().or_else(|| it.last_evidence.clone())),
            None => (Arc::default(), None),
        };
        let unwritten = Unwritten { backends, revision, ..Unwritten::new(status, found, then) };
        self.work.unwritten.insert(unwritten).clone()
    }

    /// The memo on the Service is another than ours: the cloud is asked with it.
    pub(crate) fn adopt_memo(&mut self, memo: &str) {
        self.work.memo = Some(memo.to_owned());
        if self.work.state.stage() == SyncStage::Settled {
            self.work.go_on(SyncStage::Ensuring, SyncState::Ensuring);
        }
    }

    /// Keeps of what is still to be written only the memo, if the Service wants something else by now.
    pub(crate) fn drop_outdated_answer(&mut self, desired: Option<&LoadBalancer>) {
        let asked = self.work.state.question().map(|it| &it.desired);
        if let Some(unwritten) = self.work.unwritten.as_mut().filter(|it| !it.answers(asked, desired)) {
            unwritten.keep_only_memo();
        }
    }

    /// The answer is on the Service, and its meaning holds.
    pub(crate) fn follow(&mut self, then: AnswerMeaning) {
        match then {
            AnswerMeaning::Ready => self.settle(),
            AnswerMeaning::Pending(until) => {
                self.work.go_on(SyncStage::Pending, |question| SyncState::Pending { question, until });
            }
            AnswerMeaning::Deleting(at) => {
                if let SyncState::Deleting { until, .. } = &mut self.work.state {
                    *until = Some(at);
                }
            }
            AnswerMeaning::Restored | AnswerMeaning::MemoOnly => {}
        }
    }

    /// There is nothing left to do for the present spec.
    pub(crate) fn settle(&mut self) {
        self.work.go_on(SyncStage::Settled, |mut question| {
            let evidence = question.asked_revision.take().or(question.last_evidence.take());
            let question = Question { next_call: NextCall::GoesOn, listed: ListWord::Open, ..question };
            SyncState::Settled { question, evidence, resync: None }
        });
        self.work.waiting = None;
        self.work.shown = None;
        self.observed.pending = None;
    }

    /// The cloud is busy, and says with what. Returns for how long it has been busy with that.
    pub(crate) fn wait(&mut self, because: &str, now: Instant) -> Duration {
        self.observed.pending.get_or_insert_with(|| LongPending::new(now)).says(because, now)
    }

    /// It is worked on with this version of the credentials.
    pub(crate) fn start_work(&mut self, credentials: u64) {
        self.observed.credentials = credentials;
        self.work.failure_kind = FailureKind::Transient;
    }

    /// Whether it was refused, and another version of the credentials may do. It says so once for each.
    pub(crate) fn may_be_allowed(&mut self, credentials: u64) -> bool {
        let refused = self.work.failure_kind == FailureKind::Denied;
        refused && std::mem::replace(&mut self.observed.credentials, credentials) != credentials
    }

    /// Whether a failure is to be shown: where a person has to do something, it is once.
    pub(crate) fn shows(&mut self, message: &str, failure_kind: FailureKind) -> bool {
        self.work.failure_kind = failure_kind;
        let known = self.work.shown.as_deref() == Some(message);
        self.work.shown = Some(message.to_owned());
        !(failure_kind.needs_a_person() && known)
    }
}
