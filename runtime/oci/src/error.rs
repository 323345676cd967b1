//! Why there is no module.

use cloud_provider::printable;
use egress::FetchError;

/// The longest text of a registry within a sentence.
const FOREIGN: usize = 256;

/// Why there is no module: a sentence with the cause and the next step.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PullError {
    /// Waiting does not help: somebody has to change something.
    #[error("{0}")]
    Refused(String),
    /// The registry does not answer, or not as it should. It may be over later.
    #[error("{0}")]
    Unavailable(String),
}

impl From<FetchError> for PullError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Denied(because) => Self::Refused(because),
            FetchError::Unreachable(because) | FetchError::Broken(because) => Self::Unavailable(because),
        }
    }
}

/// What a registry says, fit for a sentence.
pub(crate) fn foreign(text: &str) -> String {
    printable(text, FOREIGN)
}
