//! A guest's request and the answer to it, as plain values.

use std::fmt;
use std::time::Duration;

/// A request that a guest asks the egress to send. It names an endpoint, never a host.
pub struct GuestRequest {
    /// The name of an endpoint in the operator's config.
    pub endpoint: String,
    /// The HTTP method.
    pub method: Method,
    /// Unescaped segments under the endpoint's base URL.
    pub path: Vec<String>,
    /// Unescaped keys and values.
    pub query: Vec<(String, String)>,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body; GET and HEAD have none.
    pub body: Option<Body>,
}

/// A request's body.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body {
    /// As it is.
    Bytes(Vec<u8>),
    /// Unescaped names and values, in this order. The host writes them as `application/x-www-form-urlencoded`, and judges
    /// them as it judges the query.
    Form(Vec<(String, String)>),
}

/// A place in a cloud's API, as a guest can name it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestLocation {
    /// The endpoint's name.
    pub endpoint: String,
    /// Unescaped segments under its base URL.
    pub path: Vec<String>,
    /// Unescaped names and values.
    pub query: Vec<(String, String)>,
}

/// The part of an answer that a guest gets to see.
#[derive(Debug, Eq, PartialEq)]
pub struct GuestResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers that concern a guest, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, complete.
    pub body: Vec<u8>,
}

/// Why a guest gets no answer.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum SendError {
    /// Policy. Begins with a stable code, `E-EGRESS-PATH: …`, and ends with what the operator would have to allow.
    #[error("{0}")]
    Denied(String),
    /// Not sent, because of the endpoint's budget or the cloud's `retry-after`: not before this pause.
    #[error("not before {0:?} from now")]
    RetryAfter(Duration),
    /// Not sent: name not resolved, connection refused, credential not to be had.
    #[error("{0}")]
    Unreachable(String),
    /// Perhaps carried out: connection lost, time-out, an answer that was cut off, too large or not understood.
    #[error("{0}")]
    Interrupted(String),
}

/// The methods that a guest can name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 6] = [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// Reads `GET` and its like, in upper case.
    ///
    /// # Errors
    ///
    /// A sentence that lists the methods, for every other word.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|it| it.as_str() == text)
            .ok_or_else(|| format!("unknown method {text:?}: one of GET, HEAD, POST, PUT, PATCH, DELETE"))
    }

    /// The method as HTTP writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether a request with it can have a body.
    #[must_use]
    pub fn has_body(self) -> bool {
        !matches!(self, Self::Get | Self::Head)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Method> for http::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::GET,
            Method::Head => Self::HEAD,
            Method::Post => Self::POST,
            Method::Put => Self::PUT,
            Method::Patch => Self::PATCH,
            Method::Delete => Self::DELETE,
        }
    }
}
