//! Where the service and its description differ. The one list of exceptions, each with its reason.
//!
//! `kernel` and `next_backup_window` of a droplet are null most of the time, and need no exception: the schemas that they refer to are
//! nullable, which their own property does not repeat.

use std::sync::Arc;

use serde_json::{Map, Value};

/// Answer headers that no operation declares, with the reason why they may be sent.
pub(super) const HEADERS: [(&str, &str); 2] = [
    (
        "retry-after",
        "the introduction promises it in 429 answers of the burst limit, the answers' own headers leave it out",
    ),
    ("x-request-id", "every answer has it, and the error schema's request_id repeats it"),
];

/// Answer headers that belong to HTTP itself. OpenAPI leaves them to it.
pub(super) const HTTP: [&str; 3] = ["content-length", "content-type", "date"];

/// A part of a schema that is not as described.
pub(super) struct Gap {
    /// The operations for which this is so, as `POST /v2/things`.
    operations: &'static [&'static str],
    /// The place among the description's schemas, as a JSON pointer whose parent exists.
    place: &'static str,
    /// What stands there in truth, as JSON.
    truth: &'static str,
}

const CREATE: &str = "POST /v2/load_balancers";
const UPDATE: &str = "PUT /v2/load_balancers/{lb_id}";
const SHOW: &str = "GET /v2/load_balancers/{lb_id}";
const LIST: &str = "GET /v2/load_balancers";

/// What requests may say beyond the description.
pub(super) const REQUESTS: [Gap; 5] = [
    // The vendor's own client sends it; it has an effect at creation only.
    Gap {
        operations: &[CREATE, UPDATE],
        place: "/load_balancer_base/properties/tags",
        truth: r#"{ "type": "array", "items": { "type": "string", "maxLength": 255 } }"#,
    },
    // A private preview; the vendor's own client sends it.
    Gap {
        operations: &[CREATE, UPDATE],
        place: "/load_balancer_base/properties/subnet_uuid",
        truth: r#"{ "type": "string", "format": "uuid" }"#,
    },
    // The vendor's own client sends it; absent, checks do as the load balancer does.
    Gap {
        operations: &[CREATE, UPDATE],
        place: "/health_check/properties/proxy_protocol",
        truth: r#"{ "type": "boolean" }"#,
    },
    // Described as read-only, and yet the way in which one brings an address of one's own.
    Gap {
        operations: &[CREATE],
        place: "/load_balancer_base/properties/ip",
        truth: r#"{ "type": "string", "format": "ipv4" }"#,
    },
    // The vendor's own controller manager tags load balancers in this way.
    Gap {
        operations: &["POST /v2/tags/{tag_id}/resources"],
        place: "/tags_resource/properties/resources/items/properties/resource_type/enum",
        truth: r#"["droplet", "image", "volume", "volume_snapshot", "load_balancer"]"#,
    },
];

/// What answers may show beyond the description.
pub(super) const ANSWERS: [Gap; 2] = [
    // The vendor's own client reads it.
    Gap {
        operations: &[CREATE, UPDATE, SHOW, LIST],
        place: "/load_balancer_base/properties/subnet_uuid",
        truth: r#"{ "type": "string", "format": "uuid" }"#,
    },
    // The vendor's own client reads it.
    Gap {
        operations: &[CREATE, UPDATE, SHOW, LIST],
        place: "/health_check/properties/proxy_protocol",
        truth: r#"{ "type": "boolean" }"#,
    },
];

/// Returns the description's schemas as they are in truth for an operation.
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
