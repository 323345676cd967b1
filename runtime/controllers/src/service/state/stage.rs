//! How far a Service is, and where it may go from there. No client, no clock, no log.

use std::mem;
use std::sync::Arc;

use cloud_provider::LoadBalancer;
use tokio::time::Instant;

use super::steps::{Cause, Resync};
use crate::service::backends::BackendNode;

/// How far a Service is. Each case has what only it needs.
#[derive(Debug)]
pub(crate) enum SyncState {
    /// No call was made that may have given it a load balancer. The question is there once it is about to be asked.
    New(Option<Question>),
    /// The cloud is being asked, or its last answer was a failure.
    Ensuring(Question),
    /// The cloud is busy with it until about then.
    Pending { question: Question, until: Instant },
    /// It is as desired, and this is still to be done about it.
    Settled { question: Question, resync: Option<Resync> },
    /// Its load balancer has to go; the cloud is busy with that until about then.
    Deleting {
        question: Question,
        until: Option<Instant>,
        /// The memo of another Service that the deletion met: that one's load balancer stays.
        foreign_memo: Option<String>,
    },
    /// It has nothing of ours any more.
    Gone,
}

/// The cases of [`SyncState`], without what they have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SyncStage {
    New,
    Ensuring,
    Pending,
    Settled,
    Deleting,
    Gone,
}

/// The question that the cloud is asked, and the memory of its answers.
#[derive(Debug)]
pub(crate) struct Question {
    /// The load balancer, without what we write ourselves.
    pub(crate) desired: LoadBalancer,
    /// The nodes behind it.
    pub(crate) backends: Arc<[BackendNode]>,
    /// Why it is asked.
    pub(super) cause: Cause,
    /// When an event said that the present work began.
    pub(super) announced: Option<Instant>,
    /// The evidence of the last `ready`: the revision that a list showed when the cloud was asked for what it has now.
    pub(super) revision: Option<String>,
    /// The same of the last call, if that found it as the list has shown it.
    pub(super) asked_revision: Option<String>,
    pub(super) next_call: NextCall,
    pub(super) listed: ListWord,
}

/// The purpose of the next call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NextCall {
    /// To create it, as the memo announces.
    Creates,
    /// To look, or to change what is there.
    GoesOn,
}

/// The memory of lists that showed a load balancer that the cloud is busy with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ListWord {
    /// Nothing yet, since the last call.
    Open,
    /// The cloud is done with it.
    AtRest,
    /// It was called at rest, and the call that followed said otherwise: lists are not believed about it.
    Doubtful,
}

impl SyncStage {
    #[cfg(test)]
    const ALL: [Self; 6] = [Self::New, Self::Ensuring, Self::Pending, Self::Settled, Self::Deleting, Self::Gone];

    /// Whether this may become that. Any may be looked at again and stay as it is.
    pub(super) fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (from, to) if from == to => true,
            // Another controller was named for it, or its deletion has ended.
            (_, Self::Gone) => true,
            // It is deleted, or wants no load balancer any more; what is gone may have got our marks again.
            (_, Self::Deleting) => true,
            // A call begins. What is gone is new first.
            (Self::Gone, Self::Ensuring) => false,
            (_, Self::Ensuring) => true,
            // Wanted again.
            (Self::Gone, Self::New) => true,
            // What a call may have made is never forgotten but by a deletion.
            (_, Self::New) => false,
            // An answer.
            (Self::Ensuring, Self::Pending | Self::Settled) => true,
            // It was as desired before this process began.
            (Self::New, Self::Settled) => true,
            // Without a call there is no answer.
            (_, Self::Pending | Self::Settled) => false,
        }
    }
}

impl SyncState {
    pub(crate) fn stage(&self) -> SyncStage {
        match self {
            Self::New(_) => SyncStage::New,
            Self::Ensuring(_) => SyncStage::Ensuring,
            Self::Pending { .. } => SyncStage::Pending,
            Self::Settled { .. } => SyncStage::Settled,
            Self::Deleting { .. } => SyncStage::Deleting,
            Self::Gone => SyncStage::Gone,
        }
    }

    pub(crate) fn question(&self) -> Option<&Question> {
        match self {
            Self::New(question) => question.as_ref(),
            Self::Ensuring(question)
            | Self::Pending { question, .. }
            | Self::Settled { question, .. }
            | Self::Deleting { question, .. } => Some(question),
            Self::Gone => None,
        }
    }

    pub(super) fn question_mut(&mut self) -> Option<&mut Question> {
        match self {
            Self::New(question) => question.as_mut(),
            Self::Ensuring(question)
            | Self::Pending { question, .. }
            | Self::Settled { question, .. }
            | Self::Deleting { question, .. } => Some(question),
            Self::Gone => None,
        }
    }

    /// Makes it another one. This is the only way from one case to another.
    pub(super) fn become_of(&mut self, next: impl FnOnce(Option<Question>) -> Self) {
        let stage = self.stage();
        let question = match mem::replace(self, Self::Gone) {
            Self::New(question) => question,
            Self::Ensuring(question)
            | Self::Pending { question, .. }
            | Self::Settled { question, .. }
            | Self::Deleting { question, .. } => Some(question),
            Self::Gone => None,
        };
        let next = next(question);
        debug_assert!(stage.may_become(next.stage()), "{stage:?} must not become {:?}", next.stage());
        *self = next;
    }
}

impl Question {
    pub(super) fn new(cause: Cause, desired: LoadBalancer, backends: Arc<[BackendNode]>) -> Self {
        Self {
            desired,
            backends,
            cause,
            announced: None,
            revision: None,
            asked_revision: None,
            next_call: NextCall::GoesOn,
            listed: ListWord::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SyncStage::{Deleting, Ensuring, Gone, New, Pending, Settled};
    use super::*;

    #[test]
    fn all_moves_from_one_stage_to_another() {
        let table = [
            (New, &[New, Ensuring, Settled, Deleting, Gone][..]),
            (Ensuring, &[Ensuring, Pending, Settled, Deleting, Gone]),
            (Pending, &[Ensuring, Pending, Deleting, Gone]),
            (Settled, &[Ensuring, Settled, Deleting, Gone]),
            (Deleting, &[Ensuring, Deleting, Gone]),
            (Gone, &[New, Deleting, Gone]),
        ];
        assert_eq!(table.map(|(from, _)| from), SyncStage::ALL);
        for (from, allowed) in table {
            let moves: Vec<_> = SyncStage::ALL.into_iter().filter(|to| from.may_become(*to)).collect();
            assert_eq!(moves, allowed, "from {from:?}");
        }
    }

    #[test]
    #[should_panic(expected = "Gone must not become Settled")]
    fn a_move_that_is_not_legal_ends_a_test() {
        let question = Question::new(Cause::Service, LoadBalancer::default(), Arc::default());
        SyncState::Gone.become_of(|_| SyncState::Settled { question, resync: None });
    }
}
