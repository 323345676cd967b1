//! How DigitalOcean says that something is wrong.

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::Answer;

/// The request contradicts itself.
pub(super) fn bad_request(message: &str) -> Answer {
    error(StatusCode::BAD_REQUEST, "bad_request", message)
}

/// The request asks for what cannot be.
pub(super) fn invalid(message: &str) -> Answer {
    error(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable_entity", message)
}

/// The request may not do this, or not now.
pub(super) fn forbidden(message: &str) -> Answer {
    error(StatusCode::FORBIDDEN, "forbidden", message)
}

/// There is no such thing, or no such path.
pub(super) fn not_found() -> Answer {
    error(StatusCode::NOT_FOUND, "not_found", "The resource you requested could not be found.")
}

/// The body that the service has for a status of its own accord.
pub(super) fn for_status(status: StatusCode) -> Answer {
    match status {
        StatusCode::UNAUTHORIZED => error(status, "unauthorized", "Unable to authenticate you."),
        StatusCode::FORBIDDEN => forbidden("You are missing the required permission for this operation."),
        StatusCode::NOT_FOUND => not_found(),
        StatusCode::TOO_MANY_REQUESTS => error(status, "too_many_requests", "API rate limit exceeded."),
        StatusCode::UNPROCESSABLE_ENTITY => invalid("request payload validation failed"),
        status if status.is_server_error() => error(status, "server_error", "Unexpected server-side error"),
        status => {
            let reason = status.canonical_reason().unwrap_or("Unknown");
            error(status, &reason.to_lowercase().replace(' ', "_"), reason)
        }
    }
}

/// Adds the id of the request: in a header, and in the body of an error.
pub(super) fn identify(answer: &mut Answer, request: &str) {
    answer.set("x-request-id", request);
    if answer.is_error() {
        let mut body: Value = serde_json::from_slice(&answer.body).expect("the simulator's errors are JSON");
        body["request_id"] = json!(request);
        answer.body = body.to_string().into_bytes();
    }
}

fn error(status: StatusCode, id: &str, message: &str) -> Answer {
    Answer::json(status, &json!({ "id": id, "message": message }))
}
