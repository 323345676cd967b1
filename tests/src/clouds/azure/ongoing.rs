//! Resources and operations as they are kept.

use std::time::SystemTime;

use serde_json::Value;

use crate::simulator::End;

use super::errors::Refusal;
use super::kind::{Kind, Service};

/// A resource.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) kind: Kind,
    pub(super) body: Value,
    pub(super) made: SystemTime,
}

/// An operation, and what its end does.
#[derive(Clone, Debug)]
pub(super) struct Ongoing {
    /// The id of what it is about.
    pub(super) target: String,
    pub(super) service: Service,
    pub(super) location: String,
    pub(super) end: End,
    /// Whether what it is about goes away at the end.
    pub(super) removes: bool,
    pub(super) failure: Option<Refusal>,
    /// Whether a later one has taken its place.
    pub(super) canceled: bool,
    pub(super) started: String,
    pub(super) ended: Option<String>,
}
