//! What a provider answered, and is still to be written. No client, no log, no clock.

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use tokio::time::Instant;

use super::ServiceState;

/// What the provider answered, until it is on the Service.
#[derive(Clone, Debug)]
pub(in crate::service) struct Unwritten {
    pub(in crate::service) status: LoadBalancerStatus,
    /// The memo that the call had.
    pub(in crate::service) sent_memo: Option<String>,
    /// What it means once it is written.
    pub(in crate::service) then: Outcome,
}

/// What an answer means once it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::service) enum Outcome {
    /// The load balancer is as wished.
    Ready,
    /// Come back then.
    Pending(Instant),
    /// Come back then to delete it.
    Deleting(Instant),
    /// Nothing: only the memo had to be kept.
    MemoOnly,
}

impl ServiceState {
    /// Whether what the provider answered is still about what the Service wishes for: `None` if it wishes for nothing.
    pub(in crate::service) fn is_answered(&self, desired_now: Option<&LoadBalancer>) -> bool {
        match self.unwritten.as_ref().map(|it| it.then) {
            Some(Outcome::Ready | Outcome::Pending(_)) => desired_now.is_some() && self.desired.as_ref() == desired_now,
            Some(Outcome::Deleting(_)) => desired_now.is_none(),
            Some(Outcome::MemoOnly) | None => true,
        }
    }

    /// Of what the provider answered, only the memo is still to be written.
    pub(in crate::service) fn keep_only_memo(&mut self) {
        if let Some(unwritten) = &mut self.unwritten {
            let memo = unwritten.status.memo.take();
            unwritten.status = LoadBalancerStatus { memo, ..LoadBalancerStatus::default() };
            unwritten.then = Outcome::MemoOnly;
        }
    }
}
