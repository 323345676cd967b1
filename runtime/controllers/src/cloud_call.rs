//! The limit on each call of the cloud.

use std::time::Duration;

use cloud_provider::Error;

/// How long the cloud may take for one call. The sandbox's own limit is shorter.
pub(crate) const CALL: Duration = Duration::from_secs(150);

/// A call that took longer.
pub(crate) fn late() -> Error {
    Error::Unavailable(format!("the cloud did not answer within {} s", CALL.as_secs()))
}
