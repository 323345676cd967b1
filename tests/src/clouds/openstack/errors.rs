//! How each service of OpenStack says that something is wrong.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::service::Service;

/// The answer to a request that is refused.
pub(super) type Refused = Box<Answer>;

/// Keystone and its middleware before every other service.
pub(super) fn keystone(status: u16, title: &str, message: &str) -> Refused {
    boxed(status, &json!({ "error": { "code": status, "title": title, "message": message } }))
}

/// A refusal of a token or a password that nobody has.
pub(super) fn unauthorized(location: &str) -> Refused {
    let mut refused = keystone(401, "Unauthorized", "The request you have made requires authentication.");
    refused.set("www-authenticate", &format!("Keystone uri=\"{location}\""));
    refused
}

/// Nova: the kind of fault, as `itemNotFound`.
pub(super) fn nova(status: u16, kind: &str, message: &str) -> Refused {
    boxed(status, &json!({ kind: { "code": status, "message": message } }))
}

/// Neutron: the type of the error, as `IpAddressInUse`.
pub(super) fn neutron(status: u16, kind: &str, message: &str) -> Refused {
    boxed(status, &json!({ "NeutronError": { "type": kind, "message": message, "detail": "" } }))
}

/// Octavia: a sentence, and whose fault it is.
pub(super) fn octavia(status: u16, message: &str) -> Refused {
    let fault = if status >= 500 && status != 501 { "Server" } else { "Client" };
    boxed(status, &json!({ "faultcode": fault, "faultstring": message, "debuginfo": null }))
}

/// Octavia: a value that its types do not allow.
pub(super) fn octavia_field(field: &str, value: &str, should: &str) -> Refused {
    octavia(400, &format!("Invalid input for field/attribute {field}. Value: '{value}'. {should}"))
}

/// Octavia: something that the request asks for is not so.
pub(super) fn octavia_validation(message: &str) -> Refused {
    octavia(400, &format!("Validation failure: {message}"))
}

/// Octavia: an object that is changing takes no other change.
pub(super) fn immutable(kind: &str, id: &str) -> Refused {
    octavia(409, &format!("{kind} {id} is immutable and cannot be updated."))
}

/// Barbican.
pub(super) fn barbican(status: u16, title: &str, description: &str) -> Refused {
    boxed(status, &json!({ "code": status, "title": title, "description": description }))
}

/// The filter before Octavia and Nova that refuses a body by its size.
pub(super) fn too_large() -> Refused {
    let text = "413 Request Entity Too Large\n\nRequest is too large. Larger than max_request_body_size (%s).\n\n   ";
    let mut answer = Answer::json(StatusCode::PAYLOAD_TOO_LARGE, &Value::Null);
    answer.set("content-type", "text/plain; charset=UTF-8");
    answer.body = text.as_bytes().to_vec();
    Box::new(answer)
}

/// The body that a service has for a status of its own accord.
pub(super) fn for_status(service: Service, status: StatusCode) -> Answer {
    let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or("Unknown"));
    if status == StatusCode::UNAUTHORIZED {
        return *unauthorized("http://keystone");
    }
    *match service {
        Service::Identity => keystone(code, reason, reason),
        Service::Compute | Service::Volume => match code {
            403 => nova(code, "forbidden", "Policy doesn't allow this to be performed."),
            404 => nova(code, "itemNotFound", "The resource could not be found."),
            409 => nova(code, "conflictingRequest", "There was a conflict with a current operation."),
            413 | 429 => nova(code, "overLimit", "This request was rate-limited."),
            400 => nova(code, "badRequest", "The request is invalid."),
            _ => nova(code, "computeFault", reason),
        },
        Service::Network => match code {
            403 => neutron(code, "PolicyNotAuthorized", "rule is disallowed by policy"),
            404 => neutron(code, "HTTPNotFound", "The resource could not be found."),
            409 => neutron(code, "Conflict", "There was a conflict when trying to complete your request."),
            412 => neutron(code, "RevisionNumberConstraintFailed", "Constrained to 1, but current revision is 2"),
            code if code >= 500 => neutron(
                code,
                "HTTPInternalServerError",
                "Request Failed: internal server error while processing your request.",
            ),
            _ => neutron(code, "BadRequest", reason),
        },
        Service::LoadBalancer => match code {
            403 => octavia(code, "Policy does not allow this request to be performed."),
            404 => octavia(code, "Load Balancer not found."),
            409 => octavia(code, "Load Balancer is immutable and cannot be updated."),
            501 => octavia(code, "Provider 'amphora' does not support a requested option."),
            _ => octavia(code, reason),
        },
        Service::KeyManager => barbican(code, reason, reason),
    }
}

/// Reads the body of a request as an object under one key, which every service but Barbican has.
pub(super) fn under<'a>(body: &'a Value, key: &str, service: Service) -> Result<&'a Value, Refused> {
    body.get(key).ok_or_else(|| {
        let message = format!("Unable to find '{key}' in request body");
        match service {
            Service::Network => neutron(400, "HTTPBadRequest", &message),
            _ => octavia(400, &message),
        }
    })
}

/// Reads the body of a request.
pub(super) fn parsed<T: for<'a> Deserialize<'a>>(body: &[u8], service: Service) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("The body cannot be read: {error}");
        match service {
            Service::Identity => keystone(400, "Bad Request", &message),
            Service::Compute | Service::Volume => nova(400, "badRequest", &message),
            Service::Network => neutron(400, "HTTPBadRequest", &message),
            Service::LoadBalancer => octavia(400, &message),
            Service::KeyManager => barbican(400, "Bad Request", &message),
        }
    })
}

fn boxed(status: u16, body: &Value) -> Refused {
    let status = StatusCode::from_u16(status).expect("the simulator's statuses are statuses");
    Box::new(Answer::json(status, body))
}
