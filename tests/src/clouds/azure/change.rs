//! A write of one resource, as rules judge it.

use serde_json::Value;

use super::errors::{self, Refusal};
use super::id::key;
use super::kind::Kind;
use super::references::References;
use super::world::{World, text};

/// A write of one resource.
pub(super) struct Change<'a> {
    pub(super) id: &'a str,
    pub(super) kind: Kind,
    /// The resource that is there.
    pub(super) before: Option<Value>,
    pub(super) references: References,
}

impl Change<'_> {
    /// Refuses a reference to something that is not there, or is changing.
    pub(super) fn need(&self, world: &World, id: &str) -> Result<Value, Refusal> {
        let there = world.get(id).ok_or_else(|| errors::nothing_there(id, self.id))?;
        let state = text(&there["properties"], "provisioningState");
        if matches!(state, "Updating" | "Deleting" | "Creating") && key(id) != key(self.id) {
            return Err(errors::retryable(text(there, "id"), self.id, state).after(world.behaviour.retry_after));
        }
        Ok(there.clone())
    }
}
