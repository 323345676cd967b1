//! Refusals of Cinder, sorted by what the host does next.

use aerostat_sdk::Error;
use aerostat_sdk::http::Response;
use openstack_api::errors::{nova, nova_fault};

/// The error that a refusal of Cinder is; `None` leaves it to the status.
pub(super) fn cinder(response: &Response) -> Option<Error> {
    let (_, words) = nova_fault(response)?;
    let complaint = || format!("{} {words}", response.complaint());
    match response.status() {
        // Some say 403. Beside a quota `Retry-After` is 0, and means nothing.
        403 | 413 if words.to_ascii_lowercase().contains("quota") => Some(Error::quota(complaint())),
        // The volume is in a state that does not allow it just now.
        400 if words.starts_with("Invalid volume") => Some(Error::unavailable(complaint())),
        // The one thing that a creation names.
        404 if words.starts_with("Volume type") => Some(Error::invalid(complaint())),
        _ => nova(response),
    }
}
