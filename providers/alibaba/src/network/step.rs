//! The result of a part of a step: it waits, or is refused.

use aerostat_sdk::{Change, Error, Result};

use crate::api::AcsRefusal;

/// Why a step goes no further.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NlbStop {
    /// The cloud is at work: what it says.
    Waits(String),
    Refused(Error),
}

impl From<AcsRefusal> for NlbStop {
    fn from(refusal: AcsRefusal) -> Self {
        if refusal.is_busy() { Self::Waits(refusal.error.why().to_owned()) } else { Self::Refused(refusal.error) }
    }
}

impl From<Error> for NlbStop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// A part of a step as a change.
///
/// # Errors
///
/// Why it was refused.
pub(super) fn change(done: Result<(), NlbStop>) -> Result<Change<()>> {
    match done {
        Ok(()) => Ok(Change::Done(())),
        Err(NlbStop::Waits(why)) => Ok(Change::Busy(why)),
        Err(NlbStop::Refused(error)) => Err(error),
    }
}
