//! What is not a success, sorted by what the host does next.

use std::time::Duration;

use super::{Refusals, Response, wire};
use crate::Error;

/// The error that an unsuccessful answer is.
pub(super) fn sort(response: &Response, refusals: Refusals) -> Error {
    if let Some(error) = refusals(response) {
        return error;
    }
    let complaint = response.complaint();
    match (response.status(), response.retry_after()) {
        (400 | 422, _) => Error::Invalid(complaint),
        (401 | 403, _) => Error::Denied(complaint),
        (429 | 503, Some(pause)) => Error::retry_after(pause, complaint),
        _ => Error::Unavailable(complaint),
    }
}

/// The error that a request without an answer is. A refusal by the policy stays one: to try it again helps nobody.
pub(super) fn unanswered(asked: &str, error: wire::Error) -> Error {
    match error {
        wire::Error::Denied(why) => Error::denied(format_args!("{asked}: {why}")),
        wire::Error::RetryAfter(milliseconds) => Error::retry_after(
            Duration::from_millis(milliseconds.into()),
            format_args!("{asked}: not sent, the endpoint is to be left alone for {milliseconds} ms"),
        ),
        wire::Error::Unreachable(why) => Error::unavailable(format_args!("{asked}: not sent: {why}")),
        wire::Error::Interrupted(why) => Error::Unavailable(lost(asked, &why)),
    }
}

/// What to say of a request whose answer was lost.
pub(super) fn lost(asked: &str, why: &str) -> String {
    format!("{asked}: perhaps carried out, but the answer was lost: {why}")
}
