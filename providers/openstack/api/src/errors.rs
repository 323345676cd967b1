//! Refusals of services, sorted by what the host does next.

use std::time::Duration;

use aerostat_sdk::Error;
use aerostat_sdk::http::{Refused, Response};
use serde_json::Value;

/// How long a service is left alone that says 413 for too many requests without saying for how long.
const OVER_LIMIT: Duration = Duration::from_secs(30);

/// The type of an error of Neutron: "OverQuota". Empty if it is none.
#[must_use]
pub fn neutron_type(response: &Response) -> String {
    let error: Value = response.json_in("NeutronError").unwrap_or_default();
    error["type"].as_str().unwrap_or_default().to_owned()
}

/// The kind of a refusal of Neutron, by its type; `None` leaves it to the status.
fn neutron_refused(kind: &str) -> Option<Refused> {
    Some(match kind {
        "OverQuota" | "IpAddressGenerationFailure" | "ExternalIpAddressExhausted" => Refused::Quota,
        "IpAddressInUse" | "IpAddressAlreadyAllocated" | "FloatingIPPortAlreadyAssociated" => Refused::Taken,
        "InvalidRoutes" | "RouterInterfaceInUseByRoute" | "ExternalGatewayForFloatingIPNotFound" => Refused::Invalid,
        "RevisionNumberConstraintFailed" | "SecurityGroupInUse" => Refused::Busy,
        _ => return None,
    })
}

/// The error that a refusal of Neutron is; `None` leaves it to the status.
pub fn neutron(response: &Response) -> Option<Error> {
    neutron_refused(&neutron_type(response))?.error(response.complaint()).or_else(|| throttled(response))
}

/// Whether it is Neutron that says that something is not there.
#[must_use]
pub fn is_neutrons_404(response: &Response) -> bool {
    !neutron_type(response).is_empty()
}

/// The error that a refusal of Nova, or of another service whose errors are named so, is; `None` leaves it to the status.
pub fn nova(response: &Response) -> Option<Error> {
    let (name, words) = nova_fault(response)?;
    let complaint = || format!("{} {words}", response.complaint());
    match (response.status(), &*name) {
        (413 | 429, _) => throttled(response),
        (400 | 406, _) => Some(Error::invalid(complaint())),
        (401 | 403, _) => Some(Error::denied(complaint())),
        (404, _) => None,
        _ => Some(Error::unavailable(complaint())),
    }
}

/// Whether it is Nova that says that something is not there.
#[must_use]
pub fn is_novas_404(response: &Response) -> bool {
    nova_fault(response).is_some_and(|(name, _)| name == "itemNotFound")
}

/// The name of an error of Nova, and its words. Cinder's are the same.
#[must_use]
pub fn nova_fault(response: &Response) -> Option<(String, String)> {
    let body: Value = response.json().ok()?;
    let (name, fault) = body.as_object()?.iter().next()?;
    Some((name.clone(), fault.get("message")?.as_str()?.to_owned()))
}

/// Too many requests: services say 413 or 429, and what stands before them, too. A request that is too large is 413 as well, without
/// `Retry-After`.
#[must_use]
pub fn throttled(response: &Response) -> Option<Error> {
    let complaint = response.complaint();
    match (response.status(), response.retry_after()) {
        (413 | 429, Some(pause)) => Some(Error::retry_after(pause, complaint)),
        (413, None) if complaint.to_ascii_lowercase().contains("too large") => Some(Error::invalid(complaint)),
        (413 | 429, None) => Some(Error::retry_after(OVER_LIMIT, complaint)),
        _ => None,
    }
}
