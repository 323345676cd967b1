//! Why there is no module, or why it was not pushed.

use cloud_provider::printable;
use egress::FetchError;

use crate::remote::WrittenIn;

/// The longest text of a registry within a sentence.
const FOREIGN: usize = 256;

/// Why there is no module, or why it was not pushed: a sentence with the cause and the next step.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PullError {
    /// Waiting does not help: somebody has to change something.
    #[error("{0}")]
    Refused(String),
    /// The registry does not answer, or not as it should. It may be over later.
    #[error("{0}")]
    Unavailable(String),
}

impl PullError {
    /// Why nobody answered.
    pub(crate) fn unanswered(error: FetchError, written: WrittenIn) -> Self {
        match error {
            FetchError::Denied(because) => Self::Refused(written.sentence(because)),
            FetchError::Unreachable(because) => Self::Unavailable(written.unreached(because)),
            FetchError::Broken(because) => Self::Unavailable(written.sentence(because)),
        }
    }
}

/// A registry's words, fit for a sentence.
pub(crate) fn foreign(text: &str) -> String {
    printable(text, FOREIGN)
}
