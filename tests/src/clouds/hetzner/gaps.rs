//! Where Hetzner and its published description differ. This is the one list of exceptions, each with its reason.

use crate::simulator::{Gap, Gaps};

/// All of them.
pub(super) const GAPS: Gaps = Gaps { headers: &HEADERS, absent: &ABSENT, requests: &REQUESTS, answers: &ANSWERS };

/// Headers of answers that no operation declares, with the reason why they may be sent.
const HEADERS: [(&str, &str); 4] = [
    ("ratelimit-limit", "the introduction promises it in every answer"),
    ("ratelimit-remaining", "the introduction promises it in every answer"),
    ("ratelimit-reset", "the introduction promises it in every answer"),
    ("x-correlation-id", "every answer has it, and the support asks for it"),
];

/// Headers that operations declare and answers lack, with the reason.
const ABSENT: [(&str, &str); 1] = [(
    "x-next",
    "only lists of servers declare it, and the introduction leads from page to page by the answer's `meta`",
)];

const CREATE: &str = "POST /load_balancers";
const SHOW: &str = "GET /load_balancers/{id}";
const LIST: &str = "GET /load_balancers";
const REPLACE: &str = "PUT /load_balancers/{id}";
const ADD_SERVICE: &str = "POST /load_balancers/{id}/actions/add_service";
const UPDATE_SERVICE: &str = "POST /load_balancers/{id}/actions/update_service";

/// After how many seconds without a byte a connection ends.
const TIMEOUT_IDLE: &str = r#"{ "type": "integer", "minimum": 30, "maximum": 300 }"#;

/// The fields that requests may have beyond the description.
const REQUESTS: [Gap; 1] = [
    // The vendor's own client sends it.
    Gap {
        operations: &[CREATE, ADD_SERVICE, UPDATE_SERVICE],
        place: "/http/properties/timeout_idle",
        truth: TIMEOUT_IDLE,
    },
];

/// The fields that answers may have beyond the description, or lack.
const ANSWERS: [Gap; 2] = [
    // The vendor's own client reads it.
    Gap { operations: &[CREATE, SHOW, LIST, REPLACE], place: "/http/properties/timeout_idle", truth: TIMEOUT_IDLE },
    // Without `datacenter`, which servers lost in July 2026 by the vendor's changelog.
    Gap {
        operations: &["GET /servers", "GET /servers/{id}"],
        place: "/server/required",
        truth: r#"["created", "id", "labels", "location", "name", "private_net", "protection", "public_net", "server_type", "status"]"#,
    },
];
