//! Equal reads cost the cloud one request.

use std::sync::Arc;
use std::time::Duration;

use egress::{Endpoint, Method, PathPattern, Rule};
use futures::future::join_all;
use tests::capture::{Capture, Step};
use tests::wait;
use tokio::sync::Notify;

use crate::setup::{Folder, Lab, Outcome, Request, Setup, bearer, endpoint, get};
use tests::audit;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);

/// The endpoint `api`, where an answer serves for `reuse`, and everything may be written under `/v2`.
fn reusing(server: &Capture, reuse: Duration) -> Endpoint {
    let mut api = endpoint(&server.url());
    api.limits.reuse = reuse;
    let methods = vec![Method::Post, Method::Put, Method::Patch, Method::Delete];
    api.allow.push(Rule::new(methods, [PathPattern::parse("/v2/**").unwrap()]));
    api
}

async fn lab(server: &Capture, reuse: Duration) -> Lab {
    Setup::new([reusing(server, reuse)]).load().await
}

/// The answer to a request in a call about a load balancer, which may rest on what was read before.
async fn body(lab: &Lab, request: &Request) -> String {
    match lab.ensure(request).await {
        Outcome::Answered { body, .. } => body,
        other => panic!("not answered: {other:?}"),
    }
}

/// Answers each request with its number, when the test says so.
async fn counting(go: &Arc<Notify>) -> Capture {
    let (word, count) = (go.clone(), std::sync::atomic::AtomicUsize::new(0));
    Capture::http(move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        [Step::Wait(word.clone())].into_iter().chain(Step::ok(&number.to_string())).collect()
    })
    .await
}

/// Answers each request with its number, at once.
async fn quick() -> Capture {
    let count = std::sync::atomic::AtomicUsize::new(0);
    Capture::http(move |_| Step::ok(&count.fetch_add(1, std::sync::atomic::Ordering::SeqCst).to_string())).await
}

async fn arrived(server: &Capture, requests: usize) {
    wait::until("the requests have arrived", async || (server.requests().len() == requests).then_some(())).await;
}

#[tokio::test]
async fn equal_reads_at_once_are_one_request() {
    audit::keep();
    let go = Arc::new(Notify::new());
    let server = counting(&go).await;
    let lab = lab(&server, LONG).await;
    let request = get(&["v2", "joined"]);
    let all = join_all((0..6).map(|_| body(&lab, &request)));
    let answer = async {
        arrived(&server, 1).await;
        go.notify_one();
    };
    let (bodies, ()) = futures::join!(all, answer);
    assert_eq!(bodies, ["0"; 6]);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(lab.counter("aerostat_cloud_requests_total", &[("code", "200")]), 1);
    let lines = audit::lines("/v2/joined");
    assert!(lines.iter().all(|it| it["decision"] == "allow" && it["status"] == 200), "{lines:?}");
    let joined: Vec<_> = lines.iter().map(|it| it["joined"] == true).collect();
    assert_eq!((joined.len(), joined.iter().filter(|it| **it).count()), (6, 5), "each has its line");
}

#[tokio::test]
async fn an_answer_serves_equal_reads_for_its_time() {
    let server = quick().await;
    let lab = lab(&server, Duration::from_millis(300)).await;
    assert_eq!(body(&lab, &get(&["v2"])).await, "0");
    let next = wait::until("the answer no longer serves", async || {
        let body = body(&lab, &get(&["v2"])).await;
        (body != "0").then_some(body)
    })
    .await;
    assert_eq!(next, "1");
}

#[tokio::test]
async fn reads_that_differ_do_not_share() {
    let server = quick().await;
    let lab = lab(&server, LONG).await;
    let plain = get(&["v2", "a"]);
    let different = [
        plain.clone(),
        get(&["v2", "b"]),
        plain.clone().query("page", "2"),
        plain.clone().header("accept", "application/json"),
        plain.clone().header("accept", "application/xml"),
        Request { method: "HEAD", ..plain.clone() },
    ];
    for request in &different {
        lab.ensure(request).await;
    }
    assert_eq!(server.requests().len(), different.len());
    // HEAD is never shared.
    for request in &different {
        lab.ensure(request).await;
    }
    assert_eq!(server.requests().len(), different.len() + 1);
}

#[tokio::test]
async fn a_write_ends_what_was_read_before() {
    let server = quick().await;
    let lab = lab(&server, LONG).await;
    let read = get(&["v2", "load_balancers"]);
    assert_eq!(body(&lab, &read).await, "0");
    for (number, method) in ["POST", "PUT", "PATCH", "DELETE"].into_iter().enumerate() {
        assert_eq!(body(&lab, &read).await, (2 * number).to_string());
        let write = Request { method, path: vec!["v2".into(), "certificates".into()], ..read.clone() };
        assert!(matches!(lab.ensure(&write).await, Outcome::Answered { .. }), "{method}");
        assert_eq!(body(&lab, &read).await, (2 * number + 2).to_string(), "{method}");
    }
    lab.denied(Request { method: "DELETE", ..read.clone() }, "E-EGRESS-READONLY").await;
    assert_eq!(body(&lab, &read).await, "8", "what was not sent wrote nothing");
}

#[tokio::test]
async fn a_write_at_one_endpoint_says_nothing_about_another() {
    let servers = [quick().await, quick().await];
    let other = Endpoint { name: "other".to_owned(), ..reusing(&servers[1], LONG) };
    let lab = Setup::new([reusing(&servers[0], LONG), other]).load().await;
    let read = get(&["v2"]);
    body(&lab, &read).await;
    lab.ensure(&Request { endpoint: "other".to_owned(), method: "POST", ..read.clone() }).await;
    assert_eq!(body(&lab, &read).await, "0");
}

#[tokio::test]
async fn a_read_in_flight_during_a_write_does_not_serve_after_it() {
    let go = Arc::new(Notify::new());
    let word = go.clone();
    let server = Capture::http(move |request| match request.text().starts_with("GET") {
        true => [Step::Wait(word.clone())].into_iter().chain(Step::ok("read")).collect(),
        false => Step::ok("written"),
    })
    .await;
    let lab = lab(&server, LONG).await;
    let (read, write) = (get(&["v2"]), Request { method: "POST", ..get(&["v2"]) });
    let meanwhile = async {
        arrived(&server, 1).await;
        lab.ensure(&write).await;
        go.notify_one();
    };
    futures::join!(body(&lab, &read), meanwhile);
    go.notify_one();
    body(&lab, &read).await;
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn only_what_is_there_serves_again() {
    for (status, again) in [
        ("200 OK", 1),
        ("206 Partial Content", 1),
        ("404 Not Found", 2),
        ("401 Unauthorized", 2),
        ("403 Forbidden", 2),
        ("409 Conflict", 2),
        ("429 Too Many Requests", 2),
        ("500 Internal Server Error", 2),
        ("302 Found", 2),
    ] {
        let server = Capture::http(move |_| Step::answer(status, &[], "")).await;
        let lab = lab(&server, LONG).await;
        for _ in 0..2 {
            assert!(matches!(lab.ensure(&get(&["v2"])).await, Outcome::Answered { .. }), "{status}");
        }
        assert_eq!(server.requests().len(), again, "{status}");
    }
    let server = Capture::http(|_| vec![Step::Close]).await;
    let lab = lab(&server, LONG).await;
    for _ in 0..2 {
        assert!(matches!(lab.ensure(&get(&["v2"])).await, Outcome::Interrupted(_)));
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_serves_only_one_generation_of_the_credential() {
    let folder = Folder::new();
    let server = quick().await;
    let credentials = bearer(&folder, "old-token");
    let mut setup = Setup::new([Endpoint { credential: Some("token".to_owned()), ..reusing(&server, LONG) }]);
    setup.credentials = credentials.clone();
    let lab = setup.load().await;
    assert_eq!(body(&lab, &get(&["v2"])).await, "0");
    assert_eq!(body(&lab, &get(&["v2"])).await, "0");
    folder.write("token", "new-token");
    let mut watch = tokio::task::JoinSet::new();
    watch.spawn(credentials.watch());
    let body = wait::until("the new token is in use", async || {
        let body = body(&lab, &get(&["v2"])).await;
        (body != "0").then_some(body)
    })
    .await;
    assert_eq!(body, "1");
    let token = |at: usize| server.requests()[at].header("authorization").unwrap().to_owned();
    assert_eq!([token(0), token(1)], ["Bearer old-token", "Bearer new-token"]);
}

#[tokio::test]
async fn the_memory_of_reads_is_bounded() {
    let server = Capture::http(|_| Step::ok(&"x".repeat(3 << 20))).await;
    let lab = lab(&server, LONG).await;
    for path in ["a", "b", "a", "b"] {
        lab.ensure(&get(&["v2", path])).await;
    }
    // The second did not fit beside the first, and was asked for again.
    assert_eq!(server.requests().len(), 3);
}
