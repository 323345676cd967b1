//! How the API of the VPC, and IAM, say that something is wrong.

use http::StatusCode;
use serde_json::json;

use crate::simulator::Answer;

/// The answer to a request that is refused.
pub(super) type Refused = Box<Answer>;

/// The API of the VPC: a code, and a sentence.
pub(super) fn refused(status: u16, code: &str, message: &str) -> Refused {
    let status = StatusCode::from_u16(status).expect("the simulator's statuses are statuses");
    let error = json!({ "code": code, "message": message, "more_info": "https://cloud.ibm.com/docs/vpc" });
    let trace = format!("trace-of-{code}");
    Box::new(Answer::json(status, &json!({ "errors": [error], "trace": trace })))
}

/// A value of a field that is not allowed.
pub(super) fn bad_field(field: &str, why: &str) -> Refused {
    refused(400, "bad_field", &format!("The value of {field} is not allowed: {why}"))
}

pub(super) fn not_found(what: &str, id: &str) -> Refused {
    refused(404, "not_found", &format!("{what} {id} was not found"))
}

pub(super) fn over_quota(what: &str, limit: usize) -> Refused {
    refused(400, "over_quota", &format!("The quota of {limit} for {what} is used up"))
}

/// A load balancer that takes no change at the moment.
pub(super) fn busy(id: &str, status: &str) -> Refused {
    let message = format!("The load balancer {id} cannot be changed while its provisioning_status is {status}");
    refused(409, "load_balancer_update_conflict", &message)
}

pub(super) fn taken(what: &str, name: &str) -> Refused {
    refused(409, "not_unique", &format!("{what} with the name {name} is there already"))
}

/// IAM: a code, and a sentence.
pub(super) fn of_iam(status: StatusCode, code: &str, message: &str) -> Answer {
    let context = json!({ "requestId": "cmVxdWVzdA", "requestType": "incoming.Identity_Token" });
    Answer::json(status, &json!({ "errorCode": code, "errorMessage": message, "context": context }))
}

/// The refusal that the API has for a status of its own accord.
pub(super) fn for_status(status: StatusCode) -> Answer {
    let (code, message) = match status.as_u16() {
        401 => ("not_authorized", "The request is not authorized."),
        403 => ("forbidden", "The credential may not do this."),
        404 => ("not_found", "The resource was not found."),
        409 => ("conflict", "The resource is busy."),
        412 => ("precondition_failed", "The resource has changed."),
        429 => ("too_many_requests", "There were too many requests."),
        500.. => ("internal_error", "Something went wrong."),
        _ => ("bad_request", "The request is wrong."),
    };
    *refused(status.as_u16(), code, message)
}
