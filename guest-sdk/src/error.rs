//! Building errors: sorted by what the host does next, not by what went wrong.

use std::fmt::Display;
use std::time::Duration;

use crate::{Error, Pause};

/// An answer for the host, or why there is none.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How the text of an error about a quota ends. The contract has no word of its own for it.
const QUOTA: &str = ". A quota of the account is used up: delete what is not needed, or ask the vendor for more";

impl Error {
    /// The request is wrong: a setting, an annotation, an id. The host shows it, and tries
    /// again when the object changes and every few minutes.
    pub fn invalid(why: impl Display) -> Self {
        Self::Invalid(why.to_string())
    }

    /// The cloud, or the policy, refused. As [`Error::invalid`], and tried again as soon as the credential changes.
    pub fn denied(why: impl Display) -> Self {
        Self::Denied(why.to_string())
    }

    /// A quota of the account is used up. It passes by itself, once something is deleted or the vendor gives more: the host
    /// tries again with back-off, and blames neither the request nor the credential.
    pub fn quota(why: impl Display) -> Self {
        Self::unavailable(format_args!("{why}{QUOTA}"))
    }

    /// Whether it is one of [`Error::quota`].
    #[must_use]
    pub fn is_quota(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why.ends_with(QUOTA))
    }

    /// Whether the cloud, or the policy, has refused what was asked for: it is wrong, not allowed, or over a quota. Other errors
    /// may pass by themselves.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::Denied(_)) || self.is_quota()
    }

    /// Its text, for a person.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Invalid(why) | Self::Denied(why) | Self::Unavailable(why) => why,
            Self::RetryAfter(pause) => &pause.reason,
        }
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
