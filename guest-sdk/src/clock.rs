//! The time by the host's clock, for pauses between calls: no call waits.

use crate::host;

/// Seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    host::now()
}
