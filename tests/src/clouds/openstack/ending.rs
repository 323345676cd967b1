//! The end of a change of a load balancer.

use crate::simulator::End;

/// A change that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// When it ends.
    pub(super) end: End,
    /// Whether it ends in ERROR.
    pub(super) fails: bool,
}
