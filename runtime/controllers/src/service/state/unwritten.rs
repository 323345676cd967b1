//! An answer of a provider that is still to be written. No client, no log, no clock.

use std::sync::Arc;

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use tokio::time::Instant;

use crate::service::backends::BackendNode;

/// The answer of the provider, until it is on the Service.
#[derive(Clone, Debug)]
pub(crate) struct Unwritten {
    pub(crate) status: LoadBalancerStatus,
    /// The memo that the call had.
    pub(crate) sent_memo: Option<String>,
    /// Its meaning once it is written.
    pub(crate) then: AnswerMeaning,
    /// The nodes behind the load balancer that was asked for.
    pub(crate) backends: Arc<[BackendNode]>,
    /// The revision that lists showed of it.
    pub(crate) revision: Option<String>,
}

/// The meaning of an answer once it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AnswerMeaning {
    /// The load balancer is as desired.
    Ready,
    /// It was before, and its status said otherwise.
    Restored,
    /// Come back then.
    Pending(Instant),
    /// Come back then to delete it.
    Deleting(Instant),
    /// Nothing: only the memo had to be kept.
    MemoOnly,
}

impl Unwritten {
    /// An answer to a call with the memo `sent_memo`.
    pub(crate) fn new(status: LoadBalancerStatus, sent_memo: Option<&str>, then: AnswerMeaning) -> Self {
        Self { status, sent_memo: sent_memo.map(str::to_owned), then, backends: Arc::default(), revision: None }
    }

    /// Whether it still answers what the Service wants: `asked` is what the cloud was asked for, `desired` what the Service
    /// wants now, `None` if that is no load balancer. Both without what we write ourselves.
    pub(crate) fn answers(&self, asked: Option<&LoadBalancer>, desired: Option<&LoadBalancer>) -> bool {
        match self.then {
            AnswerMeaning::Ready | AnswerMeaning::Restored | AnswerMeaning::Pending(_) => {
                desired.is_some() && asked == desired
            }
            AnswerMeaning::Deleting(_) => desired.is_none(),
            AnswerMeaning::MemoOnly => true,
        }
    }

    /// Of what the provider answered, only the memo is still to be written.
    pub(crate) fn keep_only_memo(&mut self) {
        let memo = self.status.memo.take();
        self.status = LoadBalancerStatus { memo, ..LoadBalancerStatus::default() };
        self.then = AnswerMeaning::MemoOnly;
    }
}
