//! What the service answers although its description does not say so. The one list of exceptions, each with its reason.
//!
//! `kernel` and `next_backup_window` of a droplet are null most of the time, and need no exception: the schemas that they refer to are
//! nullable, which their own property does not repeat.

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
