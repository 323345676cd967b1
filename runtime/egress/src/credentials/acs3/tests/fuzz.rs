//! Answers of Alibaba Cloud: reading one costs no more than its bytes.

use http::{HeaderMap, StatusCode};
use measured_work::{Line, fuzz};

use super::super::{refusal, sts};
use crate::outcome::CompleteAnswer;

const PIECES: [&[u8]; 9] = [
    b"[",
    b"]",
    b"{\"a\":",
    b"}",
    b"\"Code\":\"InvalidSecurityToken.Expired\",",
    b"{\"Credentials\":{\"AccessKeyId\":\"A\",\"AccessKeySecret\":\"s\",\"SecurityToken\":\"t\",\"Expiration\":\"",
    b"\\u0041\\n",
    b"1234567890",
    b"\"a\",",
];

#[test]
fn adv_158_errors_of_alibaba_cost_no_more_than_their_bytes() {
    let line = Line { nanoseconds: 500, memory: 4 };
    let answer = |body: &[u8]| CompleteAnswer {
        status: StatusCode::BAD_REQUEST,
        headers: HeaderMap::new(),
        body: body.to_vec(),
    };
    fuzz("errors of Alibaba Cloud", line, &PIECES, |text| drop(refusal::refusal(&answer(text))));
}

#[test]
fn adv_158_sessions_of_alibaba_cost_no_more_than_their_bytes() {
    let line = Line { nanoseconds: 2_000, memory: 8 };
    fuzz("sessions of Alibaba Cloud", line, &PIECES, |text| drop(sts::session(text)));
}
