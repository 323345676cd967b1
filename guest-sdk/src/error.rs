//! Building errors: sorted by what the host does next, not by what went wrong.

use std::fmt::Display;
use std::time::Duration;

use crate::{Error, Pause};

/// An answer for the host, or why there is none.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What is asked for is wrong: a setting, an annotation, an id. The host shows it, and tries
    /// again when the object changes and every few minutes.
    pub fn invalid(why: impl Display) -> Self {
        Self::Invalid(why.to_string())
    }

    /// The cloud, or the policy, refused. As [`Error::invalid`], and tried again as soon as the credential changes.
    pub fn denied(why: impl Display) -> Self {
        Self::Denied(why.to_string())
    }

    /// The cloud said when to come back. The host obeys, and slows down for everyone who shares the endpoint.
    pub fn retry_after(pause: Duration, reason: impl Display) -> Self {
        let milliseconds = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX);
        Self::RetryAfter(Pause { milliseconds, reason: reason.to_string() })
    }

    /// Anything that may work later without a change. The host tries again with back-off.
    pub fn unavailable(why: impl Display) -> Self {
        Self::Unavailable(why.to_string())
    }
}
