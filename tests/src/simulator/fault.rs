//! Faults on purpose.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::Cloud;
use super::answer::Answer;
use super::record::{self, Recorded};

/// One way in which answers go wrong, and for which requests.
///
/// Faults apply in the order of their injection: the first that fits a request and is not used up. What they answer is not checked against
/// the description; the request is, as every other.
#[derive(Clone, Debug)]
pub struct Fault {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    /// How many requests it still applies to. Absent: as many as come.
    left: Option<usize>,
    delay: Duration,
    headers: HeaderMap,
    /// A header that says when a limit on requests ends, so long after the answer.
    reset: Option<(HeaderName, Duration)>,
    /// Whether what the request asks for is done all the same.
    done: bool,
    effect: Effect,
}

/// The effect on an answer.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// The answer is as it would have been: a fault that only delays, or only adds headers.
    Kept,
    /// This status, with the service's own body for it or with another.
    Status(StatusCode, Option<Vec<u8>>),
    /// An empty page, as if the account were empty.
    EmptyList,
    /// Status 200, and a body that says it is JSON and is not.
    Nonsense,
    /// The answer is cut in the middle of its body.
    Half,
    /// The connection is closed without an answer (in HTTP/2: the stream).
    Nothing,
    /// The connection stays, and there is no answer.
    Hang,
}

impl Fault {
    /// Another status, with the body that the service has for it. What the request asks for is not done, unless [`Fault::done`] says so.
    ///
    /// `path` may hold `*` for one segment, as in `/v2/droplets/*`, and end in `**` for any number of them; `method` may be `*`. This holds
    /// for all faults.
    ///
    /// # Panics
    ///
    /// Panics if `method` is no method or `status` no status.
    #[must_use]
    pub fn status(method: &str, path: &str, status: u16) -> Fault {
        let status = StatusCode::from_u16(status).expect("the test names a status between 100 and 999");
        Fault::new(method, path, Effect::Status(status, None))
    }

    /// A list with nothing in it.
    #[must_use]
    pub fn empty_list(method: &str, path: &str) -> Fault {
        Fault::new(method, path, Effect::EmptyList)
    }

    /// A body that is not JSON although it says so.
    #[must_use]
    pub fn nonsense(method: &str, path: &str) -> Fault {
        Fault::new(method, path, Effect::Nonsense)
    }

    /// The answer's first half, and then the end of the connection. What the request asks for is done.
    #[must_use]
    pub fn half(method: &str, path: &str) -> Fault {
        Fault::new(method, path, Effect::Half)
    }

    /// The end of the connection in the place of an answer. What the request asks for is done, unless [`Fault::undone`] says otherwise.
    #[must_use]
    pub fn nothing(method: &str, path: &str) -> Fault {
        Fault::new(method, path, Effect::Nothing)
    }

    /// No answer, until the client gives up. What the request asks for is done, unless [`Fault::undone`] says otherwise.
    #[must_use]
    pub fn hang(method: &str, path: &str) -> Fault {
        Fault::new(method, path, Effect::Hang)
    }

    /// The right answer, late.
    #[must_use]
    pub fn late(method: &str, path: &str, delay: Duration) -> Fault {
        Fault::new(method, path, Effect::Kept).delay(delay)
    }

    fn new(method: &str, path: &str, effect: Effect) -> Fault {
        let method = method.parse().expect("the test names a method");
        let (path, query, headers) = (path.to_owned(), Vec::new(), HeaderMap::new());
        let done = !matches!(effect, Effect::Status(..));
        Fault { method, path, query, left: None, delay: Duration::ZERO, headers, reset: None, done, effect }
    }

    /// Only requests whose query holds this pair.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Fault {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Only the first `count` requests. Without it the fault stays until it is taken away.
    #[must_use]
    pub fn times(mut self, count: usize) -> Fault {
        self.left = Some(count);
        self
    }

    /// Does what the request asks for, before it goes wrong.
    #[must_use]
    pub fn done(mut self) -> Fault {
        self.done = true;
        self
    }

    /// Does nothing of what the request asks for.
    ///
    /// # Panics
    ///
    /// Panics if the fault's answer is made of the right one.
    #[must_use]
    pub fn undone(mut self) -> Fault {
        let without = matches!(self.effect, Effect::Status(..) | Effect::Nothing | Effect::Hang);
        assert!(without, "{:?} shows what was done", self.effect);
        self.done = false;
        self
    }

    /// Answers so much later, beside the latency of the simulator.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Fault {
        self.delay = delay;
        self
    }

    /// Sets a header of the answer, in the place of the service's own.
    ///
    /// # Panics
    ///
    /// Panics if this cannot stand in a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Fault {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("the test names a header");
        self.headers.insert(name, HeaderValue::from_str(value).expect("the test's header value is printable"));
        self
    }

    /// Sets a header of each answer to the Unix time at which `pause` will have passed since the answer. It is a whole second, and not one
    /// too few.
    ///
    /// # Panics
    ///
    /// Panics if this cannot be the name of a header.
    #[must_use]
    pub fn reset(mut self, name: &str, pause: Duration) -> Fault {
        self.reset = Some((HeaderName::from_bytes(name.as_bytes()).expect("the test names a header"), pause));
        self
    }

    /// Sets the body of a fault made by [`Fault::status`].
    ///
    /// # Panics
    ///
    /// Panics if the fault is of another kind, which has no body of its own.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Fault {
        match &mut self.effect {
            Effect::Status(_, own) => *own = Some(body.into()),
            effect => panic!("{effect:?} has no body to set"),
        }
        self
    }

    fn fits(&self, request: &Recorded) -> bool {
        self.left != Some(0)
            && record::matches(self.method.as_str(), &self.path, request)
            && self.query.iter().all(|pair| request.query.contains(pair))
    }

    pub(super) fn delayed(&self) -> Duration {
        self.delay
    }

    /// The effect on a request, in a few words for logs and tests.
    pub(super) fn name(&self) -> &'static str {
        match (&self.effect, self.done) {
            (Effect::Kept, _) => "late",
            (Effect::Status(..), false) => "another status",
            (Effect::Status(..), true) => "another status, done",
            (Effect::EmptyList, _) => "an empty list",
            (Effect::Nonsense, _) => "nonsense, done",
            (Effect::Half, _) => "half an answer, done",
            (Effect::Nothing, false) => "nothing",
            (Effect::Nothing, true) => "nothing, done",
            (Effect::Hang, false) => "no answer",
            (Effect::Hang, true) => "no answer, done",
        }
    }

    /// Whether the request is carried out.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the connection ends in the place of an answer, or in the middle of it.
    pub(super) fn effect(&self) -> &Effect {
        &self.effect
    }

    /// Returns what is answered to a request in the place of `answer`.
    ///
    /// `id` is that of the request.
    pub(super) fn apply<C: Cloud>(&self, request: &Recorded, id: &str, answer: Answer) -> Answer {
        let mut answer = match &self.effect {
            Effect::Kept | Effect::Half | Effect::Nothing | Effect::Hang => answer,
            Effect::Status(status, None) => {
                let mut own = with_limits(&answer, C::error_to(request, *status));
                C::identify(&mut own, id);
                own
            }
            Effect::Status(status, Some(body)) => {
                with_limits(&answer, Answer { body: body.clone(), ..C::error_to(request, *status) })
            }
            Effect::EmptyList => with_limits(&answer, C::empty_list(request)),
            Effect::Nonsense => Answer { status: StatusCode::OK, body: b"<html>It works!</html>".to_vec(), ..answer },
        };
        answer.headers.extend(self.headers.clone());
        if let Some((name, pause)) = &self.reset {
            let end = (SystemTime::now() + *pause).duration_since(UNIX_EPOCH).expect("it is after 1970");
            answer.headers.insert(name.clone(), HeaderValue::from(end.as_secs() + u64::from(end.subsec_nanos() > 0)));
        }
        answer
    }
}

/// A fault's answer with the rate limit headers of the one in whose place it stands.
fn with_limits(instead_of: &Answer, mut answer: Answer) -> Answer {
    let headers = instead_of.headers.iter().filter(|(name, _)| **name != CONTENT_TYPE);
    answer.headers.extend(headers.map(|(name, value)| (name.clone(), value.clone())));
    answer
}

/// Takes the first fault that fits a request, and counts it.
pub(super) fn take(faults: &mut [Fault], request: &Recorded) -> Option<Fault> {
    let fault = faults.iter_mut().find(|it| it.fits(request))?;
    if let Some(left) = &mut fault.left {
        *left -= 1;
    }
    Some(fault.clone())
}
