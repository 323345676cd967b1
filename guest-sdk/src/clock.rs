//! What time it is, by the host's clock. For what lasts beyond a call: nothing waits inside one.

use crate::host;

/// Seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    host::now()
}
