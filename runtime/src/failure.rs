//! Why the process ends.

use std::fmt;

/// Why the process ended that should not: what, the cause, and the next step, in one line.
#[derive(Debug)]
pub struct Failure(anyhow::Error);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&controllers::chain(self.0.as_ref()))
    }
}

impl std::error::Error for Failure {}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}
