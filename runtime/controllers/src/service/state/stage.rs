//! How far a Service is, and where it may go from there. No client, no clock, no log.

use std::fmt::{self, Display, Formatter};
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
    /// It is as desired.
    Settled {
        question: Question,
        /// The evidence for that: the revision that a list showed when the cloud was asked for what it has now.
        evidence: Option<String>,
        /// The step that is still to be done about it.
        resync: Option<Resync>,
    },
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

/// A move from one stage to another that is not legal: a fault of ours. It was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RefusedMove {
    pub(super) from: SyncStage,
    pub(super) to: SyncStage,
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
    /// The evidence with which it was settled before, while it is asked again.
    pub(super) last_evidence: Option<String>,
    /// The revision that a list showed when the last call began, if that call found it as the list has shown it.
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

impl Display for SyncStage {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::New => "new",
            Self::Ensuring => "being ensured",
            Self::Pending => "pending",
            Self::Settled => "settled",
            Self::Deleting => "being deleted",
            Self::Gone => "gone",
        })
    }
}

impl Display for RefusedMove {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "a load balancer that is {} cannot become {}, and stays as it is: this is a fault of aerostat; report it with this message",
            self.from, self.to
        )
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

    /// Makes it `next`, which is of the stage `to`. This is the only way from one case to another: where that move is not legal, it stays
    /// as it is.
    pub(super) fn become_of(
        &mut self,
        to: SyncStage,
        next: impl FnOnce(Option<Question>) -> Self,
    ) -> Result<(), RefusedMove> {
        let from = self.stage();
        if !from.may_become(to) {
            return Err(RefusedMove { from, to });
        }
        let question = match mem::replace(self, Self::Gone) {
            Self::New(question) => question,
            Self::Ensuring(question) | Self::Pending { question, .. } | Self::Deleting { question, .. } => {
                Some(question)
            }
            Self::Settled { question, evidence, .. } => Some(Question { last_evidence: evidence, ..question }),
            Self::Gone => None,
        };
        *self = next(question);
        Ok(())
    }
}

impl Question {
    pub(super) fn new(cause: Cause, desired: LoadBalancer, backends: Arc<[BackendNode]>) -> Self {
        Self {
            desired,
            backends,
            cause,
            announced: None,
            last_evidence: None,
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
    fn a_move_that_is_not_legal_is_refused_in_all_pairs() {
        let question = || Question::new(Cause::Service, LoadBalancer::default(), Arc::default());
        let make = |stage| match stage {
            New => SyncState::New(Some(question())),
            Ensuring => SyncState::Ensuring(question()),
            Pending => SyncState::Pending { question: question(), until: Instant::now() },
            Settled => SyncState::Settled { question: question(), evidence: Some("7".to_owned()), resync: None },
            Deleting => SyncState::Deleting { question: question(), until: None, foreign_memo: None },
            Gone => SyncState::Gone,
        };
        for (from, to) in SyncStage::ALL.into_iter().flat_map(|from| SyncStage::ALL.map(|to| (from, to))) {
            let mut state = make(from);
            let moved = state.become_of(to, |_| make(to));
            let expected = if from.may_become(to) { (Ok(()), to) } else { (Err(RefusedMove { from, to }), from) };
            assert_eq!((moved, state.stage()), expected, "from {from:?} to {to:?}");
        }
    }
}
