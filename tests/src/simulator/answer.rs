//! Answers before they are written.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

/// A status, headers and a body.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// All headers but those of HTTP itself, with the content type.
    pub headers: HeaderMap,
    /// Empty where there is none.
    pub body: Vec<u8>,
    /// The faults that the cloud itself has found in the request and in this answer, one sentence each.
    pub wrong: Vec<String>,
}

impl Answer {
    /// Any status with a JSON body.
    #[must_use]
    pub fn json(status: StatusCode, body: &Value) -> Answer {
        let headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))]);
        Answer { status, headers, body: body.to_string().into_bytes(), wrong: Vec::new() }
    }

    /// 200: the answer is what was asked for.
    #[must_use]
    pub fn ok(body: &Value) -> Answer {
        Answer::json(StatusCode::OK, body)
    }

    /// 201: what was asked for is there now.
    #[must_use]
    pub fn created(body: &Value) -> Answer {
        Answer::json(StatusCode::CREATED, body)
    }

    /// 202: what was asked for will be there.
    #[must_use]
    pub fn accepted(body: &Value) -> Answer {
        Answer::json(StatusCode::ACCEPTED, body)
    }

    /// 204: it is done, and there is no body.
    #[must_use]
    pub fn no_content() -> Answer {
        Answer { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), body: Vec::new(), wrong: Vec::new() }
    }

    /// Sets a header, in the place of one that is already there.
    ///
    /// # Panics
    ///
    /// Panics if the value cannot stand in a header.
    pub fn set(&mut self, name: &'static str, value: &str) {
        let value = HeaderValue::from_str(value).expect("the simulator's header values are printable");
        self.headers.insert(HeaderName::from_static(name), value);
    }

    /// Whether the status is one of an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.status.is_client_error() || self.status.is_server_error()
    }
}
