//! The end of a change of a load balancer.

use std::time::SystemTime;

/// A change that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// When it ends.
    pub(super) end: End,
    /// Whether it ends in ERROR.
    pub(super) fails: bool,
}

/// The end of a change.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    At(SystemTime),
    /// After so many reads of the load balancer.
    After(usize),
    Never,
}
