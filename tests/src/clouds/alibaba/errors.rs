//! How the APIs say that something is wrong: a code, and a sentence.

use http::StatusCode;
use serde_json::json;

use crate::simulator::Answer;

/// The answer to a request that is refused.
pub(super) type Refused = Box<Answer>;

pub(super) fn refused(status: u16, code: &str, message: &str) -> Refused {
    let status = StatusCode::from_u16(status).expect("the simulator's statuses are statuses");
    let recommend = format!("https://api.alibabacloud.com/troubleshoot?q={code}");
    let error = json!({
        "Code": code, "Message": message, "RequestId": "", "HostId": "api.aliyuncs.example", "Recommend": recommend,
    });
    Box::new(Answer::json(status, &error))
}

/// A parameter whose value is not allowed.
pub(super) fn bad(parameter: &str, why: &str) -> Refused {
    refused(400, "InvalidParameter", &format!("The specified parameter {parameter} is not valid: {why}."))
}

/// A parameter that is needed here.
pub(super) fn missing(parameter: &str) -> Refused {
    refused(400, &format!("MissingParameter.{parameter}"), &format!("The parameter {parameter} is missing."))
}

/// Something that is at work on an earlier change.
pub(super) fn busy(code: &str, id: &str) -> Refused {
    refused(400, code, &format!("The status of {id} does not support this operation."))
}

pub(super) fn over_quota(code: &str, what: &str) -> Refused {
    refused(400, code, &format!("The quota of {what} is used up."))
}

/// A request to see whether it is allowed, which it is.
pub(super) fn tried() -> Refused {
    refused(400, "DryRunOperation", "Request validation has been passed with DryRun flag set.")
}

/// The refusal of an action to which a user has no right.
pub(super) fn not_permitted(action: &str) -> Refused {
    refused(403, "Forbidden.RAM", &format!("User not authorized to operate on the specified resource: {action}."))
}

/// The answer to an action that the API has, and this simulator has not.
pub(super) fn unserved(action: &str) -> Refused {
    refused(501, "NotSimulated", &format!("The simulator does not serve {action}."))
}

/// The refusal that the APIs have for a status. Too many requests are status 400, and nobody says when to come back.
pub(super) fn for_status(status: StatusCode) -> Answer {
    let (status, code) = match status.as_u16() {
        401 => (404, "InvalidAccessKeyId.NotFound"),
        403 => (403, "Forbidden.RAM"),
        404 => (404, "ResourceNotFound.Anything"),
        409 => (400, "OperationConflict"),
        429 => (400, "Throttling.User"),
        503 => (503, "ServiceUnavailable"),
        other @ 500.. => (other, "InternalError"),
        other => (other, "InvalidParameter"),
    };
    *refused(status, code, "The request is refused, on purpose.")
}
