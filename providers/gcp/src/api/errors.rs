//! Refusals, sorted by what the host does next.

use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::http::{self, Response};
use serde_json::Value;

/// The name of the endpoint with the machines' project.
pub(crate) const COMPUTE: &str = "compute";
/// The name of the endpoint with the network's project.
pub(crate) const NETWORK: &str = "network";

/// How long the API is left alone that says that requests come too fast, without saying for how long. Its limits are those of a minute.
const OVER_LIMIT: Duration = Duration::from_secs(20);

/// The reason of a refusal: "notFound". Empty if it is none of the API's.
pub(crate) fn reason(response: &Response) -> String {
    let error: Value = response.json_in("error").unwrap_or_default();
    error["errors"][0]["reason"].as_str().unwrap_or_default().to_owned()
}

/// Whether it is the API that says that something is not there.
pub(super) fn is_not_found(response: &Response) -> bool {
    reason(response) == "notFound"
}

pub(super) fn compute_refusal(response: &Response) -> Option<Error> {
    refusal(response, COMPUTE)
}

pub(super) fn network_refusal(response: &Response) -> Option<Error> {
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
