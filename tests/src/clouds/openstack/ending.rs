//! The ends of changes of load balancers and volumes.

use serde_json::Value;

use crate::simulator::End;

/// A change of a load balancer that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// When it ends.
    pub(super) end: End,
    /// Whether it ends in ERROR.
    pub(super) fails: bool,
}

/// A change of a volume that has not ended.
#[derive(Clone, Debug)]
pub(super) struct VolumeChange {
    /// When it ends.
    pub(super) end: End,
    /// The fields that it changes then; null for all: the volume goes.
    pub(super) fields: Value,
}
