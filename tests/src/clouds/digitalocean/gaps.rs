//! Where DigitalOcean and its published description differ. This is the one list of exceptions, each with its reason.
//!
//! `kernel` and `next_backup_window` of a droplet are null most of the time, and need no exception: the schemas that they refer to are
//! nullable, which their own property does not repeat.

use crate::simulator::{Gap, Gaps};

/// All of them.
pub(super) const GAPS: Gaps = Gaps { headers: &HEADERS, absent: &[], requests: &REQUESTS, answers: &ANSWERS };

/// Headers of answers that no operation declares, with the reason why they may be sent.
const HEADERS: [(&str, &str); 2] = [
    (
        "retry-after",
        "the introduction promises it in 429 answers of the burst limit, the answers' own headers leave it out",
    ),
    ("x-request-id", "every answer has it, and the error schema's request_id repeats it"),
];

const CREATE: &str = "POST /v2/load_balancers";
const UPDATE: &str = "PUT /v2/load_balancers/{lb_id}";
const SHOW: &str = "GET /v2/load_balancers/{lb_id}";
const LIST: &str = "GET /v2/load_balancers";

/// The fields that requests may have beyond the description.
const REQUESTS: [Gap; 5] = [
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

/// The fields that answers may have beyond the description.
const ANSWERS: [Gap; 2] = [
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
