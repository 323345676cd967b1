//! A request that may leave.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderMap;

use crate::base_url::{BaseUrl, Origin};
use crate::canonical;
use crate::effect::Effect;
use crate::endpoint::Endpoint;
use crate::request::Method;

/// The sentence about a path at which logins become tokens.
pub(super) const TOKENS: &str = "the path asks for a token, which the host alone does; no config can allow it";

/// A request that the policy let through. Only [`super::permit`] makes one of a guest's.
#[derive(Clone)]
pub(crate) struct Permitted {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) rule: String,
    pub(super) effect: Effect,
    /// Where the endpoint has one.
    pub(super) operation: Option<String>,
    pub(super) method: Method,
    /// Scheme, host and port; `None` until a catalogue has said where the endpoint is.
    pub(super) origin: Option<Origin>,
    /// Path and query, as they go out once there is an origin.
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Permitted {
    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// The rule that let it through, for the audit line: `api.allow[0] GET /v2/droplets/**`.
    pub(crate) fn rule(&self) -> &str {
        &self.rule
    }

    /// The effect of the request, as the rule names it.
    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// The operation, where the endpoint has some: `DescribeInstances`.
    pub(crate) fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    /// Where it goes; `None` until a catalogue has said where the endpoint is.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Where it goes, with path and query; until a catalogue has said it, with the endpoint's words for it.
    pub(crate) fn url(&self) -> String {
        match &self.origin {
            Some(origin) => format!("{origin}{}", self.target),
            None => format!("{} {}", self.endpoint.place, self.target),
        }
    }

    /// The same at the base URL that a catalogue has named. The error is a sentence without its full stop.
    pub(crate) fn at(self, base: &BaseUrl) -> Result<Self, String> {
        let (path, query) =
            self.target.split_once('?').map_or((&*self.target, None), |(path, query)| (path, Some(query)));
        let begin = if base.path().is_empty() { String::new() } else { canonical::encode_path(base.path()) };
        let path = if path == "/" && !begin.is_empty() { begin } else { format!("{begin}{path}") };
        if canonical::asks_for_tokens(path.split('/')) {
            return Err(TOKENS.to_owned());
        }
        let target = query.map_or(path.clone(), |query| format!("{path}?{query}"));
        Ok(Self { origin: Some(base.origin()), target, ..self })
    }

    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    pub(crate) fn into_headers_and_body(self) -> (HeaderMap, Bytes) {
        (self.headers, self.body)
    }
}
