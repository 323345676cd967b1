//! Refusals, sorted by what the host does next.

use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::http::{self, Response};
use serde_json::Value;

use super::names::{COMPUTE, NETWORK};

/// How long the API is left alone that says that requests come too fast, without saying for how long.
const OVER_LIMIT: Duration = Duration::from_secs(30);

/// Codes of a write for which an earlier one of the same object, or of one that it hangs on, has to end first.
const BUSY: [&str; 14] = [
    "AnotherOperationInProgress",
    "RetryableError",
    "RetryableErrorDueToAnotherOperation",
    "ReferencedResourceNotProvisioned",
    "PublicIPAddressCannotBeDeleted",
    "LoadBalancerInUseByVirtualMachineScaleSet",
    "InUseLoadBalancerCannotBeDeleted",
    "InUseSubnetCannotBeDeleted",
    "CannotDeleteLoadBalancerWithPrivateLinkService",
    "CanceledAndSupersededDueToAnotherOperation",
    "OperationPreempted",
    "Conflict",
    "ResourceGroupBeingDeleted",
    "NetworkInterfaceOperationInProgress",
];

/// Codes that mean that an object is not there, for certain.
const NOT_FOUND: [&str; 5] =
    ["ResourceNotFound", "NotFound", "ParentResourceNotFound", "InstanceNotFound", "InvalidResourceId"];

/// The code of a refusal: "ResourceNotFound". Empty if it is none of the API's.
pub(crate) fn code(response: &Response) -> String {
    let error: Value = response.json_in("error").unwrap_or_default();
    error["code"].as_str().unwrap_or_default().to_owned()
}

/// Whether the API says that something is not there. `ResourceGroupNotFound` is also what lists say for some seconds of a group
/// that is there: it proves nothing.
pub(crate) fn is_not_found(response: &Response) -> bool {
    NOT_FOUND.contains(&&*code(response))
}

/// Whether an earlier change has to end first.
pub(crate) fn is_busy(response: &Response) -> bool {
    let status = response.status();
    let code = code(response);
    (status == 423) || (!response.is_success() && is_busy_code(&code)) || (status == 409 && !is_limit(&code))
}

/// Whether this code means that an earlier change has to end first.
pub(crate) fn is_busy_code(code: &str) -> bool {
    BUSY.contains(&code)
}

/// Whether this code says that a quota or a limit is reached.
fn is_limit(code: &str) -> bool {
    code.ends_with("LimitReached")
        || code.ends_with("LimitExceeded")
        || code.ends_with("QuotaExceeded")
        || code.ends_with("CountLimit")
}

pub(super) fn compute_refusal(response: &Response) -> Option<Error> {
    refusal(response, COMPUTE)
}

pub(super) fn network_refusal(response: &Response) -> Option<Error> {
    refusal(response, NETWORK)
}

fn refusal(response: &Response, endpoint: &str) -> Option<Error> {
    let code = code(response);
    let complaint = response.complaint();
    match (&*code, response.status()) {
        (_, 429) if !is_busy_code(&code) => {
            let pause = response.retry_after().unwrap_or_else(|| {
                // The API does not say for how long: the host is told, so that other calls wait too.
                http::throttle(endpoint, OVER_LIMIT, &complaint);
                OVER_LIMIT
            });
            Some(Error::retry_after(pause, complaint))
        }
        (it, _) if is_busy_code(it) => Some(Error::unavailable(complaint)),
        // Lists say so for some seconds of a group that is there.
        ("ResourceGroupNotFound" | "SubscriptionNotFound", _) => {
            Some(Error::unavailable(format_args!("{complaint} (if that lasts, correct the setting that names it)")))
        }
        (it, _) => ended(it, &complaint),
    }
}

/// The error of a code, whatever says it: an answer, or an operation that ended with it. `None` where the status decides.
pub(crate) fn ended(code: &str, complaint: &str) -> Option<Error> {
    match code {
        it if is_limit(it) => Some(Error::quota(complaint)),
        // The message names the action and the scope.
        "AuthorizationFailed" | "LinkedAuthorizationFailed" | "AuthenticationFailed" => Some(Error::denied(complaint)),
        "DnsRecordInUse" | "InvalidRequestFormat" | "InvalidParameter" => Some(Error::invalid(complaint)),
        "OperationNotAllowed" => Some(Error::unavailable(complaint)),
        _ => None,
    }
}
