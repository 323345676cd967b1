//! The part of an answer that reaches the guest, and the pause that the cloud asks for.

use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::budget::PAUSE;
use crate::outcome::CompleteAnswer;
use crate::request::GuestResponse;

/// Headers that are the connection's or the credential's business, or would make a client remember something.
const STRIPPED: [&str; 14] = [
    "alt-svc",
    "authentication-info",
    "clear-site-data",
    "connection",
    "keep-alive",
    "nel",
    "report-to",
    "set-cookie",
    "set-cookie2",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-subject-token",
];

/// Where a cloud says when its limit on requests ends. draft-ietf-httpapi-ratelimit-headers-06 names the first; the second is
/// what most APIs have called it before.
const RESETS: [&str; 2] = ["ratelimit-reset", "x-ratelimit-reset"];
/// A smaller number in such a header is seconds from now, as in the draft; others are seconds since 1970, as at DigitalOcean
/// and at Hetzner. It was 2001 then.
const UNIX_TIMES: u64 = 1_000_000_000;
/// The longest time that such a header can mean in seconds: a longer one is in another unit.
const LONGEST_RESET: Duration = Duration::from_secs(24 * 3600);

/// The pause that an answer asks for, between a second and an hour: 413, 429 or 503 with `retry-after`, and 429 without it that
/// says when the limit ends. Where there are both, `retry-after` counts, as the draft has it. OpenStack's services, and proxies
/// before them, say 413 for too many requests; without `retry-after` it is about the size of this one (RFC 9110, 15.5.14).
pub(crate) fn pause(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let asked = match status {
        StatusCode::TOO_MANY_REQUESTS => retry_after(headers, now).or_else(|| reset(headers, now)),
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::SERVICE_UNAVAILABLE => retry_after(headers, now),
        _ => None,
    }?;
    if asked > *PAUSE.end() {
        tracing::warn!(asked_s = asked.as_secs(), "the cloud asks for a pause of more than an hour; it gets an hour");
    }
    Some(asked.clamp(*PAUSE.start(), *PAUSE.end()))
}

/// The answer without the headers that do not concern a guest. `retry-after` comes in seconds, however it was written.
pub(crate) fn for_guest(answer: CompleteAnswer, now: SystemTime) -> GuestResponse {
    let CompleteAnswer { status, mut headers, body } = answer;
    let after = retry_after(&headers, now);
    headers.remove(RETRY_AFTER);
    if let Some(after) = after {
        let after = after.clamp(*PAUSE.start(), *PAUSE.end());
        // A part of a second counts as a whole one: not before the pause is over.
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).ok();
    let headers = headers
        .iter()
        .filter(|(name, _)| !is_stripped(name))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?)))
        .collect();
    GuestResponse { status: status.as_u16(), headers, body }
}

fn is_stripped(name: &HeaderName) -> bool {
    name.as_str().starts_with("proxy-") || STRIPPED.contains(&name.as_str())
}

fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) {
        // What has too many digits for a number is as long as can be.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default())
}

/// How long the cloud's limit on requests lasts, if one header says so in a way that can be meant.
fn reset(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = RESETS.iter().find_map(|it| headers.get(*it))?.to_str().ok()?.trim();
    let seconds = text.bytes().all(|it| it.is_ascii_digit()).then(|| text.parse().ok()).flatten()?;
    let end = Duration::from_secs(seconds);
    let left = match seconds {
        0..UNIX_TIMES => end,
        UNIX_TIMES.. => end.saturating_sub(now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()),
    };
    Some(left).filter(|it| *it <= LONGEST_RESET)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    /// 1994-11-06T08:49:00Z.
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_740)
    }

    #[test]
    fn adv_29_a_pause_is_between_a_second_and_an_hour() {
        for (text, expected) in [
            ("0", Some(1)),
            ("7", Some(7)),
            ("3600", Some(3600)),
            ("3601", Some(3600)),
            ("4294967295", Some(3600)),
            ("99999999999999999999999999", Some(3600)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(1)),
            ("Mon, 07 Nov 1994 08:49:37 GMT", Some(3600)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            let headers = headers(&[("retry-after", text)]);
            let expected = expected.map(Duration::from_secs);
            assert_eq!(pause(StatusCode::TOO_MANY_REQUESTS, &headers, now()), expected, "{text}");
            assert_eq!(pause(StatusCode::SERVICE_UNAVAILABLE, &headers, now()), expected, "{text}");
            assert_eq!(pause(StatusCode::PAYLOAD_TOO_LARGE, &headers, now()), expected, "{text}");
            assert_eq!(pause(StatusCode::OK, &headers, now()), None, "{text}");
        }
        for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::PAYLOAD_TOO_LARGE] {
            assert_eq!(pause(status, &HeaderMap::new(), now()), None);
        }
    }

    #[test]
    fn adv_29_a_refusal_may_say_when_the_limit_ends() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (text, expected) in [
            ("1700000037", Some(37)),
            ("1699999999", Some(1)),
            ("1700003601", Some(3600)),
            ("1700086400", Some(3600)),
            ("1700086401", None),
            ("1700000037000", None),
            ("37", Some(37)),
            ("0", Some(1)),
            ("86400", Some(3600)),
            ("86401", None),
            ("99999999999999999999999999", None),
            ("-30", None),
            ("30.5", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT", None),
            ("", None),
        ] {
            for name in RESETS {
                let headers = headers(&[(name, text)]);
                let expected = expected.map(Duration::from_secs);
                assert_eq!(pause(StatusCode::TOO_MANY_REQUESTS, &headers, now), expected, "{name}: {text}");
                assert_eq!(pause(StatusCode::SERVICE_UNAVAILABLE, &headers, now), None, "{name}: {text}");
                assert_eq!(pause(StatusCode::PAYLOAD_TOO_LARGE, &headers, now), None, "{name}: {text}");
                assert_eq!(pause(StatusCode::OK, &headers, now), None, "each answer has such a header");
            }
        }
        let both = headers(&[("ratelimit-reset", "37"), ("retry-after", "7")]);
        assert_eq!(pause(StatusCode::TOO_MANY_REQUESTS, &both, now), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_guest_sees_retry_after_in_seconds() {
        for (text, seen) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some("37")),
            ("4294967295", Some("3600")),
            ("0", Some("1")),
            ("soon", None),
        ] {
            let answer = CompleteAnswer {
                status: StatusCode::TOO_MANY_REQUESTS,
                headers: headers(&[("retry-after", text)]),
                body: Vec::new(),
            };
            let seen: Vec<_> = seen.map(|it| ("retry-after".to_owned(), it.to_owned())).into_iter().collect();
            assert_eq!(for_guest(answer, now()).headers, seen, "{text}");
        }
    }

    #[test]
    fn headers_that_do_not_concern_a_guest_are_stripped() {
        let answer = CompleteAnswer {
            status: StatusCode::OK,
            headers: headers(&[
                ("set-cookie", "a=b"),
                ("www-authenticate", "Basic"),
                ("proxy-authenticate", "Basic"),
                ("proxy-anything", "x"),
                ("alt-svc", "h3"),
                ("x-subject-token", "x"),
                ("authentication-info", "x"),
                ("content-type", "application/json"),
                ("ratelimit-remaining", "7"),
            ]),
            body: b"{}".to_vec(),
        };
        let seen = [("content-type", "application/json"), ("ratelimit-remaining", "7")];
        let seen: Vec<_> = seen.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(for_guest(answer, now()), GuestResponse { status: 200, headers: seen, body: b"{}".to_vec() });
    }
}
