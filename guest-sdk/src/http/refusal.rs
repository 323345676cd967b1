//! Requests without an answer, sorted by what the host does next.

use std::time::Duration;

use crate::Error;
use crate::bindings::host::aerostat::cloud::http as wire;

/// The error of a request without an answer. A refusal by the policy is `denied`: it would be refused again.
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

/// The message about a request whose answer was lost.
pub(super) fn lost(asked: &str, why: &str) -> String {
    format!("{asked}: perhaps carried out, but the answer was lost: {why}")
}
