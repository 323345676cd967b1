//! Answers of AWS and of services that give keys: reading one costs no more than its bytes.

use http::{HeaderMap, StatusCode};
use measured_work::{Line, fuzz};

use super::super::super::signing::keys_of;
use super::super::{refusal, sts};
use crate::outcome::CompleteAnswer;

const XML: [&[u8]; 16] = [
    b"<a xmlns:b=\"http://example.com/b\">",
    b"<a xmlns=\"\" a=\"b\" a=\"b\" a1=\"\" a2=\"\" a3=\"\">",
    b"<a>",
    b"</a>",
    b"<a/>",
    b"<Error><Code>ExpiredToken</Code>",
    b"</Error>",
    b"<Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey>",
    b"&amp;&#65;",
    b"&b;",
    b"<![CDATA[",
    b"]]>",
    b"<!-- ",
    b"<?a ",
    b"<!DOCTYPE a [<!ENTITY b \"bbbbbbbbbb\">]>",
    b"text \xc3\xa4 \xff",
];

const JSON: [&[u8]; 9] = [
    b"[",
    b"]",
    b"{\"a\":",
    b"}",
    b"\"__type\":\"a#b\",",
    b"{\"Code\":\"Success\",\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Token\":\"t\",\"Expiration\":\"",
    b"\\u0041\\n",
    b"1234567890",
    b"\"a\",",
];

fn answer(status: StatusCode, body: &[u8]) -> CompleteAnswer {
    CompleteAnswer { status, headers: HeaderMap::new(), body: body.to_vec() }
}

#[test]
fn adv_158_errors_of_aws_cost_no_more_than_their_bytes() {
    let line = Line { nanoseconds: 500, memory: 4 };
    for pieces in [&XML[..], &JSON] {
        fuzz("errors of AWS", line, pieces, |text| drop(refusal::refusal(&answer(StatusCode::BAD_REQUEST, text))));
    }
}

#[test]
fn adv_158_sessions_of_sts_cost_no_more_than_their_bytes() {
    let line = Line { nanoseconds: 2_000, memory: 8 };
    fuzz("sessions of STS", line, &XML, |text| drop(sts::session(text)));
}

#[test]
fn adv_158_keys_of_machines_cost_no_more_than_their_bytes() {
    let line = Line { nanoseconds: 2_000, memory: 8 };
    let read = |text: &[u8]| drop(keys_of(answer(StatusCode::OK, text), |_| None));
    fuzz("keys of machines and pods", line, &JSON, read);
}
