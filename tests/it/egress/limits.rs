//! How long, how often and how many at once.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use egress::Resolve;
use futures::future::join_all;
use tests::capture::{Capture, Step};
use tests::wait;
use tokio::sync::Notify;

use crate::setup::{Folder, Lab, Outcome, Request, Setup, endpoint, get, lead, named, route};
use tests::audit;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(20);

/// An egress to a server that answers like this, with these limits: first byte, idle and total.
async fn slow(steps: Vec<Step>, [first_byte, idle, total]: [Duration; 3]) -> (Lab, Capture) {
    let server = Capture::http(move |_| steps.clone()).await;
    let mut api = endpoint(&server.url());
    (api.limits.first_byte, api.limits.idle, api.limits.total) = (first_byte, idle, total);
    (Setup::new([api]).load().await, server)
}

/// Asserts that a request is given up with this text, long before the other limits.
async fn given_up(steps: Vec<Step>, limits: [Duration; 3], because: &str) {
    let (lab, _server) = slow(steps, limits).await;
    let start = Instant::now();
    match lab.send(&get(&["v2"])).await {
        Outcome::Interrupted(text) => assert!(text.contains(because), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}

#[tokio::test]
async fn adv_27_a_head_that_drips_is_given_up_after_its_time() {
    let drip = Step::Drip(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx".repeat(100), Duration::from_millis(100));
    given_up(vec![drip], [SHORT, LONG, LONG], "did not begin to answer within 300ms").await;
}

#[tokio::test]
async fn adv_27_a_body_that_stops_is_given_up_after_its_time() {
    let head = Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx");
    given_up(vec![head, Step::Hang], [LONG, SHORT, LONG], "stopped for 300ms within its answer").await;
}

#[tokio::test]
async fn adv_27_a_body_that_drips_is_given_up_after_the_total() {
    let head = Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n");
    let drip = Step::Drip(vec![b'x'; 10_000], Duration::from_millis(50));
    given_up(vec![head, drip], [LONG, LONG, SHORT], "had not answered in full after 300ms").await;
}

#[tokio::test]
async fn a_tls_handshake_has_its_time() {
    // It takes the connection, and then says nothing: the script never sees a request.
    let server = Capture::http(|_| Step::ok("")).await;
    let mut api = endpoint(&format!("https://{}", server.address()));
    api.limits.tls = SHORT;
    match Setup::new([api]).load().await.send(&get(&["v2"])).await {
        Outcome::Unreachable(text) => assert!(text.contains("no TLS handshake within 300ms"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn adv_29_a_pause_is_clamped_and_holds_everyone_off() {
    let (busy, large) = ("429 Too Many Requests", "413 Payload Too Large");
    for (status, asked, seen, longest) in [
        (busy, "0", "1", 1_000),
        (busy, "4294967295", "3600", 3_600_000),
        (busy, "7", "7", 7_000),
        (large, "7", "7", 7_000),
    ] {
        let refusal = Step::answer(status, &[("retry-after", asked)], "");
        let server = Capture::http(move |_| refusal.clone()).await;
        let lab = Setup::new([endpoint(&server.url())]).load().await;
        let begun = Instant::now();
        let Outcome::Answered { status: 429 | 413, headers, .. } = lab.send(&get(&["v2"])).await else {
            panic!("{asked}")
        };
        assert!(headers.contains(&("retry-after".to_owned(), seen.to_owned())), "{asked}: {headers:?}");
        match lab.send(&get(&["v2", "other"])).await {
            // The pause of a second was over before the machine had come so far.
            Outcome::Answered { .. } if begun.elapsed() >= Duration::from_millis(longest) => continue,
            Outcome::RetryAfter(after) => assert!((1..=longest).contains(&after), "{asked}: {after}"),
            other => panic!("{asked}: {other:?}"),
        }
        assert_eq!(server.requests().len(), 1, "{asked}");
    }
}

#[tokio::test]
async fn a_pause_ends() {
    let server = Capture::http(|request| match request.text().contains("/busy") {
        true => Step::answer("503 Service Unavailable", &[("retry-after", "1")], ""),
        false => Step::ok("free"),
    })
    .await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    lab.send(&get(&["v2", "busy"])).await;
    let body = wait::until("the endpoint is free again", async || match lab.send(&get(&["v2"])).await {
        Outcome::Answered { body, .. } => Some(body),
        Outcome::RetryAfter(_) => None,
        other => panic!("{other:?}"),
    })
    .await;
    assert_eq!(body, "free");
}

#[tokio::test]
async fn an_error_without_a_pause_holds_nobody_off() {
    let errors =
        ["413 Payload Too Large", "429 Too Many Requests", "503 Service Unavailable", "500 Internal Server Error"];
    for status in errors {
        let server = Capture::http(move |_| Step::answer(status, &[], "")).await;
        let lab = Setup::new([endpoint(&server.url())]).load().await;
        for _ in 0..2 {
            assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { .. }), "{status}");
        }
    }
}

/// Cases: csi 34, csi 77
#[tokio::test]
async fn requests_beyond_the_rate_wait_a_little_or_come_back_later() {
    let server = Capture::http(|_| Step::ok("")).await;
    let mut api = endpoint(&server.url());
    api.limits.requests_per_second = 0.5;
    let lab = Setup::new([api]).load().await;
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { .. }));
    match lab.send(&get(&["v2"])).await {
        Outcome::RetryAfter(after) => assert!((1_000..=2_000).contains(&after), "{after}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(server.requests().len(), 1);
    assert_eq!(lab.counter("aerostat_cloud_requests_put_off_total", &[("endpoint", "api")]), 1);
}

#[tokio::test]
async fn no_more_requests_are_in_flight_than_the_endpoint_allows() {
    let go = Arc::new(Notify::new());
    let word = go.clone();
    let steps = move |_: &_| [Step::Wait(word.clone())].into_iter().chain(Step::ok("done")).collect();
    let server = Capture::http(steps).await;
    let mut api = endpoint(&server.url());
    api.limits.concurrency = 2;
    let lab = Setup::new([api]).load().await;
    let requests = ["a", "b", "c", "d", "e"].map(|it| get(&["v2", it]));
    let all = join_all(requests.iter().map(|it| lab.body(it)));
    let watch = async {
        for served in 0..5 {
            let expected = (served + 2).min(5);
            wait::until("as many requests as may be in flight", async || {
                (server.requests().len() == expected).then_some(())
            })
            .await;
            go.notify_one();
        }
    };
    let (bodies, ()) = futures::join!(all, watch);
    assert_eq!(bodies, ["done"; 5]);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn one_call_makes_100_requests_and_logs_once_that_more_came() {
    audit::keep();
    let server = Capture::http(|_| Step::ok("")).await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    lab.denied(Request { times: 150, ..get(&["v2", "budget"]) }, "E-EGRESS-BUDGET").await;
    assert_eq!(server.requests().len(), 100);
    assert_eq!(audit::lines("/v2/budget").len(), 101);
    assert_eq!(lab.counter("aerostat_egress_denied_total", &[("code", "E-EGRESS-BUDGET")]), 50);
    assert_eq!(lab.counter("aerostat_cloud_requests_total", &[("endpoint", "api"), ("code", "200")]), 100);
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { .. }), "the next call has its own budget");
}

#[tokio::test]
async fn an_ended_call_has_its_audit_line_and_frees_its_turn() {
    audit::keep();
    let server =
        Capture::http(|it| if it.text().contains("/hangs") { vec![Step::Hang] } else { Step::ok("free") }).await;
    let mut api = endpoint(&server.url());
    api.limits.concurrency = 1;
    let mut setup = Setup::new([api]);
    setup.limits.wall = Duration::from_secs(3);
    let lab = setup.load().await;
    let reason = lab.end(&get(&["v2", "hangs"])).await;
    assert!(reason.contains("provider.limits.wall"), "{reason}");
    let lines = audit::lines("/v2/hangs");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (lines[0]["decision"].as_str(), lines[0]["rule"].as_str()),
        (Some("allow"), Some("api.allow[0] GET /v2/**"))
    );
    assert_eq!(lines[0]["error"], "the call ended first");
    assert_eq!(lab.body(&get(&["v2"])).await, "free");
}

/// Resolves at once, except for who asks first.
struct FirstWaits {
    asked: AtomicUsize,
    word: Notify,
}

#[async_trait]
impl Resolve for FirstWaits {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        if self.asked.fetch_add(1, SeqCst) == 0 {
            self.word.notified().await;
        }
        Ok(vec!["1.0.0.77".parse().unwrap()])
    }
}

#[tokio::test]
async fn a_request_that_connects_when_a_pause_begins_is_not_sent() {
    let folder = Folder::new();
    let refusal = Step::answer("429 Too Many Requests", &[("retry-after", "30")], "");
    let server = Capture::https(&["api.example.com"], move |_| refusal.clone()).await;
    lead("1.0.0.77", server.address());
    let names = Arc::new(FirstWaits { asked: AtomicUsize::new(0), word: Notify::new() });
    let mut setup = Setup::new([named("https://api.example.com", &server, &folder)]);
    (setup.names, setup.route) = (names.clone(), route);
    let lab = setup.load().await;
    let (slow, quick) = (get(&["v2", "slow"]), get(&["v2", "quick"]));
    let refused = async {
        wait::until("the first looks its name up", async || (names.asked.load(SeqCst) == 1).then_some(())).await;
        assert!(matches!(lab.send(&quick).await, Outcome::Answered { status: 429, .. }));
        names.word.notify_one();
    };
    let (outcome, ()) = futures::join!(lab.send(&slow), refused);
    match outcome {
        Outcome::RetryAfter(after) => assert!((20_000..=30_000).contains(&after), "{after}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(server.requests().len(), 1, "the pause holds for what had its turn before");
}

#[tokio::test]
async fn during_a_pause_at_most_one_request_is_sent() {
    let refusing = Arc::new(AtomicBool::new(true));
    let word = refusing.clone();
    let server = Capture::http(move |_| match word.swap(false, SeqCst) {
        true => Step::answer("503 Service Unavailable", &[("retry-after", "3")], ""),
        false => Step::ok("free"),
    })
    .await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    let start = Instant::now();
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { status: 503, .. }));
    let callers = (0..20).map(|number| {
        let (lab, request) = (&lab, get(&["v2", &number.to_string()]));
        async move {
            loop {
                match lab.send(&request).await {
                    Outcome::RetryAfter(after) => tokio::time::sleep(Duration::from_millis(after)).await,
                    Outcome::Answered { body, .. } => return (body, start.elapsed()),
                    other => panic!("{other:?}"),
                }
            }
        }
    });
    for (body, elapsed) in join_all(callers).await {
        assert_eq!(body, "free");
        assert!(elapsed > Duration::from_millis(2_500), "sent after {elapsed:?}");
        // If each pause let one caller through, the last of twenty would wait for a minute.
        assert!(elapsed < Duration::from_secs(20), "only after {elapsed:?}");
    }
    assert_eq!(server.requests().len(), 21);
}
