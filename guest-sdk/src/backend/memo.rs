//! The memo, which the host keeps on the Service between two calls: proof of ownership, and the state of a creation.

use std::time::Duration;

use crate::{Error, LoadBalancer, Result};

/// The pause where the next call waits only for the memo to be kept.
pub(super) const AT_ONCE: Duration = Duration::ZERO;

/// The memo that an earlier call asked to keep.
///
/// A creation is announced before it is sent, so that whatever happens then, the next call knows that there may be a
/// load balancer which the cloud does not list yet. Its name makes the text unique: no two Services share a memo.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Memo {
    /// The load balancer with this id is the Service's.
    Id(String),
    /// The same, and [`Backend::tag`](super::Backend::tag) is still to be called.
    Untagged(String),
    /// It is about to be created, by the first call that has this memo and by no other. The time is in seconds since 1970, and
    /// each announcement's is another. `is_taken`: one before was refused, because the name is taken by what no list showed since.
    Creating { since: u64, is_taken: bool },
    /// The cloud did not say what became of its creation, or that the name is taken by what no list shows (`is_taken`).
    Lost { since: u64, is_taken: bool },
}

impl Memo {
    /// The memo that the host kept, if it kept one. `is_id` says what an id of this cloud looks like.
    ///
    /// # Errors
    ///
    /// `invalid`, if this provider did not write it: without its own memo it might create a second load balancer.
    pub(super) fn of(service: &LoadBalancer, is_id: impl Fn(&str) -> bool) -> Result<Option<Self>> {
        let Some(text) = &service.memo else { return Ok(None) };
        let id = |id: &&str| is_id(id);
        let memo = match &*text.split(' ').collect::<Vec<_>>() {
            [state @ ("creating" | "lost"), name, word @ ("since" | "taken"), since] if *name == service.name => {
                let is_taken = *word == "taken";
                let of = |since| match *state {
                    "lost" => Self::Lost { since, is_taken },
                    _ => Self::Creating { since, is_taken },
                };
                since.parse().ok().map(of)
            }
            ["tag", it] => Some(*it).filter(id).map(|it| Self::Untagged(it.to_owned())),
            [it] => Some(*it).filter(id).map(|it| Self::Id(it.to_owned())),
            _ => None,
        };
        let unknown =
            || Error::invalid(format_args!("the memo {text:?} in the Service's status is not one of this provider"));
        memo.map(Some).ok_or_else(unknown)
    }

    /// As it is kept on `service`.
    pub(super) fn text(&self, service: &LoadBalancer) -> String {
        let (state, since, is_taken) = match self {
            Self::Id(id) => return id.clone(),
            Self::Untagged(id) => return format!("tag {id}"),
            Self::Creating { since, is_taken } => ("creating", since, *is_taken),
            Self::Lost { since, is_taken } => ("lost", since, *is_taken),
        };
        format!("{state} {} {} {since}", service.name, if is_taken { "taken" } else { "since" })
    }
}

/// How much of `pause`, which began at `since`, is left at `now`. `None`, if it is over.
pub(crate) fn remaining(since: u64, pause: Duration, now: u64) -> Option<Duration> {
    // A clock that was set back must not make the wait longer than it was.
    let passed = Duration::from_secs(now.saturating_sub(since));
    pause.checked_sub(passed).filter(|it| !it.is_zero())
}
