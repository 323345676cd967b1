//! Answers before they are written.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// A status, headers and a body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// What was asked for.
    pub(super) fn ok(body: &Value) -> Answer {
        Answer::new(StatusCode::OK, body)
    }

    /// What was asked for is there now.
    pub(super) fn created(body: &Value) -> Answer {
        Answer::new(StatusCode::CREATED, body)
    }

    /// What was asked for will be there.
    pub(super) fn accepted(body: &Value) -> Answer {
        Answer::new(StatusCode::ACCEPTED, body)
    }

    /// It is done, and there is nothing to say.
    pub(super) fn no_content() -> Answer {
        Answer { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), body: Vec::new() }
    }

    /// The request has no token, or not the right one.
    pub(super) fn unauthorized() -> Answer {
        Answer::error(StatusCode::UNAUTHORIZED, "unauthorized", "Unable to authenticate you.")
    }

    /// The request contradicts itself.
    pub(super) fn bad_request(message: &str) -> Answer {
        Answer::error(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// The request says what cannot be.
    pub(super) fn invalid(message: &str) -> Answer {
        Answer::error(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable_entity", message)
    }

    /// The request may not do this, or not now.
    pub(super) fn forbidden(message: &str) -> Answer {
        Answer::error(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// The token may not do this.
    pub(super) fn missing_permission() -> Answer {
        Answer::forbidden("You are missing the required permission for this operation.")
    }

    /// There is no such thing, or no such path.
    pub(super) fn not_found() -> Answer {
        Answer::error(StatusCode::NOT_FOUND, "not_found", "The resource you requested could not be found.")
    }

    /// The limit is used up.
    pub(super) fn too_many_requests() -> Answer {
        Answer::error(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "API rate limit exceeded.")
    }

    /// The body that the service has for a status of its own accord.
    pub(super) fn for_status(status: StatusCode) -> Answer {
        match status {
            StatusCode::UNAUTHORIZED => Answer::unauthorized(),
            StatusCode::FORBIDDEN => Answer::missing_permission(),
            StatusCode::NOT_FOUND => Answer::not_found(),
            StatusCode::TOO_MANY_REQUESTS => Answer::too_many_requests(),
            StatusCode::UNPROCESSABLE_ENTITY => Answer::invalid("request payload validation failed"),
            status if status.is_server_error() => Answer::error(status, "server_error", "Unexpected server-side error"),
            status => {
                let reason = status.canonical_reason().unwrap_or("Unknown");
                Answer::error(status, &reason.to_lowercase().replace(' ', "_"), reason)
            }
        }
    }

    /// Sets a header, in the place of one that is already there.
    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        let value = HeaderValue::from_str(value).expect("the simulator's header values are printable");
        self.headers.insert(HeaderName::from_static(name), value);
    }

    /// Says which request this answers: in a header, and where it is an error also in the body.
    pub(super) fn identify(&mut self, request: &str) {
        self.set("x-request-id", request);
        if self.status.is_client_error() || self.status.is_server_error() {
            let mut body: Value = serde_json::from_slice(&self.body).expect("the simulator's errors are JSON");
            body["request_id"] = json!(request);
            self.body = body.to_string().into_bytes();
        }
    }

    fn error(status: StatusCode, id: &str, message: &str) -> Answer {
        Answer::new(status, &json!({ "id": id, "message": message }))
    }

    fn new(status: StatusCode, body: &Value) -> Answer {
        let headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))]);
        Answer { status, headers, body: body.to_string().into_bytes() }
    }
}
