//! Where a cloud and its published description differ. Each cloud lists its own gaps, each with its reason.

use std::sync::Arc;

use serde_json::{Map, Value};

/// Headers of answers that belong to HTTP itself. OpenAPI leaves them to it.
pub(super) const HTTP: [&str; 3] = ["content-length", "content-type", "date"];

/// All differences between a cloud and its description.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    /// Headers of answers, in lower case, that no operation declares, each with the reason why it may be sent.
    pub headers: &'static [(&'static str, &'static str)],
    /// Headers of answers, in lower case, that operations declare and answers lack, each with the reason.
    pub absent: &'static [(&'static str, &'static str)],
    /// The fields that requests may have beyond the description.
    pub requests: &'static [Gap],
    /// The fields that answers may have beyond the description.
    pub answers: &'static [Gap],
}

/// A part of a schema that is not as described.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// The operations for which this is so, as `POST /v2/things`.
    pub operations: &'static [&'static str],
    /// The place among the description's schemas, as a JSON pointer whose parent exists.
    pub place: &'static str,
    /// The real content there, as JSON.
    pub truth: &'static str,
}

/// Returns the description's schemas with the gaps of one operation filled in.
///
/// # Panics
///
/// Panics at a gap whose place has gone: the description is newer than the gap.
pub(super) fn fill(gaps: &[Gap], operation: &str, schemas: &Arc<Map<String, Value>>) -> Arc<Map<String, Value>> {
    let mut schemas = Arc::clone(schemas);
    for gap in gaps.iter().filter(|it| it.operations.contains(&operation)) {
        let name = gap.place.split('/').nth(1).expect("a place is a JSON pointer");
        let schema = Arc::make_mut(&mut schemas).get_mut(name).expect("the schema of a gap is vendored");
        let (parent, last) = gap.place[name.len() + 1..].rsplit_once('/').expect("a place lies inside a schema");
        let parent = schema.pointer_mut(parent).expect("the place of a gap exists");
        parent[last] = serde_json::from_str(gap.truth).expect("a gap is JSON");
    }
    schemas
}
