//! Bytes that somebody else has chosen, a guest, a cloud or a server, cost no more than their number.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use measured_work::{Line, fuzz};

use crate::base_url::{BaseUrl, Origin};
use crate::canonical::PathPattern;
use crate::endpoint::{Endpoint, Rule};
use crate::location;
use crate::operation::{OperationPattern, OperationPlace};
use crate::outcome::CompleteAnswer;
use crate::policy::{self, CallState, Mode};
use crate::request::{Body, GuestRequest, Method};
use crate::response;
use crate::testing::request;
use crate::validity;
use crate::wire::check_head;

#[test]
fn adv_158_heads_cost_no_more_than_their_bytes() {
    const NAMES: [&str; 6] =
        ["retry-after", "ratelimit-reset", "x-ratelimit-reset", "content-encoding", "set-cookie", "x-a"];
    let pieces: [&[u8]; 7] =
        [b"1", b"9999999999", b"Sun, 06 Nov 1994 08:49:37 GMT", b"\n", b"\xe4", b"identity, ", b" "];
    fuzz("heads", Line { nanoseconds: 3_000, memory: 16 }, &pieces, |text| {
        let values = text.split(|it| *it == b'\n').filter_map(|it| HeaderValue::from_bytes(it).ok());
        let names = NAMES.iter().cycle().map(|it| HeaderName::from_static(it));
        let mut headers = HeaderMap::new();
        // As many as the library reads of a head.
        names.zip(values).take(100).for_each(|(name, value)| _ = headers.append(name, value));
        let _ = check_head(&headers);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let _ = response::pause(StatusCode::TOO_MANY_REQUESTS, &headers, now);
        let answer = CompleteAnswer { status: StatusCode::OK, headers, body: Vec::new() };
        drop(response::for_guest(answer, now));
    });
}

#[test]
fn adv_158_requests_of_guests_cost_no_more_than_their_bytes() {
    let rule = Rule {
        operations: ["List*", "*Remove*All*", "Make"]
            .map(|it| OperationPattern::parse(it).expect("a pattern"))
            .to_vec(),
        ..Rule::new([Method::Post], ["/**/a/**/b", "/v2/**"].map(|it| PathPattern::parse(it).expect("a pattern")))
    };
    let endpoint = Arc::new(Endpoint {
        allow: vec![rule],
        operation: Some(OperationPlace::Parameter("Action".to_owned())),
        ..Endpoint::new("api", BaseUrl::parse("https://api.example.com").expect("a base URL"))
    });
    let endpoints = [endpoint];
    let pieces: [&[u8]; 12] =
        [b"a", b"b/", b"/", b"&", b"=", b"Action=List", b"%2e", b"\xc3\xa4", b"token", b"..", b"Filter.1.Value", b"*"];
    let state =
        CallState { mode: Mode::Write { deletes: 9 }, leads: true, requests: 0, most: policy::REQUESTS, deletes: 0 };
    fuzz("requests of guests", Line { nanoseconds: 10_000, memory: 256 }, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        let segments: Vec<_> = text.split('/').collect();
        let pairs = || -> Vec<(String, String)> {
            let pairs = text.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let plain = || request(Method::Post, &["v2"]);
        // One after the other: the requests themselves are this test's cost.
        let judge = |request| drop(policy::permit(&endpoints, state, request));
        judge(request(Method::Post, &segments));
        judge(GuestRequest { query: pairs(), ..plain() });
        judge(GuestRequest { headers: pairs(), ..plain() });
        judge(GuestRequest { body: Some(Body::Form(pairs())), ..plain() });
    });
}

#[test]
fn adv_158_urls_in_answers_cost_no_more_than_their_bytes() {
    let base = BaseUrl::parse("https://api.example.com/v2").expect("a base URL");
    let endpoint = Endpoint::new("api", base.clone());
    let pieces: [&[u8]; 9] =
        [b"https://", b"api.example.com/v2", b"/a", b"?", b"a=b&", b"%41", b"+", b":8443", b"[::1]"];
    fuzz("URLs", Line { nanoseconds: 3_000, memory: 64 }, &pieces, |text| {
        let text = String::from_utf8_lossy(text);
        for text in [text.to_string(), format!("https://api.example.com/v2{text}")] {
            let _ = location::resolve([(&endpoint, base.clone())].into_iter(), &text);
            let _ = (Origin::parse(&text), BaseUrl::parse(&text));
        }
    });
}

#[test]
fn adv_158_certificates_cost_no_more_than_their_bytes() {
    let pieces: [&[u8]; 8] = [
        b"\x30\x80",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x30\x82\x10\x00",
        b"\x30\x7f",
        b"\xa0\x03\x02\x01\x02",
        b"\x02\x01\x01",
        b"\x17\x0d491231235959Z",
        b"\x18\x0f99991231235959Z",
    ];
    fuzz("certificates", Line { nanoseconds: 200, memory: 1 }, &pieces, |text| _ = validity::end(text));
}
