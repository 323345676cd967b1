//! One call's requests as the egress saw them, to hold the provider's answer against them. Values only.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::ops::Range;
use std::time::{Duration, SystemTime};

use cloud_provider::printable;
use http::StatusCode;
use memchr::memmem;

use crate::canonical;
use crate::effect::Effect;
use crate::outcome::{AnswerFailure, RequestOutcome};
use crate::policy::{Code, Denied, Permitted, Recognized};
use crate::request::{GuestRequest, Method};
use crate::response;

/// The longest path in a sentence.
const PATH_CHARACTERS: usize = 200;
/// The longest endpoint name and operation in a sentence.
const NAME_CHARACTERS: usize = 64;
/// The beginnings of known clouds' operations that make something.
const CREATING: [&str; 3] = ["create", "run", "allocate"];

/// The requests of one call, and how each of them ended. An equal read, deletion or update that is sent again counts once: as
/// answered, as soon as one of them was; and of the `PUT`s to one path the last one counts.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    requests: Vec<SeenRequest>,
}

/// One request of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SeenRequest {
    /// Equal for requests that are equal.
    key: u64,
    /// Equal for requests of one path or, where the endpoint has operations, of one operation. `None` where the operation is
    /// not known.
    place: Option<u64>,
    /// Equal for requests with one query; `None` without one.
    query: Option<u64>,
    /// `None` of one that the egress has refused before it knew.
    effect: Option<Effect>,
    /// Whether it makes something, as far as its method or operation says.
    creates: bool,
    /// Whether it holds a mark of the object that the call is about.
    is_marked: bool,
    /// Which of the call's marks it holds, by their places: in its path, and one that makes whole objects in its body too.
    marks: Vec<usize>,
    endpoint: String,
    method: Method,
    operation: Option<String>,
    /// Escaped, and without the query.
    path: String,
    ending: Ending,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// 2xx.
    Success,
    /// 404 or 410: what it is about does not exist.
    Missing(u16),
    /// 401, 403: the cloud says nothing about what it was asked for.
    Forbidden(u16),
    /// 429, 413 with a pause, or what a cloud says so in other words: the status, and the pause that the cloud asks for.
    Throttled(u16, Option<Duration>),
    /// 409 or 423: something else is under way.
    Busy(u16),
    /// Any other 4xx. Some clouds say so that something does not exist.
    Refused(u16),
    /// 5xx, a redirect, or 408 and 499, which are said by those who gave up waiting.
    Failed(u16),
    /// Perhaps carried out: the answer was lost, or the call ended first.
    Lost,
    /// Certainly not sent.
    NotSent,
    /// Not sent, because of the endpoint's budget or the cloud's `retry-after`: not before this pause.
    Paused(Duration),
    /// No rule of the operator lets it through.
    Denied,
    /// The egress has withheld it for another reason: a limit, a Lease that is lost, an address.
    Withheld,
}

impl Seen {
    /// The record of these requests.
    #[must_use]
    pub fn new(requests: impl IntoIterator<Item = SeenRequest>) -> Self {
        let mut seen = Self::default();
        requests.into_iter().for_each(|it| seen.add(it));
        seen
    }

    /// Reads that were not answered, and requests that the egress has refused before it was known what they do.
    pub fn unanswered_reads(&self) -> impl Iterator<Item = &SeenRequest> {
        self.requests.iter().filter(|it| matches!(it.effect, Some(Effect::Read) | None) && !it.ending.is_answer())
    }

    /// The unanswered reads that a complete list cannot lack: not one that the cloud forbids alone, at
    /// a path or an operation at which nothing was read, while others were answered.
    pub fn unanswered_pages(&self) -> impl Iterator<Item = &SeenRequest> {
        self.unanswered_reads().filter(|it| !self.is_optional(it))
    }

    fn is_optional(&self, request: &SeenRequest) -> bool {
        let is_forbidden = matches!(request.ending, Ending::Forbidden(403) | Ending::Denied);
        let answered = |it: &&SeenRequest| it.effect == Some(Effect::Read) && it.ending == Ending::Success;
        let mut answered = self.requests.iter().filter(answered).peekable();
        let is_known = request.place.is_some();
        is_forbidden && is_known && answered.peek().is_some() && answered.all(|it| it.place != request.place)
    }

    /// Deletions, of whole objects and of members, that were not carried out, or not certainly.
    pub fn failed_deletions(&self) -> impl Iterator<Item = &SeenRequest> {
        let deletes = |it: &SeenRequest| matches!(it.effect, Some(Effect::Delete | Effect::Detach) | None);
        self.requests.iter().filter(move |it| deletes(it) && !it.ending.is_answer())
    }

    /// Other writes that were not carried out, or not certainly.
    pub fn failed_writes(&self) -> impl Iterator<Item = &SeenRequest> {
        let writes = |it: &SeenRequest| matches!(it.effect, Some(Effect::Write | Effect::Update));
        self.requests.iter().filter(move |it| writes(it) && !it.ending.is_answer())
    }

    /// Whether a deletion was carried out, or met nothing.
    #[must_use]
    pub fn has_deleted(&self) -> bool {
        let gone = |it: &Ending| matches!(it, Ending::Success | Ending::Missing(_));
        self.requests.iter().any(|it| it.effect == Some(Effect::Delete) && gone(&it.ending))
    }

    /// Writes that the cloud says that it has carried out.
    pub fn written(&self) -> impl Iterator<Item = &SeenRequest> {
        self.requests.iter().filter(|it| it.effect == Some(Effect::Write) && it.ending == Ending::Success)
    }

    /// Writes after which something may be there or not.
    pub fn unclear_writes(&self) -> impl Iterator<Item = &SeenRequest> {
        let is_unclear = |it: &Ending| matches!(it, Ending::Lost | Ending::Failed(_));
        self.requests.iter().filter(move |it| it.effect == Some(Effect::Write) && is_unclear(&it.ending))
    }

    /// The requests that are about one of several objects, whose marks stand at these places of the call's: those that hold one of
    /// these, and those that hold nobody's.
    #[must_use]
    pub fn about(&self, own: &Range<usize>) -> Self {
        let is_own = |it: &SeenRequest| it.marks.iter().any(|mark| own.contains(mark));
        let of_it = self.requests.iter().filter(|it| it.marks.is_empty() || is_own(it));
        Self { requests: of_it.map(|it| SeenRequest { is_marked: it.is_marked && is_own(it), ..it.clone() }).collect() }
    }

    /// A request leaves now. Until [`Seen::end`] says more, its answer counts as lost. Answers its number.
    pub(crate) fn begin(&mut self, permitted: &Permitted, marks: &[String]) -> usize {
        let held = |it: &(usize, &String)| holds(permitted, it.1);
        let marks: Vec<_> = marks.iter().enumerate().filter(held).map(|(place, _)| place).collect();
        let is_marked = permitted.effect() == Effect::Write && !marks.is_empty();
        self.requests.push(SeenRequest { is_marked, marks, ..SeenRequest::of(permitted) });
        self.requests.len() - 1
    }

    /// How the request with this number ended.
    pub(crate) fn end(&mut self, number: usize, ending: Ending) {
        // Requests of one call come one after the other: it is the last.
        if number + 1 != self.requests.len() {
            return;
        }
        if let Some(request) = self.requests.pop() {
            self.add(SeenRequest { ending, ..request });
        }
    }

    /// The policy has refused a request, in a call that may make `most`.
    pub(crate) fn deny(&mut self, unjudged: SeenRequest, denied: &Denied, most: u32) {
        if self.requests.len() <= most as usize {
            self.requests.push(unjudged.denied(denied));
        }
    }

    fn add(&mut self, request: SeenRequest) {
        if matches!(request.ending, Ending::Missing(_)) {
            let deletions = self.requests.iter_mut().filter(|it| it.effect == Some(Effect::Delete));
            deletions.filter(|it| request.is_about(it)).for_each(|it| it.ending = request.ending);
        }
        // Each write is one for itself: a creation that was sent twice may have made two.
        let is_counted = request.effect == Some(Effect::Write);
        // A PUT holds all of its object: the last one says what is there.
        let is_last = request.method == Method::Put;
        match self.requests.iter_mut().find(|it| !is_counted && it.key == request.key && it.effect == request.effect) {
            Some(known) if known.ending.is_answer() && !is_last => {}
            Some(known) => *known = request,
            None => self.requests.push(request),
        }
    }
}

impl SeenRequest {
    /// A request of an endpoint without operations. `target` is the path, escaped, with its query.
    #[must_use]
    pub fn new(endpoint: &str, effect: Effect, method: Method, target: &str, ending: Ending) -> Self {
        let path = target.split('?').next().unwrap_or_default();
        Self {
            key: hash(&(endpoint, method, target)),
            place: Some(hash(&(endpoint, path))),
            query: target.split_once('?').map(|(_, query)| hash(&query)),
            effect: Some(effect),
            creates: effect == Effect::Write && method == Method::Post,
            is_marked: false,
            marks: Vec::new(),
            endpoint: printable(endpoint, NAME_CHARACTERS),
            method,
            operation: None,
            path: path.chars().take(PATH_CHARACTERS).collect(),
            ending,
        }
    }

    fn of(permitted: &Permitted) -> Self {
        let (endpoint, effect) = (permitted.endpoint(), permitted.effect());
        let (target, base) = (permitted.target(), endpoint.place.path());
        let target = if base.is_empty() {
            target
        } else {
            target.strip_prefix(&canonical::encode_path(base)).filter(|it| !it.is_empty()).unwrap_or("/")
        };
        let request = Self::new(&endpoint.name, effect, permitted.method(), target, Ending::Lost);
        let request = request.with_body(permitted.body());
        match permitted.operation() {
            Some(operation) => request.of_operation(operation),
            None => request,
        }
    }

    /// The same with a body, which says which member of an object goes, or holds an operation's parameters. Writes are not compared.
    fn with_body(self, body: &[u8]) -> Self {
        if self.effect == Some(Effect::Write) || self.method == Method::Put {
            return self;
        }
        Self { key: hash(&(self.key, body)), ..self }
    }

    fn of_operation(self, operation: &str) -> Self {
        let lower = operation.to_ascii_lowercase();
        Self {
            place: Some(hash(&(self.place, operation))),
            creates: self.effect == Some(Effect::Write) && CREATING.iter().any(|it| lower.starts_with(it)),
            operation: Some(printable(operation, NAME_CHARACTERS)),
            ..self
        }
    }

    /// A request before it is judged, which the egress may deny.
    pub(crate) fn unjudged(request: &GuestRequest) -> Self {
        let (endpoint, method) = (&request.endpoint, request.method);
        let target = canonical::encode_path(&request.path);
        let request = Self::new(endpoint, Effect::of(method), method, &target, Ending::Denied);
        // What a GET or a DELETE does, every rule says alike.
        Self { effect: request.effect.filter(|it| *it != Effect::Write), creates: false, ..request }
    }

    /// The same as the policy has refused it, with what it knew of it.
    fn denied(self, denied: &Denied) -> Self {
        let ending = Ending::of_denial(denied.code);
        match &denied.known {
            Recognized::Path => Self { ending, ..self },
            Recognized::Nothing => Self { ending, place: None, effect: None, ..self },
            Recognized::Operation(operation, effect) => {
                Self { ending, effect: *effect, ..self }.of_operation(operation)
            }
        }
    }

    /// Whether the absence of what this read asked for is that of what `deletion` was to delete.
    fn is_about(&self, deletion: &Self) -> bool {
        let is_whole = self.query.is_none() || self.query == deletion.query;
        matches!(self.method, Method::Get | Method::Head) && is_whole && self.place == deletion.place
    }

    /// The same with a mark of the object that the call is about.
    #[must_use]
    pub fn marked(self) -> Self {
        Self { is_marked: true, ..self }
    }

    /// The same with the call's mark at this place.
    #[must_use]
    pub fn holding(mut self, place: usize) -> Self {
        self.marks.push(place);
        Self { is_marked: self.effect == Some(Effect::Write), ..self }
    }

    /// Whether it holds a mark of the object that the call is about.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// How it ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Whether it makes something, as far as its method or operation says.
    #[must_use]
    pub fn creates(&self) -> bool {
        self.creates
    }

    /// Whether a segment of its path is this text: it is about what is called so.
    #[must_use]
    pub fn names(&self, text: &str) -> bool {
        self.path.split('/').any(|it| it == text)
    }
}

/// For a person, as in "POST /v2/load_balancers at endpoint api was answered with 500".
impl fmt::Display for SeenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if let Some(operation) = &self.operation {
            write!(f, " {operation}")?;
        }
        write!(f, " at endpoint {} ", self.endpoint)?;
        match self.ending {
            Ending::Success => f.write_str("was carried out"),
            Ending::Missing(status)
            | Ending::Forbidden(status)
            | Ending::Busy(status)
            | Ending::Refused(status)
            | Ending::Failed(status)
            | Ending::Throttled(status, _) => write!(f, "was answered with {status}"),
            Ending::Lost => f.write_str("was left without an answer"),
            Ending::NotSent => f.write_str("could not be sent"),
            Ending::Paused(_) => f.write_str("was not sent, because the endpoint is paused"),
            Ending::Denied => f.write_str("was refused by the egress, since no rule allows it"),
            Ending::Withheld => f.write_str("was withheld by the egress"),
        }
    }
}

impl Ending {
    /// As the status of the answer says.
    pub(crate) fn of(outcome: &RequestOutcome) -> Self {
        let answer = match &outcome.answer {
            Ok(answer) => answer,
            Err(AnswerFailure::Denied(denied)) => return Self::of_denial(denied.code),
            Err(AnswerFailure::Paused(after)) => return Self::Paused(*after),
            Err(AnswerFailure::Unreachable(_)) => return Self::NotSent,
            Err(AnswerFailure::Interrupted(_)) => return Self::Lost,
        };
        match answer.status {
            it if it.is_success() => Self::Success,
            it @ (StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE) => {
                match response::pause(it, &answer.headers, SystemTime::now()) {
                    // A body that is too large is refused for that.
                    None if it == StatusCode::PAYLOAD_TOO_LARGE => Self::of_refusal(it.as_u16()),
                    pause => Self::Throttled(it.as_u16(), pause),
                }
            }
            it => Self::of_refusal(it.as_u16()),
        }
    }

    fn of_denial(code: Code) -> Self {
        match code {
            Code::Endpoint
            | Code::ReadOnly
            | Code::Method
            | Code::Path
            | Code::Header
            | Code::Query
            | Code::Operation
            | Code::Content => Self::Denied,
            Code::Leader | Code::Budget | Code::Writes | Code::Ip | Code::Credential => Self::Withheld,
        }
    }

    fn of_refusal(status: u16) -> Self {
        match status {
            404 | 410 => Self::Missing(status),
            401 | 403 => Self::Forbidden(status),
            409 | 423 => Self::Busy(status),
            400..500 if !matches!(status, 408 | 499) => Self::Refused(status),
            _ => Self::Failed(status),
        }
    }

    /// Whether the cloud has answered the question, or done what it was asked for, as far as a status tells.
    #[must_use]
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Success | Self::Missing(_) | Self::Refused(_))
    }
}

/// Whether a request holds a text, of letters, digits and dashes, in its path, its query or its body.
fn holds(permitted: &Permitted, text: &str) -> bool {
    // Other fields of a body do not tell the owner: a PUT of a whole object also holds the parts that stay.
    let body = if permitted.effect() == Effect::Write { &permitted.body()[..] } else { &[] };
    let has = |it: &[u8]| !text.is_empty() && memmem::find(it, text.as_bytes()).is_some();
    has(permitted.target().as_bytes()) || has(body)
}

fn hash(it: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    it.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
