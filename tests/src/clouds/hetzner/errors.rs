//! How Hetzner says that something is wrong.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::simulator::Answer;

/// The answer to a request that is refused.
pub(super) type Refused = Box<Answer>;

/// A status with one of the service's codes.
pub(super) fn error(status: u16, code: &str, message: &str) -> Answer {
    let status = StatusCode::from_u16(status).expect("the simulator's statuses are statuses");
    Answer::json(status, &json!({ "error": { "code": code, "message": message, "details": null } }))
}

/// There is no such thing.
pub(super) fn not_found(what: &str) -> Answer {
    error(404, "not_found", &format!("{what} not found"))
}

/// A field of the request asks for what cannot be.
pub(super) fn invalid(field: &str, message: &str) -> Answer {
    let mut answer = error(422, "invalid_input", &format!("invalid input in field '{field}': {message}"));
    let mut body = parse(&answer.body);
    body["error"]["details"] = json!({ "fields": [{ "name": field, "messages": [message] }] });
    answer.body = body.to_string().into_bytes();
    answer
}

/// As an answer that ends what was begun.
pub(super) fn refused(status: u16, code: &str, message: &str) -> Refused {
    Box::new(error(status, code, message))
}

/// The body that the service has for a status of its own accord.
pub(super) fn for_status(status: StatusCode) -> Answer {
    let (code, message) = match status.as_u16() {
        400 => ("json_error", "Invalid JSON input in your request"),
        401 => ("unauthorized", "Request was made with an invalid or unknown token"),
        403 => ("forbidden", "Insufficient permissions for this request"),
        404 => ("not_found", "Entity not found"),
        409 => ("conflict", "The resource has changed during the request, please retry"),
        422 => ("invalid_input", "invalid input"),
        423 => ("locked", "The item you are trying to access is locked (there is already an Action running)"),
        429 => ("rate_limit_exceeded", "limit of requests per hour reached"),
        502 => ("bad_gateway", "bad gateway"),
        503 => ("unavailable", "The service is currently unavailable"),
        504 => ("timeout", "The request could not be answered in time"),
        code if code >= 500 => ("server_error", "Internal server error"),
        _ => ("unknown_error", status.canonical_reason().unwrap_or("Unknown")),
    };
    error(status.as_u16(), code, message)
}

/// Reads the body of a request.
pub(super) fn parsed<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| Box::new(invalid("body", &format!("it cannot be read: {error}"))))
}

fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("the simulator's errors are JSON")
}
