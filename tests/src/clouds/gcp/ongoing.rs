//! Resources and operations as they are kept.

use std::time::SystemTime;

use serde_json::Value;

use crate::simulator::End;

use super::errors::Refusal;

/// A resource.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) body: Value,
    pub(super) made: SystemTime,
}

/// An operation, and what its end does.
#[derive(Clone, Debug)]
pub(super) struct Ongoing {
    pub(super) body: Value,
    pub(super) end: End,
    /// The path of what it is about.
    pub(super) target: String,
    /// The resources that a failure brings back, by path.
    pub(super) before: Vec<(String, Option<Stored>)>,
    /// Whether what it is about goes away at the end.
    pub(super) removes: bool,
    pub(super) failure: Option<Refusal>,
}
