//! How what aerostat leaves is meant to differ from what the sidecars leave, and why.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

/// All of them.
pub const TABLE: [Meant; 1] = [always(
    "volumes/*: disks/*/description: *",
    "the description says whose the disk is: the cluster's UID and the claim's",
)];
