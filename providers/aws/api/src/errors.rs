//! Refusals of AWS, sorted by what the host does next.
//!
//! EC2 (`<Response><Errors><Error>`) and Elastic Load Balancing (`<ErrorResponse><Error>`) say a code, which decides, and a sentence.

use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::http::{self, Refused, Response};

use crate::codes::{is_about_keys, refused};
use crate::xml::{self, Element, Unreadable};

/// How long an API is left alone that throttles: AWS does not say for how long. A bucket of EC2's requests is full again after that time
/// ("Request throttling for the Amazon EC2 API": describing actions get back 20 requests a second, up to 100).
const REST: Duration = Duration::from_secs(5);

/// The most characters of AWS's sentence that a message keeps.
const WORDS: usize = 400;

/// Why there is nothing of what was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AwsRefusal {
    /// AWS's code; empty, if AWS has not answered.
    pub code: String,
    /// The error for the host.
    pub error: Error,
}

impl AwsRefusal {
    /// AWS's words, for a person.
    #[must_use]
    #[inline]
    pub fn why(&self) -> &str {
        self.error.why()
    }
}

impl From<Error> for AwsRefusal {
    #[inline]
    fn from(error: Error) -> Self {
        Self { code: String::new(), error }
    }
}

impl From<AwsRefusal> for Error {
    #[inline]
    fn from(refusal: AwsRefusal) -> Self {
        refusal.error
    }
}

/// A request, as messages name it.
#[derive(Clone, Copy)]
pub(crate) struct AskedRequest<'a> {
    pub(crate) endpoint: &'a str,
    /// The beginning of the API's actions in policies.
    pub(crate) service: &'a str,
    pub(crate) action: &'a str,
}

/// The refusal that an answer is.
#[inline]
pub(crate) fn refusal(asked: AskedRequest<'_>, response: &Response) -> AwsRefusal {
    let said = said(response);
    let why = complaint(asked, response.status(), &said);
    let code = said.code;
    let status = response.status();
    let error = match refused(&code, status) {
        Some(Refused::RateLimit) => {
            let pause = response.retry_after().unwrap_or(REST);
            http::throttle(asked.endpoint, pause, &why);
            Error::retry_after(pause, why)
        }
        Some(Refused::Denied) if is_about_keys(&code) => {
            Error::denied(format_args!("{why}. AWS does not accept the credential's keys: check where they come from"))
        }
        Some(Refused::Denied) if !code.is_empty() => {
            Error::denied(format_args!("{why}. The credential needs {}:{}", asked.service, asked.action))
        }
        Some(Refused::Failure) if status == 503 && response.retry_after().is_some() => {
            Error::retry_after(response.retry_after().unwrap_or(REST), why)
        }
        Some(refused) => refused.error(&why).unwrap_or(Error::Unavailable(why)),
        None => Error::unavailable(format_args!("{why}, but not in the API's words: does baseUrl lead to it?")),
    };
    AwsRefusal { code, error }
}

/// The refusal that a successful answer is which cannot be read.
#[inline]
pub(crate) fn unreadable(asked: AskedRequest<'_>, why: &Unreadable) -> AwsRefusal {
    let AskedRequest { endpoint, action, .. } = asked;
    Error::unavailable(format_args!("{action} at endpoint {endpoint}: an answer that cannot be read: {why}")).into()
}

/// The largest answer in which an error is looked for.
const ERROR_BYTES: usize = 64 << 10;

/// An error as AWS describes it.
#[derive(Default)]
struct Said {
    code: String,
    sentence: String,
    request: String,
}

#[inline]
fn said(response: &Response) -> Said {
    let Ok(answer) = xml::read(Some(response.body()).filter(|it| it.len() <= ERROR_BYTES).unwrap_or_default()) else {
        return Said::default();
    };
    let error = answer.child("Errors").unwrap_or(&answer).child("Error");
    let of = |name| error.and_then(|it| it.text(&[name])).map(str::to_owned).unwrap_or_default();
    Said { code: of("Code"), sentence: of("Message"), request: request(&answer) }
}

/// The id of the request, by which AWS's support finds it.
#[inline]
fn request(answer: &Element) -> String {
    let id = answer.text(&["RequestID"]).or_else(|| answer.text(&["RequestId"])).unwrap_or_default();
    id.chars().filter(char::is_ascii_graphic).take(64).collect()
}

/// The answer for a person: "DescribeInstances at endpoint ec2: 400 InvalidParameterValue: … (request …)".
#[inline]
fn complaint(asked: AskedRequest<'_>, status: u16, said: &Said) -> String {
    let mut text = format!("{} at endpoint {}: {status}", asked.action, asked.endpoint);
    for (separator, words) in [(" ", &said.code), (": ", &said.sentence)] {
        if !words.is_empty() {
            text.push_str(separator);
            text.extend(words.chars().map(|it| if it.is_control() { ' ' } else { it }).take(WORDS));
        }
    }
    if !said.request.is_empty() {
        text.push_str(&format!(" (request {})", said.request));
    }
    text
}
