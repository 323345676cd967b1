use std::time::Duration;

/// The answer of a cloud, or why there is none.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a cloud did not do what it was asked, sorted by what the caller does next and not by what went wrong.
///
/// The text is for a person: it names the cloud object, the cause and, where there is one, the next step.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// A request that cannot be meant. Shown, and tried again when the object changes and every few minutes.
    #[error("{0}")]
    Invalid(String),
    /// The cloud, or the policy, refused. Shown, and tried again when the object or the credential changes and every
    /// few minutes.
    #[error("{0}")]
    Denied(String),
    /// Not before this pause; then at once.
    #[error("{reason}")]
    RetryAfter {
        /// How long to wait.
        after: Duration,
        /// The party that asked for the pause, and why.
        reason: String,
    },
    /// The provider crashed over this object, which alone is set aside. Shown on the object, and tried again after this
    /// pause. The text stays the same from try to try, and says all of that.
    #[error("{reason}")]
    Crashed {
        /// How long the object is still set aside.
        after: Duration,
        /// The crash, the object that it was about, when that is tried again, and who can do something.
        reason: String,
    },
    /// Anything else. Tried again with back-off.
    #[error("{0}")]
    Unavailable(String),
}

impl Error {
    /// The same error, which says before its text what was being done.
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        let text = |it: String| format!("{what}: {it}");
        match self {
            Self::Invalid(it) => Self::Invalid(text(it)),
            Self::Denied(it) => Self::Denied(text(it)),
            Self::RetryAfter { after, reason } => Self::RetryAfter { after, reason: text(reason) },
            Self::Crashed { after, reason } => Self::Crashed { after, reason: text(reason) },
            Self::Unavailable(it) => Self::Unavailable(text(it)),
        }
    }
}
