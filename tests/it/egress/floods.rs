//! Servers that never answer, and servers that send without end: the call ends, and so does the connection.

use std::time::{Duration, Instant};

use egress::{Endpoint, EndpointLimits, Method, PathPattern, Rule};
use tests::capture::{Bytes, TlsServer as Raw};
use tests::wait;

use crate::setup::{Folder, Lab, Outcome, Request, Setup, endpoint, get};

/// As long as no test waits for a limit that it does not mean.
const LONG: Duration = Duration::from_secs(60);
/// Less than an unused connection is kept for, and than any limit that a test does not mean.
const SOON: Duration = Duration::from_secs(20);

/// Types of HTTP/2 frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xee;

const END_HEADERS: u8 = 4;
/// `:status: 200` and `:status: 100`, in HPACK.
const OK: &[u8] = &[0x88];
const CONTINUE: &[u8] = &[0x08, 3, b'1', b'0', b'0'];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// An HTTP/2 server's first frame, with these settings.
fn settings(settings: &[u8]) -> Vec<u8> {
    frame(SETTINGS, 0, 0, settings)
}

fn http2(answer: Vec<u8>, flood: Vec<u8>) -> Bytes {
    // Many at a time, so that the server is not slower than its client.
    Bytes { greeting: settings(&[]), answer, flood: flood.repeat(64), deaf: false }
}

async fn lab(server: &Raw, limits: EndpointLimits) -> Lab {
    let folder = Folder::new();
    let post = Rule::new([Method::Post], [PathPattern::parse("/v2/**").unwrap()]);
    let mut api = Endpoint { ca_file: Some(folder.write("ca.pem", server.ca())), ..endpoint(&server.url()) };
    api.allow.push(post);
    api.limits = EndpointLimits { requests_per_second: 10_000.0, reuse: Duration::ZERO, ..limits };
    Setup::new([api]).load().await
}

fn patient() -> EndpointLimits {
    EndpointLimits { first_byte: LONG, idle: LONG, total: LONG, ..EndpointLimits::default() }
}

/// Waits until the server has seen its connections closed, sooner than an unused one would be.
async fn closed(server: &Raw, what: &str) {
    let closed = wait::within(SOON, async || (server.open() == 0).then_some(())).await;
    closed.unwrap_or_else(|| panic!("{what}: of {} connections {} are open", server.connections(), server.open()));
}

/// Asserts that a request to such a server is given up, and its connection with it, before any time limit.
async fn given_up(what: &str, server: Raw, request: Request) {
    let lab = lab(&server, patient()).await;
    let start = Instant::now();
    let outcome = if request.method == "GET" { lab.send(&request).await } else { lab.ensure(&request).await };
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{what}: {outcome:?}");
    assert!(start.elapsed() < SOON, "{what}: only after {:?}", start.elapsed());
    closed(&server, what).await;
    assert_eq!(server.connections(), 1, "{what}");
}

#[tokio::test]
async fn adv_110_a_failed_call_closes_its_connection() {
    let short = EndpointLimits { first_byte: Duration::from_millis(300), ..patient() };
    let pings = frame(PING, 0, 0, &[0; 8]);
    let idle = EndpointLimits { idle: Duration::from_millis(300), ..patient() };
    let total = EndpointLimits { total: Duration::from_millis(600), ..patient() };
    let head = frame(HEADERS, END_HEADERS, 1, OK);
    let begun = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec();
    let large = EndpointLimits { response_bytes: 8, ..patient() };
    for (what, server, limits) in [
        ("silence over HTTP/2", Raw::http2(http2(Vec::new(), Vec::new())).await, short.clone()),
        ("half an answer over HTTP/2", Raw::http2(http2(head.clone(), Vec::new())).await, idle.clone()),
        ("half an answer over HTTP/2, in all", Raw::http2(http2(head, Vec::new())).await, total.clone()),
        ("deafness over HTTP/2", Raw::http2(Bytes { deaf: true, ..http2(Vec::new(), pings) }).await, short.clone()),
        ("silence over HTTP/1", Raw::http1(Bytes::default()).await, short),
        ("half an answer over HTTP/1", Raw::http1(Bytes { answer: begun.clone(), ..Bytes::default() }).await, idle),
        ("a large answer over HTTP/1", Raw::http1(Bytes { answer: begun, ..Bytes::default() }).await, large),
    ] {
        let lab = lab(&server, limits).await;
        let outcome = lab.send(&get(&["v2"])).await;
        assert!(matches!(outcome, Outcome::Interrupted(_)), "{what}: {outcome:?}");
        closed(&server, what).await;
        assert_eq!(server.connections(), 1, "{what}");
    }
}

#[tokio::test]
async fn adv_110_a_call_that_is_given_up_closes_its_connection() {
    for (what, server) in
        [("HTTP/2", Raw::http2(http2(Vec::new(), Vec::new())).await), ("HTTP/1", Raw::http1(Bytes::default()).await)]
    {
        let lab = lab(&server, patient()).await;
        let request = get(&["v2"]);
        let begun = wait::until("the server has the connection", async || (server.connections() == 1).then_some(()));
        tokio::select! {
            outcome = lab.send(&request) => panic!("{what}: {outcome:?}"),
            () = begun => {}
        }
        closed(&server, what).await;
    }
}

#[tokio::test]
async fn adv_110_floods_of_http2_frames_end_the_call() {
    let headers = frame(HEADERS, END_HEADERS, 1, OK);
    // An entry of the dynamic table that is as large as the table allows, and then nothing but that entry.
    let entry = [&[0x40, 1, b'x', 0x7f, 0x80 | 0x21, 0x1e][..], &[b'y'; 4000]].concat();
    let bomb = [OK, &entry, &[0xbe; 12_000]].concat();
    for (what, answer, flood) in [
        ("PING", Vec::new(), frame(PING, 0, 0, &[0; 8])),
        ("SETTINGS", Vec::new(), settings(&[])),
        ("acknowledged PING", Vec::new(), frame(PING, 1, 0, &[0; 8])),
        ("RST_STREAM", Vec::new(), frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])),
        ("WINDOW_UPDATE", Vec::new(), frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("PRIORITY", Vec::new(), frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])),
        ("unknown frames", Vec::new(), frame(UNKNOWN, 0, 0, &[])),
        ("PUSH_PROMISE", Vec::new(), frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], OK].concat())),
        ("interim answers", Vec::new(), frame(HEADERS, END_HEADERS, 1, CONTINUE)),
        ("CONTINUATION", frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 1, &[0, 1, b'x', 1, b'y'])),
        ("empty CONTINUATION", frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 1, &[])),
        ("HPACK", frame(HEADERS, END_HEADERS, 1, &bomb), frame(HEADERS, END_HEADERS, 1, &bomb)),
        ("empty DATA", headers.clone(), frame(DATA, 0, 1, &[])),
        ("DATA of one byte", headers, frame(DATA, 0, 1, b"x")),
    ] {
        given_up(what, Raw::http2(http2(answer, flood)).await, get(&["v2"])).await;
    }
}

#[tokio::test]
async fn adv_110_windows_of_one_byte_end_the_call() {
    let one = [0, 4, 0, 0, 0, 1];
    let server = Raw::http2(Bytes {
        greeting: settings(&one),
        flood: frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]).repeat(64),
        ..Bytes::default()
    })
    .await;
    let body = Some("x".repeat(1 << 20));
    given_up("windows of one byte", server, Request { method: "POST", body, ..get(&["v2"]) }).await;
    // A window that stays shut is the business of the time limits.
    let server = Raw::http2(Bytes { greeting: settings(&[0, 4, 0, 0, 0, 0]), ..Bytes::default() }).await;
    let lab = lab(&server, EndpointLimits { first_byte: Duration::from_millis(300), ..patient() }).await;
    let body = Some("x".repeat(1 << 20));
    let outcome = lab.ensure(&Request { method: "POST", body, ..get(&["v2"]) }).await;
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
    closed(&server, "a window of nothing").await;
}

#[tokio::test]
async fn adv_110_interim_answers_over_http1_end_the_call() {
    let flood = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(64);
    given_up("interim answers", Raw::http1(Bytes { flood, ..Bytes::default() }).await, get(&["v2"])).await;
    // A few are honest.
    let answer =
        [&b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(16)[..], b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"];
    let server = Raw::http1(Bytes { answer: answer.concat(), ..Bytes::default() }).await;
    assert_eq!(lab(&server, patient()).await.body(&get(&["v2"])).await, "x");
}
