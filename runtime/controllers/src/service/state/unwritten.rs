//! What a provider answered, and is still to be written. No client, no log, no clock.

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use tokio::time::Instant;

use super::Entry;

/// What the provider answered, until it is on the Service.
#[derive(Clone, Debug)]
pub(in crate::service) struct Unwritten {
    pub(in crate::service) standing: LoadBalancerStatus,
    /// The memo that the call had.
    pub(in crate::service) carried: Option<String>,
    /// What it means once it is written.
    pub(in crate::service) then: Then,
}

/// What an answer means once it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::service) enum Then {
    /// The load balancer is as wished.
    Served,
    /// Come back then.
    Pending(Instant),
    /// Come back then to delete it.
    Deleting(Instant),
    /// Nothing: only the memo had to be kept.
    Restored,
}

impl Entry {
    /// Whether what the provider answered is still about what the Service wishes for: `None` if it wishes for nothing.
    pub(in crate::service) fn is_answered(&self, wishes: Option<&LoadBalancer>) -> bool {
        match self.unwritten.as_ref().map(|it| it.then) {
            Some(Then::Served | Then::Pending(_)) => wishes.is_some() && self.wish.as_ref() == wishes,
            Some(Then::Deleting(_)) => wishes.is_none(),
            Some(Then::Restored) | None => true,
        }
    }

    /// Of what the provider answered, only the memo is still to be written.
    pub(in crate::service) fn keep_only_memo(&mut self) {
        if let Some(unwritten) = &mut self.unwritten {
            let memo = unwritten.standing.memo.take();
            unwritten.standing = LoadBalancerStatus { memo, ..LoadBalancerStatus::default() };
            unwritten.then = Then::Restored;
        }
    }
}
