//! Refusals, sorted by what the host does next: `{"Code": "…", "Message": "…", "RequestId": "…"}`.

use std::fmt::Display;
use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::backend::gave_up;
use aerostat_sdk::http::{self, Refused, Response};
use serde_json::Value;

use super::codes::{is_about_keys, is_busy, refused};
use super::fields::text;

/// How long an API is left alone that throttles: nobody says for how long, and its limits are those of a minute or less.
const REST: Duration = Duration::from_secs(5);
/// The most characters of the cloud's sentence that a message keeps.
const WORDS: usize = 400;
/// The beginning of codes of changes that have failed for now.
const FAILED: &str = "OperationFailed";
/// The code of what has to wait.
const WAITS: &str = "IncorrectStatus";
/// The largest answer in which an error is looked for.
const ERROR_BYTES: usize = 64 << 10;

/// Why there is nothing of what was asked for. It stands in a box, so that a module has few bytes for each place that hands it on.
pub(crate) type AcsRefusal = Box<RefusedCall>;

/// The reason of a refusal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RefusedCall {
    /// The cloud's code; empty, if it has not answered.
    pub(crate) code: String,
    /// The error for the host.
    pub(crate) error: Error,
    /// The status of the answer; 0, if there is none.
    pub(crate) status: u16,
}

impl RefusedCall {
    /// As the API refuses what has to wait for something: nothing was sent.
    pub(crate) fn waits(why: impl Display) -> AcsRefusal {
        Box::new(Self { code: WAITS.to_owned(), error: Error::unavailable(why), status: 0 })
    }

    /// Whether the same request goes through once an earlier change is over.
    pub(crate) fn is_busy(&self) -> bool {
        is_busy(&self.code)
    }

    /// Whether nothing was done, since the API carries out an earlier change.
    pub(crate) fn is_early(&self) -> bool {
        self.is_busy() && !self.is_about_one() && !gave_up(self.status)
    }

    /// Whether the API has refused this request alone, and may carry out others: it has answered, and neither throttles nor waits for the end of
    /// an earlier change. A change that has failed for now says nothing of others.
    pub(crate) fn is_about_one(&self) -> bool {
        let waits = self.is_busy() && !self.code.starts_with(FAILED);
        !self.code.is_empty() && !waits && !matches!(self.error, Error::RetryAfter(_))
    }
}

impl From<Error> for AcsRefusal {
    fn from(error: Error) -> Self {
        Box::new(RefusedCall { code: String::new(), error, status: 0 })
    }
}

impl From<AcsRefusal> for Error {
    fn from(refusal: AcsRefusal) -> Self {
        refusal.error
    }
}

/// A request, as messages name it.
#[derive(Clone, Copy)]
pub(super) struct AskedAction<'a> {
    pub(super) endpoint: &'a str,
    pub(super) action: &'a str,
}

/// The refusal that an answer is.
pub(super) fn refusal(asked: AskedAction<'_>, response: &Response) -> AcsRefusal {
    let body = Some(response.body()).filter(|it| it.len() <= ERROR_BYTES).unwrap_or_default();
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let (code, status) = (text(&said, "Code"), response.status());
    let why = complaint(asked, status, &said);
    let AskedAction { endpoint, action } = asked;
    let error = match refused(&code, status) {
        Some(Refused::RateLimit) => {
            let pause = response.retry_after().unwrap_or(REST);
            http::throttle(endpoint, pause, &why);
            Error::retry_after(pause, why)
        }
        Some(Refused::Denied) if is_about_keys(&code) => Error::denied(format_args!(
            "{why}. The cloud does not accept the credential's keys: check where they come from"
        )),
        Some(Refused::Denied) if !code.is_empty() => {
            Error::denied(format_args!("{why}. The credential needs {endpoint}:{action}"))
        }
        Some(refused) => refused.error(&why).unwrap_or(Error::Unavailable(why)),
        None => Error::unavailable(format_args!("{why}, but not in the API's words: does baseUrl lead to it?")),
    };
    Box::new(RefusedCall { code, error, status })
}

/// The refusal that a successful answer is which cannot be read.
pub(super) fn unreadable(asked: AskedAction<'_>, why: &dyn Display) -> AcsRefusal {
    let AskedAction { endpoint, action } = asked;
    Error::unavailable(format_args!("{action} at endpoint {endpoint}: an answer that cannot be read: {why}")).into()
}

/// The answer for a person: "DescribeInstances at endpoint ecs: 400 InvalidParameter: … (request …)".
fn complaint(asked: AskedAction<'_>, status: u16, said: &Value) -> String {
    let mut complaint = format!("{} at endpoint {}: {status}", asked.action, asked.endpoint);
    for (separator, name) in [(" ", "Code"), (": ", "Message")] {
        let words = text(said, name);
        if !words.is_empty() {
            complaint.push_str(separator);
            complaint.extend(words.chars().map(|it| if it.is_control() { ' ' } else { it }).take(WORDS));
        }
    }
    let id: String = text(said, "RequestId").chars().filter(char::is_ascii_graphic).take(64).collect();
    if !id.is_empty() {
        complaint.push_str(&format!(" (request {id})"));
    }
    complaint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_our_own_are_waits() {
        let refusal = RefusedCall::waits("it is looked for");
        assert!(refusal.is_busy() && !refusal.is_about_one());
    }

    #[test]
    fn refusals_of_one_request_say_nothing_of_others() {
        for (code, error, is_about_one) in [
            ("InvalidParameter", Error::invalid("x"), true),
            ("Forbidden.RAM", Error::denied("x"), true),
            ("OperationFailed.Certificate", Error::unavailable("x"), true),
            ("ServiceIsConfiguring", Error::unavailable("x"), false),
            ("Throttling.User", Error::retry_after(REST, "x"), false),
            ("", Error::unavailable("no answer"), false),
        ] {
            let refusal = RefusedCall { code: code.to_owned(), error, status: 400 };
            assert_eq!(refusal.is_about_one(), is_about_one, "{refusal:?}");
        }
    }
}
