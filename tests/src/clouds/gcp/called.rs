//! Methods as they are called on one resource.

use serde_json::Value;

use crate::simulator::Recorded;

use super::collection::Collection;
use super::errors::{self, Refusal};
use super::place::Place;

/// One resource, as a method is called on it.
pub(super) struct Called<'a> {
    pub(super) request: &'a Recorded,
    pub(super) place: &'a Place,
    pub(super) collection: Collection,
    pub(super) name: &'a str,
}

impl Called<'_> {
    pub(super) fn path(&self) -> String {
        self.place.path(self.collection, self.name)
    }
}

/// The body of a request: an object.
pub(super) fn parsed(request: &Recorded) -> Result<Value, Refusal> {
    let body: Option<Value> = serde_json::from_slice(&request.body).ok();
    body.filter(Value::is_object).ok_or_else(|| errors::bad_request("Invalid JSON payload received."))
}
