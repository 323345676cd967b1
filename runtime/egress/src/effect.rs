//! What a request does in the cloud.

use std::fmt;

use crate::request::Method;

/// What a request does in the cloud, as the operator's rule says it. Ordered by how much harm it can do.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It makes or changes something.
    Write,
    /// It takes something away.
    Delete,
}

impl Effect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Delete];

    /// Reads `read`, `write` or `delete`.
    ///
    /// # Errors
    ///
    /// A sentence that lists the effects, for every other word.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|it| it.as_str() == text)
            .ok_or_else(|| format!("unknown effect {text:?}: one of read, write, delete"))
    }

    /// What a method does where a rule does not say it.
    #[must_use]
    pub fn of(method: Method) -> Self {
        match method {
            Method::Get | Method::Head => Self::Read,
            Method::Post | Method::Put | Method::Patch => Self::Write,
            Method::Delete => Self::Delete,
        }
    }

    /// As the config says it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }

    /// Whether it may change something in the cloud.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
