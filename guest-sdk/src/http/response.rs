//! Answers of the cloud.

use std::fmt::Display;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bindings::host::aerostat::cloud::http as wire;
use crate::json::{JsonError, Tree};
use crate::{Error, Result, host};

/// The most characters of the cloud's error text that a message keeps.
const WORDS: usize = 400;

/// How a cloud differs: the error that an unsuccessful answer is, or `None` to have it sorted as everywhere.
pub type Refusals = fn(&Response) -> Option<Error>;

/// How the answers of one cloud are understood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) refusals: Refusals,
    /// Whether a 404 is the API's own.
    pub(super) is_not_found: fn(&Response) -> bool,
    /// Whether its object is still carrying out an earlier change.
    pub(super) is_busy: fn(&Response) -> bool,
    /// The header of a 429 with the time at which the limit ends, in seconds since 1970.
    pub(super) limit_ends: Option<&'static str>,
    /// Where the cloud's own words stand in a body that refuses, if not where most clouds have them.
    pub(super) words: Option<&'static [&'static str]>,
    /// The header with the number of requests that are left, and how many of them are for others.
    pub(super) reserve: Option<(&'static str, u32)>,
}

/// What is to be done with a part of an answer.
pub(super) type ReadJson<'a> = &'a mut dyn FnMut(&Tree<'_>) -> Result<(), JsonError>;

/// Reads a `T` to this place.
pub(super) fn into<T: DeserializeOwned>(place: &mut Option<T>) -> impl FnMut(&Tree<'_>) -> Result<(), JsonError> {
    |it| it.read().map(|it| *place = Some(it))
}

/// An answer of the cloud.
#[derive(Debug)]
pub struct Response {
    asked: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    rules: Rules,
}

impl Response {
    pub(super) fn new(asked: String, response: wire::Response, rules: Rules) -> Self {
        let wire::Response { status, headers, body } = response;
        Self { asked, status, headers, body, rules }
    }

    /// The answer, if it is a success.
    ///
    /// # Errors
    ///
    /// Every other answer, sorted by what the host does next.
    pub fn accepted(self) -> Result<Self> {
        if self.is_success() { Ok(self) } else { Err(self.refusal()) }
    }

    /// The error that an unsuccessful answer is, sorted by what the host does next.
    fn refusal(&self) -> Error {
        if let Some(error) = (self.rules.refusals)(self) {
            return error;
        }
        let complaint = self.complaint();
        match (self.status, self.pause()) {
            (400 | 422, _) => Error::Invalid(complaint),
            (401 | 403, _) => Error::Denied(complaint),
            (429 | 503, Some(pause)) => Error::retry_after(pause, complaint),
            (404, _) if !(self.rules.is_not_found)(self) => {
                Error::unavailable(format_args!("{complaint}, but not in the API's words: does baseUrl lead to it?"))
            }
            _ => Error::Unavailable(complaint),
        }
    }

    /// How long to wait for the end of a limit, if the answer says it.
    fn pause(&self) -> Option<Duration> {
        let end = || self.until(self.rules.limit_ends.filter(|_| self.status == 429)?);
        self.retry_after().or_else(|| end().map(|it| it.max(Duration::from_secs(1))))
    }

    /// Whether it is there: the answer, if it is a success, or `None` for a 404 of the API.
    pub(super) fn found(self) -> Result<Option<Self>> {
        match self.status {
            404 if (self.rules.is_not_found)(&self) => (self.rules.refusals)(&self).map_or(Ok(None), Err),
            _ => self.accepted().map(Some),
        }
    }

    /// How long the endpoint has to pause until the reserve of its quota is there again, and why, for a person.
    pub(super) fn pause_for_reserve(&self) -> Option<(Duration, String)> {
        let (header, reserve) = self.rules.reserve?;
        let left: u32 = self.header(header)?.trim().parse().ok()?;
        let missing = reserve.checked_sub(left).filter(|it| *it > 0)?;
        Some((Duration::from_secs(missing.into()), format!("{left} requests of the quota are left")))
    }

    /// Whether its object is still carrying out an earlier change.
    pub(super) fn is_busy(&self) -> bool {
        (self.rules.is_busy)(self)
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as it came.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`], with what was asked and the place in the text, if it is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        let tree = Tree::parse(&self.body).map_err(|error| self.unreadable(&error))?;
        tree.read().map_err(|error| self.unreadable(&error))
    }

    /// The object in this field of the body, for clouds that answer `{ "server": { … } }`.
    ///
    /// # Errors
    ///
    /// As [`Self::json`], also if the field is missing.
    pub fn json_in<T: DeserializeOwned>(&self, field: &str) -> Result<T> {
        let mut found = None;
        self.read_in(field, &mut into(&mut found))?;
        found.ok_or_else(|| self.unreadable(&field))
    }

    /// As [`Self::json_in`], apart from the type, so that a module has it once.
    pub(super) fn read_in(&self, field: &str, read: ReadJson<'_>) -> Result<()> {
        self.beginning()?.read_field(field, read).map_err(|error| self.unreadable(&error))
    }

    /// The value that the body begins with.
    pub(super) fn beginning(&self) -> Result<Tree<'_>> {
        Tree::beginning(&self.body).map_err(|error| self.unreadable(&error))
    }

    /// The error for a body that cannot be parsed.
    #[must_use]
    pub fn unreadable(&self, error: &dyn Display) -> Error {
        let Self { asked, status, .. } = self;
        Error::unavailable(format_args!("{asked}: {status} with an answer that cannot be read: {error}"))
    }

    /// How long the header `retry-after` asks to wait. The host hands it over in seconds, also where the cloud wrote a
    /// date.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }

    /// How long it is until the time in this header, in seconds since 1970; zero if it is past.
    ///
    /// Many clouds send such a header, each by its own name, when a limit is used up.
    #[must_use]
    pub fn until(&self, header: &str) -> Option<Duration> {
        let moment: u64 = self.header(header)?.trim().parse().ok()?;
        Some(Duration::from_secs(moment.saturating_sub(host::now())))
    }

    /// Whether the error text in the body contains `part`. For clouds that have no error code for the case.
    #[must_use]
    pub fn says(&self, part: &str) -> bool {
        self.json().is_ok_and(|json: Value| self.words(&json).is_some_and(|it| it.contains(part)))
    }

    /// The answer for a person: the request, the status, the cloud's own words and its request id.
    ///
    /// The words are looked for in these fields, the first that is there: `message`, `detail`, `title`, `reason`, each in the
    /// body itself, in `error`, or in the first of `errors`; a body that is JSON text, or plain text, is taken whole. So
    /// `{ "errors": [{ "reason": "label is taken" }] }` is read without a word of the provider. A cloud with its words elsewhere
    /// names the place with [`Client::words`](super::Client::words).
    #[must_use]
    pub fn complaint(&self) -> String {
        let json: Option<Value> = serde_json::from_slice(&self.body).ok();
        let mut text = format!("{}: {}", self.asked, self.status);
        if let Some(words) = json.as_ref().map_or_else(|| plain(&self.body), |it| self.words(it)) {
            text.push(' ');
            text.extend(words.chars().map(|it| if it.is_control() { ' ' } else { it }).take(WORDS));
        }
        let id = ["x-request-id", "request-id", "x-correlation-id"].iter().find_map(|it| self.header(it));
        let id = id.or_else(|| json.as_ref()?.get("request_id")?.as_str());
        if let Some(id) = id {
            text.push_str(" (request ");
            text.extend(id.chars().filter(|it| it.is_ascii_graphic()).take(64));
            text.push(')');
        }
        text
    }

    /// The cloud's own words in a body: at the place that its provider names, or where most clouds have them.
    fn words<'a>(&self, json: &'a Value) -> Option<&'a str> {
        self.rules.words.and_then(|it| at(json, it)).or_else(|| words(json))
    }
}

/// The text that a path of names, and of numbers in lists, leads to.
fn at<'a>(json: &'a Value, path: &[&str]) -> Option<&'a str> {
    let step = |it: &'a Value, name: &&str| it.get(*name).or_else(|| it.get(name.parse::<usize>().ok()?));
    path.iter().try_fold(json, step)?.as_str()
}

/// The error text in a body, in the forms that clouds use.
fn words(json: &Value) -> Option<&str> {
    let first = |key| json.get(key).and_then(Value::as_str);
    let nested = || json.get("error").or_else(|| json.get("errors")?.get(0)).and_then(words);
    let own = ["message", "detail", "title", "reason"].into_iter().find_map(first);
    json.as_str().or(own).or_else(nested)
}

/// A body that is plain text, and no HTML page.
fn plain(body: &[u8]) -> Option<&str> {
    let text = str::from_utf8(body).ok()?.trim();
    (!text.is_empty() && !text.starts_with(['<', '{', '['])).then_some(text)
}
