//! Changes of route tables.

use crate::simulator::End;

/// A change of a route table that goes on.
pub(super) struct RouteWriter {
    pub(super) table: String,
    pub(super) end: End,
}
