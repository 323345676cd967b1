//! Refusals of Octavia, sorted by what the host does next.

use aerostat_sdk::Error;
use aerostat_sdk::http::Response;
use openstack_api::errors::throttled;

/// Whether it is Octavia that says that something is not there.
pub(super) fn is_octavias_404(response: &Response) -> bool {
    !fault(response).is_empty()
}

/// Whether a load balancer, or a part of it, is carrying out an earlier change.
pub(crate) fn is_octavia_at_work(response: &Response) -> bool {
    let words = fault(response);
    response.status() == 409 && (words.contains("immutable") || words.contains("Invalid state PENDING"))
}

pub(super) fn octavia(response: &Response) -> Option<Error> {
    let words = fault(response);
    match response.status() {
        403 if words.contains("Quota has been met") => Some(Error::quota(response.complaint())),
        409 if !is_octavia_at_work(response) => Some(Error::invalid(response.complaint())),
        501 => Some(Error::invalid(response.complaint())),
        _ => throttled(response),
    }
}

/// Octavia's own words.
fn fault(response: &Response) -> String {
    response.json_in("faultstring").unwrap_or_default()
}
