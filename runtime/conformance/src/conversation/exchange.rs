//! One request with its answer: values only. Also what recordings of vendors' managers are read into.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use egress::{GuestResponse, LeavingRequest, SendError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::secrets;

/// One request with its answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RecordedExchange {
    /// The endpoint's name, or that of the vendor's service.
    pub endpoint: String,
    /// The HTTP method.
    pub method: String,
    /// The whole path at the endpoint's host, percent-encoded, without its query.
    pub path: String,
    /// Names and values as they are meant, in the order of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub query: Vec<(String, String)>,
    /// The operation, where the endpoint has some: `DescribeInstances`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Whether it may change something, by the operator's rule.
    #[serde(skip_serializing_if = "is_false")]
    pub writes: bool,
    /// The request's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<RecordedContent>,
    /// The HTTP status; `None` without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The answer's headers that a provider gets to see. Names in lower case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The answer's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<RecordedContent>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecordedFailure>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(it: &bool) -> bool {
    !it
}

/// A body.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedContent {
    /// JSON, as a value.
    Json(Value),
    /// Text that is no JSON: a form, XML.
    Text(String),
    /// Anything else.
    Base64(String),
}

/// The reason why there is no answer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedFailure {
    /// Refused by the host.
    Denied(String),
    /// Not sent: not before so many milliseconds.
    RetryAfter(u64),
    /// Not sent.
    Unreachable(String),
    /// Perhaps carried out.
    Interrupted(String),
}

impl RecordedContent {
    /// A body without secrets; `None` if it is empty.
    pub(super) fn of(body: &[u8]) -> Option<Self> {
        if body.is_empty() {
            return None;
        }
        Some(match (serde_json::from_slice(body), std::str::from_utf8(body)) {
            (Ok(value), _) => Self::Json(secrets::json(value)),
            (Err(_), Ok(text)) => Self::Text(secrets::text(text)),
            (Err(_), Err(_)) => Self::Base64(STANDARD.encode(body)),
        })
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Json(value) => value.to_string().into_bytes(),
            Self::Text(text) => text.clone().into_bytes(),
            // One that somebody has written wrongly is no body.
            Self::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        }
    }
}

impl RecordedExchange {
    /// A request as it leaves, without an answer and without secrets.
    pub(crate) fn asked(request: &LeavingRequest) -> Self {
        let after_scheme = request.url.split_once("://").map_or(request.url.as_str(), |(_, it)| it);
        let target = after_scheme.find('/').map_or("/", |at| &after_scheme[at..]);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        Self {
            endpoint: request.endpoint.clone(),
            method: request.method.as_str().to_owned(),
            path: path.to_owned(),
            query: pairs.map(|(name, value)| (name.to_string(), secrets::named(&name, &value))).collect(),
            operation: request.operation.clone(),
            writes: request.effect.writes(),
            body: RecordedContent::of(&request.body),
            ..Self::default()
        }
    }

    /// The same request with its answer.
    pub(super) fn with(self, answer: &Result<GuestResponse, SendError>) -> Self {
        let failure = |of: &SendError| match of {
            SendError::Denied(because) => RecordedFailure::Denied(secrets::text(because)),
            SendError::RetryAfter(pause) => RecordedFailure::RetryAfter(pause.as_millis() as u64),
            SendError::Unreachable(because) => RecordedFailure::Unreachable(secrets::text(because)),
            SendError::Interrupted(because) => RecordedFailure::Interrupted(secrets::text(because)),
        };
        match answer {
            Ok(GuestResponse { status, headers, body }) => {
                let kept = headers.iter().filter(|(name, _)| !secrets::is_secret(name));
                let headers = kept.map(|(name, value)| (name.clone(), secrets::text(value))).collect();
                Self { status: Some(*status), headers, answer: RecordedContent::of(body), ..self }
            }
            Err(error) => Self { failure: Some(failure(error)), ..self },
        }
    }

    /// Whether both ask for the same thing: by endpoint, method, path, query in any order, operation and body.
    #[must_use]
    pub fn asks_as(&self, other: &Self) -> bool {
        let key = |it: &Self| (it.endpoint.clone(), it.method.clone(), it.path.clone(), it.operation.clone());
        let query = |exchange: &Self| {
            let mut query = exchange.query.clone();
            query.sort();
            query
        };
        key(self) == key(other) && query(self) == query(other) && self.body == other.body
    }

    /// The answer as the provider gets it.
    pub(super) fn replayed(&self) -> Result<GuestResponse, SendError> {
        match (&self.failure, self.status) {
            (Some(RecordedFailure::Denied(because)), _) => Err(SendError::Denied(because.clone())),
            (Some(RecordedFailure::RetryAfter(pause)), _) => Err(SendError::RetryAfter(Duration::from_millis(*pause))),
            (Some(RecordedFailure::Unreachable(because)), _) => Err(SendError::Unreachable(because.clone())),
            (Some(RecordedFailure::Interrupted(because)), _) => Err(SendError::Interrupted(because.clone())),
            (None, None) => Err(SendError::Interrupted("the recording has no answer to this request".to_owned())),
            (None, Some(status)) => Ok(GuestResponse {
                status,
                headers: self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                body: self.answer.as_ref().map(RecordedContent::bytes).unwrap_or_default(),
            }),
        }
    }

    /// `GET /v1/machines?limit=5`, with the operation where there is one, and the body where it could tell two apart.
    #[must_use]
    pub fn line(&self) -> String {
        let query: Vec<_> = self.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let operation = self.operation.as_ref().map_or_else(String::new, |it| format!(" {it}"));
        format!("{} {}{query}{operation}", self.method, self.path)
    }
}
