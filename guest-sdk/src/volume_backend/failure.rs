//! An action of the cloud on a volume that has failed.

use super::cloud::VolumeBackend;
use crate::{Error, Result, events};

/// The answer to another action. Where the last one had failed, and this one has begun, it is an error that says what the cloud could not do: by
/// it the host tells people, and pauses longer each time. From then on the failed one is the last no more. Beside a refusal it is an event: the
/// refusal says nothing of it.
///
/// # Errors
///
/// [`Error::Unavailable`] with the failed action; that of `answer`.
pub(super) fn begun<B: VolumeBackend, T>(
    backend: &B,
    live: &B::Live,
    answer: Result<T>,
    has_begun: impl FnOnce(&T) -> bool,
) -> Result<T> {
    match (answer, backend.failure(live)) {
        (Ok(it), Some(failure)) if has_begun(&it) => {
            Err(Error::unavailable(format_args!("{failure}: another is asked for")))
        }
        (Err(refusal), Some(failure)) => {
            events::warning(None, "VolumeActionFailed", &failure);
            Err(refusal)
        }
        (answer, _) => answer,
    }
}
