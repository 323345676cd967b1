//! What is kept on the Service between two calls: proof of ownership, and how far a creation is.

use std::fmt;
use std::time::Duration;

use aerostat_sdk::{Error, LoadBalancer, Result};

use crate::settings::uuid;

/// For how many seconds an announced creation may go out.
const FRESH: u64 = 60;

/// What an earlier call asked to keep.
///
/// A creation is announced before it is sent, so that whatever happens then, the next call knows that there may be a
/// load balancer which the cloud does not list yet. Its name makes the text unique: no two Services share a memo.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Memo {
    /// The load balancer with this id is the Service's.
    Id(String),
    /// The same, and the cluster's tag is still to be put on it: the cloud does not show whether it is there.
    Untagged(String),
    /// It is about to be created. The time is in seconds since 1970.
    Creating { name: String, since: u64 },
    /// The cloud did not say what became of its creation.
    Lost { name: String, since: u64 },
}

impl Memo {
    /// What the host kept, if it kept anything.
    ///
    /// # Errors
    ///
    /// `invalid`, if it is nothing that this provider ever said: to go on would be to build a second one.
    pub(super) fn of(service: &LoadBalancer) -> Result<Option<Self>> {
        let Some(text) = &service.memo else { return Ok(None) };
        let memo = match &*text.split(' ').collect::<Vec<_>>() {
            ["creating", name, "since", since] if *name == service.name => {
                since.parse().ok().map(|since| Self::Creating { name: (*name).to_owned(), since })
            }
            ["lost", name, "since", since] if *name == service.name => {
                since.parse().ok().map(|since| Self::Lost { name: (*name).to_owned(), since })
            }
            ["tag", id] => uuid(id).map(Self::Untagged),
            [id] => uuid(id).map(Self::Id),
            _ => None,
        };
        let unknown =
            || Error::invalid(format_args!("the memo {text:?} in the Service's status is not one of this provider"));
        memo.map(Some).ok_or_else(unknown)
    }

    /// Whether a creation that was announced then may go out at `now`: whoever deletes counts from the announcement how long
    /// it may still appear.
    pub(super) fn is_fresh(&self, now: u64) -> bool {
        let (Self::Creating { since, .. } | Self::Lost { since, .. }) = self else { return true };
        now.checked_sub(*since).is_some_and(|passed| passed <= FRESH)
    }

    /// How much of `pause` is left at `now`, counted from when this was written. Nothing, where there is nothing to wait for.
    pub(super) fn remaining(&self, pause: Duration, now: u64) -> Option<Duration> {
        let (Self::Creating { since, .. } | Self::Lost { since, .. }) = self else { return None };
        // A clock that was set back must not make the wait longer than it was.
        let passed = Duration::from_secs(now.saturating_sub(*since));
        pause.checked_sub(passed).filter(|it| !it.is_zero())
    }
}

impl fmt::Display for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => f.write_str(id),
            Self::Untagged(id) => write!(f, "tag {id}"),
            Self::Creating { name, since } => write!(f, "creating {name} since {since}"),
            Self::Lost { name, since } => write!(f, "lost {name} since {since}"),
        }
    }
}
