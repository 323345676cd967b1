//! Answers of Keystone: reading one costs no more than its bytes.

use http::HeaderMap;
use measured_work::{Line, fuzz};

use super::*;

const PIECES: [&[u8]; 11] = [
    b"[",
    b"]",
    b"{\"a\":",
    b"}",
    b"{\"token\":{\"user\":{\"id\":\"u\"},\"issued_at\":\"2026-11-27T08:00:00Z\",\"expires_at\":\"2026-11-27T09:00:00Z\",",
    b"\"catalog\":[{\"type\":\"compute\",\"endpoints\":[",
    b"{\"interface\":\"public\",\"region\":\"R\",\"url\":\"https://a.example/v2.1\"},",
    b"{\"error\":{\"message\":\"",
    b"\\u0041\\n",
    b"1234567890",
    b"\"a\",",
];

#[test]
fn adv_158_answers_of_keystone_cost_no_more_than_their_bytes() {
    let headers = HeaderMap::from_iter([(HeaderName::from_static("x-subject-token"), HeaderValue::from_static("t"))]);
    fuzz("answers of Keystone", Line { nanoseconds: 2_000, memory: 16 }, &PIECES, |text| {
        drop(answer::given(&headers, text));
        drop(answer::message(text));
    });
}
