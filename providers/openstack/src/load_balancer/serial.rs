//! Drivers of Octavia that make one thing at a time. The refusal of one is remembered where it is met again, also by another process: by a
//! tag of the load balancers that were made in steps.

use aerostat_sdk::Result;

use super::bodies::OctaviaFeatures;
use super::members::MemberWrites;
use crate::api::octavia::{self, OctaviaBalancer};
use crate::settings::OctaviaSettings;

/// The tag of a load balancer whose driver refused to make all of it at once.
pub(super) const TAG: &str = "aerostat-serial";
/// Octavia's own driver under its names. It makes all at once, so that nothing has to be remembered of it.
const WHOLE: [&str; 3] = ["amphora", "amphorav2", "octavia"];

/// Whether a driver is known to refuse the creation of a load balancer with all of its ports.
///
/// # Errors
///
/// Whatever Octavia answered.
pub(super) fn is_known(driver: &str, features: OctaviaFeatures) -> Result<bool> {
    if WHOLE.contains(&driver) || !features.tags {
        return Ok(false);
    }
    octavia::has_tagged(driver, TAG)
}

/// How members of a load balancer are written.
pub(super) fn member_writes(settings: &OctaviaSettings, live: &OctaviaBalancer) -> MemberWrites {
    match settings.serial {
        true => MemberWrites::Serial,
        false if live.tags().iter().any(|it| it == TAG) => MemberWrites::Single,
        false => MemberWrites::Batch,
    }
}
