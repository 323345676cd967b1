//! A cloud that can be simulated.

use std::time::Duration;

use http::StatusCode;

use super::answer::Answer;
use super::description::Description;
use super::limits::{Limits, Quota};
use super::record::Recorded;

/// One account of a simulated cloud: its state, and the rules by which it answers. Everything else is the simulator's.
pub trait Cloud: Send + Sync + 'static {
    /// How the cloud is called in messages and certificates.
    const NAME: &'static str;
    /// The public names of its API. The simulator's certificate is good for them, too.
    const HOSTS: &'static [&'static str];
    /// The limits that it publishes. Answers of a simulator without limits show them.
    const LIMITS: Limits;

    /// The protocols that it speaks, the best first.
    const PROTOCOLS: &'static [&'static str] = &["h2", "http/1.1"];
    /// Whether the cloud itself judges who asks, as one does that checks signatures: then there is no token.
    const JUDGES: bool = false;

    /// The published description of its API, by which the simulator checks requests and answers. Absent, the cloud checks them itself, and
    /// says in [`Answer::wrong`] what it has found.
    #[must_use]
    fn description() -> Option<&'static Description> {
        None
    }

    /// Says of a request what it asks for, where its path does not: afterwards path and query are as tests name them. By default they stay.
    fn place(request: &mut Recorded) {
        let _ = request;
    }

    /// The `authorization` header of a request with this token: by default that of a bearer's.
    fn authorization(token: &str) -> String {
        format!("Bearer {token}")
    }

    /// Carries a request out. Its token is right, and the limits allow it.
    fn act(&self, request: &Recorded) -> Answer;

    /// The answer to a request that the token is not allowed to make. By default a token may do everything.
    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        let _ = request;
        None
    }

    /// A request that is not carried out: only a cloud that checks requests itself looks at it. What is answered says nothing.
    fn withhold(&self, request: &Recorded) -> Answer {
        let _ = request;
        Answer::no_content()
    }

    /// An answer with this status, and with the body that the cloud has for it.
    fn error(status: StatusCode) -> Answer;

    /// As [`Cloud::error`], to this request, where the cloud's services differ in it.
    fn error_to(request: &Recorded, status: StatusCode) -> Answer {
        let _ = request;
        Self::error(status)
    }

    /// The answer to a request for a list, with an empty list.
    fn empty_list(request: &Recorded) -> Answer;

    /// Says in an answer how many requests are left.
    fn show_quota(answer: &mut Answer, quota: &Quota);

    /// Says in an answer which request it is for. By default no answer says so.
    fn identify(answer: &mut Answer, request: &str) {
        let _ = (answer, request);
    }
}

/// The state of a simulator at the start, whichever cloud it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// The token that is accepted.
    pub token: String,
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        let token = "token-of-the-simulated-account".to_owned();
        Options { token, latency: Duration::ZERO, limits: None, checked: true }
    }
}

/// The state of a simulator at the start, with the behaviour of its cloud.
#[derive(Clone, Debug)]
pub struct Behaving<B> {
    /// A token that is good from the start.
    pub token: String,
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// How the cloud behaves.
    pub behaviour: B,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl<B: Default> Default for Behaving<B> {
    fn default() -> Behaving<B> {
        Behaving::with(B::default())
    }
}

impl<B> Behaving<B> {
    /// The usual state with this behaviour.
    pub fn with(behaviour: B) -> Behaving<B> {
        let Options { token, latency, limits, checked } = Options::default();
        Behaving { token, latency, limits, behaviour, checked }
    }

    /// Options of the core of a simulator, and the behaviour.
    pub fn split(self) -> (Options, B) {
        let Behaving { token, latency, limits, behaviour, checked } = self;
        (Options { token, latency, limits, checked }, behaviour)
    }
}

/// The owner of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The account that everything belongs to unless a test says otherwise.
    Us,
    /// The other account, as with a wrong token in the Secret.
    Other,
}
