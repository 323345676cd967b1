//! Marks of what an object is like: who changes a list in one says which list was read.

use serde_json::Value;

use crate::simulator::Recorded;

use super::errors::{Refused, refused};

/// The mark of an object by its revision.
pub(super) fn etag(object: &Value) -> String {
    format!("W/\"{}\"", object["_revision"].as_u64().unwrap_or_default())
}

/// Refuses a change of an object that is another one by now, and a change with a list in it that does not say which one was read.
pub(super) fn check(request: &Recorded, patch: &Value, live: &Value) -> Result<(), Refused> {
    match request.headers.get("if-match").map(|it| it.as_bytes() == etag(live).as_bytes()) {
        Some(false) => Err(refused(412, "precondition_failed", "The object has changed")),
        None if holds_list(patch) => {
            Err(refused(428, "if_match_required", "A change of a list needs the header If-Match"))
        }
        Some(true) | None => Ok(()),
    }
}

fn holds_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(holds_list),
        _ => false,
    }
}
