use crate::bindings::host::aerostat::cloud::http as wit;
use crate::gate::{GuestRequest, GuestResponse, Method, SendError};

pub(crate) fn request(it: wit::Request) -> GuestRequest {
    GuestRequest {
        endpoint: it.endpoint,
        method: match it.method {
            wit::Method::Get => Method::Get,
            wit::Method::Head => Method::Head,
            wit::Method::Post => Method::Post,
            wit::Method::Put => Method::Put,
            wit::Method::Patch => Method::Patch,
            wit::Method::Delete => Method::Delete,
        },
        path: it.path,
        query: it.query,
        headers: it.headers,
        body: it.body,
    }
}

pub(crate) fn response(it: GuestResponse) -> wit::Response {
    wit::Response { status: it.status, headers: it.headers, body: it.body }
}

pub(crate) fn error(it: SendError) -> wit::Error {
    match it {
        SendError::Denied(text) => wit::Error::Denied(text),
        SendError::RetryAfter(after) => wit::Error::RetryAfter(u32::try_from(after.as_millis()).unwrap_or(u32::MAX)),
        SendError::Unreachable(text) => wit::Error::Unreachable(text),
        SendError::Interrupted(text) => wit::Error::Interrupted(text),
    }
}
