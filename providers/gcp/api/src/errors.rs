//! The endpoints, and refusals, sorted by what the host does next.

use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::http::{self, Client, Response};
use serde_json::Value;

use crate::fields::text;

/// The name of the endpoint with the machines' project.
pub const COMPUTE: &str = "compute";
/// The name of the endpoint with the network's project.
pub const NETWORK: &str = "network";

/// Compute Engine in the machines' project, which `baseUrl` names:
/// `{"error": {"code": 404, "message": "…", "errors": [{"reason": "notFound", …}]}}`.
pub const API: Client<'_> = Client::new(COMPUTE).refusals(compute_refusal).not_found(is_not_found);
/// Compute Engine in the network's project, where firewalls and routes are.
pub const NETWORK_API: Client<'_> = Client::new(NETWORK).refusals(network_refusal).not_found(is_not_found);

/// How long the API is left alone that says that requests come too fast, without saying for how long. Its limits are those of a minute.
const OVER_LIMIT: Duration = Duration::from_secs(20);

/// The reason of a refusal: "notFound". Empty if it is none of the API's.
#[must_use]
pub fn reason(response: &Response) -> String {
    let error: Value = response.json_in("error").unwrap_or_default();
    error["errors"][0]["reason"].as_str().unwrap_or_default().to_owned()
}

/// Whether it is the API that says that something is not there.
fn is_not_found(response: &Response) -> bool {
    reason(response) == "notFound"
}

fn compute_refusal(response: &Response) -> Option<Error> {
    refusal(response, COMPUTE)
}

fn network_refusal(response: &Response) -> Option<Error> {
    refusal(response, NETWORK)
}

fn refusal(response: &Response, endpoint: &str) -> Option<Error> {
    let complaint = response.complaint();
    let pause = || {
        response.retry_after().unwrap_or_else(|| {
            // The API does not say for how long: the host is told, so that other calls wait too.
            http::throttle(endpoint, OVER_LIMIT, &complaint);
            OVER_LIMIT
        })
    };
    Some(match (&*reason(response), response.status()) {
        ("rateLimitExceeded" | "userRateLimitExceeded" | "concurrentLimitExceeded", _) => {
            Error::retry_after(pause(), &complaint)
        }
        // The message names the quota.
        ("quotaExceeded" | "limitExceeded", _) => Error::quota(complaint),
        ("accessNotConfigured", _) => {
            Error::denied(format_args!("{complaint}. Enable the Compute Engine API in this project"))
        }
        ("resourceNotReady" | "resourceInUseByAnotherResource" | "conditionNotMet", _) => Error::unavailable(complaint),
        (_, 429) => Error::retry_after(pause(), &complaint),
        _ => return None,
    })
}

/// The error that an operation ended with, by its code. The message of a quota names it.
#[must_use]
pub fn operation_error(name: &str, error: &Value) -> Error {
    let code = text(error, "code");
    let why = format!("operation {name} ended with {code}: {}", text(error, "message"));
    match &*code {
        "QUOTA_EXCEEDED" | "LIMIT_EXCEEDED" => Error::quota(why),
        "PERMISSIONS_ERROR" | "FORBIDDEN" => Error::denied(why),
        "INVALID_USAGE" | "INVALID_FIELD_VALUE" | "INVALID_FIELD" | "REQUIRED_FIELD" => Error::invalid(why),
        _ => Error::unavailable(why),
    }
}
