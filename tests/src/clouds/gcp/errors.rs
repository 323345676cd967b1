//! How Compute Engine says that something is wrong.

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::collection::Collection;
use super::place::Place;

/// A request that is refused, or an operation that fails.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// `resourceInUseByAnotherResource`.
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// The code by which an operation tells the same; absent where only answers do.
    pub(super) code: Option<&'static str>,
}

impl Refusal {
    fn new(status: u16, reason: &'static str, message: String) -> Refusal {
        Refusal { status, reason, message, code: None }
    }

    fn or_later(self, code: &'static str) -> Refusal {
        Refusal { code: Some(code), ..self }
    }

    /// The answer that tells it.
    pub(super) fn answer(&self) -> Answer {
        let status = StatusCode::from_u16(self.status).expect("the simulator's statuses are statuses");
        let domain = if self.reason.contains("ateLimitExceeded") || self.reason == "quotaExceeded" {
            "usageLimits"
        } else {
            "global"
        };
        let mut error = json!({
            "code": self.status,
            "message": self.message,
            "errors": [{ "message": self.message, "domain": domain, "reason": self.reason }],
        });
        if let Some(word) = word(self.status) {
            error["status"] = json!(word);
        }
        Answer::json(status, &json!({ "error": error }))
    }

    /// The status in words, as operations have it: `BAD REQUEST`.
    pub(super) fn reason_phrase(&self) -> String {
        let status = StatusCode::from_u16(self.status).ok().and_then(|it| it.canonical_reason());
        status.unwrap_or("Unknown").to_uppercase()
    }

    /// The error of an operation that tells it.
    pub(super) fn in_operation(&self) -> Value {
        json!({ "errors": [{ "code": self.code.unwrap_or("INTERNAL_ERROR"), "message": self.message }] })
    }
}

/// The end of an operation that a test wants to fail.
pub(super) fn planned(status: u16, code: &'static str, message: &str) -> Refusal {
    Refusal::new(status, "backendError", message.to_owned()).or_later(code)
}

/// Google's word for a status.
fn word(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ALREADY_EXISTS",
        412 => "FAILED_PRECONDITION",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        _ => return None,
    })
}

pub(super) fn not_found(path: &str) -> Refusal {
    Refusal::new(404, "notFound", format!("The resource '{path}' was not found"))
}

/// A reference to a resource that is not there.
pub(super) fn nothing_there(field: &str, path: &str) -> Refusal {
    let message = format!(
        "Invalid value for field 'resource.{field}': '{path}'. The referenced {} resource cannot be found.",
        kind(path)
    );
    Refusal::new(400, "invalid", message).or_later("RESOURCE_NOT_FOUND")
}

pub(super) fn taken(path: &str) -> Refusal {
    Refusal::new(409, "alreadyExists", format!("The resource '{path}' already exists"))
}

pub(super) fn not_ready(path: &str) -> Refusal {
    Refusal::new(400, "resourceNotReady", format!("The resource '{path}' is not ready"))
}

pub(super) fn in_use(path: &str, by: &str) -> Refusal {
    let message = format!("The {} resource '{path}' is already being used by '{by}'", kind(path));
    Refusal::new(400, "resourceInUseByAnotherResource", message).or_later("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE")
}

/// A value of a field that is not allowed.
pub(super) fn invalid(field: &str, value: &str, why: &str) -> Refusal {
    Refusal::new(400, "invalid", format!("Invalid value for field '{field}': '{value}'. {why}"))
}

pub(super) fn required(field: &str) -> Refusal {
    Refusal::new(400, "required", format!("Required field '{field}' not specified"))
}

pub(super) fn bad_request(message: &str) -> Refusal {
    Refusal::new(400, "badRequest", message.to_owned())
}

/// A value of the query that cannot be.
pub(super) fn invalid_parameter(message: &str) -> Refusal {
    Refusal::new(400, "invalidParameter", message.to_owned())
}

pub(super) fn stale(what: &str) -> Refusal {
    Refusal::new(412, "conditionNotMet", format!("{what}."))
}

pub(super) fn over_quota(collection: Collection, limit: usize, place: &Place) -> Refusal {
    let place = match place.to_string() {
        it if it.ends_with("/global") => "globally".to_owned(),
        it => format!("in region {}", super::place::name_of(&it)),
    };
    let message = format!("Quota '{}' exceeded.  Limit: {limit}.0 {place}.", collection.quota());
    Refusal::new(403, "quotaExceeded", message).or_later("QUOTA_EXCEEDED")
}

/// A machine that takes no more disks.
pub(super) fn full(instance: &str, limit: usize) -> Refusal {
    let message = format!("Exceeded limit 'maximum_persistent_disks' on resource '{instance}'. Limit: {limit}.0");
    Refusal::new(403, "limitExceeded", message).or_later("LIMIT_EXCEEDED")
}

pub(super) fn second_group(instance: &str, group: &str) -> Refusal {
    let message = format!(
        "Validation failed for instance '{instance}': instance may belong to at most one load-balanced instance group, \
         and it is in '{group}'."
    );
    Refusal::new(400, "instanceInMultipleLoadBalancedIgs", message).or_later("INSTANCE_IN_MULTIPLE_LOAD_BALANCED_IGS")
}

pub(super) fn member(reason: &'static str, instance: &str, group: &str) -> Refusal {
    let what = if reason == "memberAlreadyExists" { "is already a member" } else { "is not a member" };
    Refusal::new(400, reason, format!("Resource '{instance}' {what} of '{group}'"))
}

pub(super) fn forbidden(permission: &str, path: &str) -> Refusal {
    Refusal::new(403, "forbidden", format!("Required 'compute.{permission}' permission for '{path}'"))
}

pub(super) fn not_enabled(project: &str) -> Refusal {
    let message = format!("Compute Engine API has not been used in project {project} before or it is disabled.");
    Refusal::new(403, "accessNotConfigured", message)
}

pub(super) fn unreachable(zone: &str) -> Refusal {
    Refusal::new(503, "backendError", format!("Zone {zone} is not available."))
}

/// The refusal that the API has for a status of its own accord.
pub(super) fn for_status(status: StatusCode) -> Answer {
    let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or("Unknown"));
    let message = |text: &str| text.to_owned();
    let refusal = match code {
        401 => Refusal::new(code, "authError", message("Request had invalid authentication credentials.")),
        403 | 429 => Refusal::new(code, "rateLimitExceeded", message("Rate Limit Exceeded")),
        404 => Refusal::new(code, "notFound", message("The resource was not found")),
        409 => Refusal::new(code, "alreadyExists", message("The resource already exists")),
        412 => stale("Invalid fingerprint"),
        500.. => Refusal::new(code, "backendError", message("Backend Error")),
        _ => Refusal::new(code, "badRequest", message(reason)),
    };
    refusal.answer()
}

fn kind(path: &str) -> &'static str {
    Collection::of(path).map_or("resource", Collection::one)
}
