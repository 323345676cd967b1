//! An action of the cloud on a volume that has failed.

use crate::{Result, events};

/// Says what the cloud could not do, once another action has begun: from then on the failed one is the last no more, and told no more.
/// It is told beside a refusal of the other action, too: that says nothing of it.
///
/// `failure` is the failed action, for a person; `answer` is that of the cloud to the other one, and `has_begun` whether it was taken.
pub fn tell_failure<T>(failure: Option<&str>, answer: &Result<T>, has_begun: impl FnOnce(&T) -> bool) {
    let is_told = match answer {
        Ok(it) => has_begun(it),
        Err(_) => true,
    };
    if let Some(failure) = failure.filter(|_| is_told) {
        events::warning(None, "VolumeActionFailed", &format!("{failure}: another is asked for"));
    }
}
