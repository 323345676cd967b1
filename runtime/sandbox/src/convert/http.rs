use egress::{Body, GuestRequest, GuestResponse, Method, RequestLocation, SendError};

use crate::bindings::host::aerostat::cloud::http as wit;
use crate::bindings::host::aerostat::cloud::types as shared;

pub(crate) fn request(it: wit::Request) -> GuestRequest {
    GuestRequest {
        endpoint: it.endpoint,
        method: match it.method {
            shared::Method::Get => Method::Get,
            shared::Method::Head => Method::Head,
            shared::Method::Post => Method::Post,
            shared::Method::Put => Method::Put,
            shared::Method::Patch => Method::Patch,
            shared::Method::Delete => Method::Delete,
        },
        path: it.path,
        query: it.query,
        headers: it.headers,
        body: it.body.map(|body| match body {
            wit::Body::Bytes(bytes) => Body::Bytes(bytes),
            wit::Body::Form(pairs) => Body::Form(pairs),
        }),
    }
}

pub(crate) fn response(it: GuestResponse) -> wit::Response {
    wit::Response { status: it.status, headers: it.headers, body: it.body }
}

pub(crate) fn location(it: RequestLocation) -> wit::Location {
    let RequestLocation { endpoint, path, query } = it;
    wit::Location { endpoint, path, query }
}

pub(crate) fn error(it: SendError) -> wit::Error {
    match it {
        SendError::Denied(text) => wit::Error::Denied(text),
        SendError::RetryAfter(after) => wit::Error::RetryAfter(u32::try_from(after.as_millis()).unwrap_or(u32::MAX)),
        SendError::Unreachable(text) => wit::Error::Unreachable(text),
        SendError::Interrupted(text) => wit::Error::Interrupted(text),
    }
}
