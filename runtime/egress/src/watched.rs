//! Requests as a person sees them who tries a provider: all of them, one by one. Nothing in them is a credential. They can be recorded,
//! with their answers as the provider gets to see them, and answered from a recording.

use std::time::Duration;

use bytes::Bytes;

use crate::effect::Effect;
use crate::request::{GuestResponse, Method, SendError};

/// Watches the requests of a provider's calls.
pub trait RequestWatcher: Send + Sync {
    /// Whether a request may leave that the rules let through. One that may not is refused, and the call goes on.
    fn may_leave(&self, request: &LeavingRequest) -> bool;

    /// The answer in the place of the cloud's: then no credential is attached, and nothing leaves. `None` lets the request leave.
    fn answer(&self, _request: &LeavingRequest) -> Option<Result<GuestResponse, SendError>> {
        None
    }

    /// A request that the rules let through has its answer, in the form in which the provider sees it: without headers about credentials,
    /// and none that holds a secret of the host's.
    fn answered(&self, _request: &LeavingRequest, _answer: &Result<GuestResponse, SendError>) {}

    /// A request has ended: with an answer, without one, or refused.
    fn ended(&self, request: &WatchedRequest);
}

/// A request that the rules let through, before a credential is attached.
#[derive(Clone, Debug)]
pub struct LeavingRequest {
    /// The endpoint's name in the operator's config.
    pub endpoint: String,
    /// The HTTP method.
    pub method: Method,
    /// With its query, percent-encoded.
    pub url: String,
    /// The operation, where the endpoint has some.
    pub operation: Option<String>,
    /// The effect of it, by the rule.
    pub effect: Effect,
    /// The rule that let it through: `api.allow[0] GET /v2/droplets/**`.
    pub rule: String,
    /// As the provider has written it.
    pub body: Bytes,
}

/// A request that has ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WatchedRequest {
    /// The endpoint's name, as the provider wrote it.
    pub endpoint: String,
    /// The HTTP method.
    pub method: String,
    /// With its query, percent-encoded; the path alone of a request that no rule let through.
    pub url: String,
    /// The operation, where the endpoint has some.
    pub operation: Option<String>,
    /// The effect of it, by the rule; `None` if no rule let it through.
    pub effect: Option<Effect>,
    /// The HTTP status; `None` without an answer.
    pub status: Option<u16>,
    /// From the provider's word to the answer's last byte.
    pub duration: Duration,
    /// The size of the body that was sent, in bytes.
    pub sent: usize,
    /// The size of the answer's body, in bytes.
    pub received: usize,
    /// Whether an equal read that had been answered, or was under way, answered it.
    pub is_joined: bool,
    /// Why there is no answer: a sentence.
    pub error: Option<String>,
}
