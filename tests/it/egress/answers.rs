//! Answers reach the guest complete, small, and without anything that does not concern it, or as an error that says the
//! cause.

use base64::Engine as _;
use egress::Endpoint;
use tests::capture::{Capture, Request, Step};

use crate::setup::{Folder, Lab, Outcome, Setup, bearer, endpoint, get};

/// A server that answers its first request in an odd way and the others honestly; and an egress to it.
async fn once(odd: Vec<Step>) -> (Lab, Capture) {
    let server =
        Capture::http(move |it| if it.text().contains("/odd") { odd.clone() } else { Step::ok("honest") }).await;
    (Setup::new([small(&server)]).load().await, server)
}

/// Asserts that each of the answers is refused with this text, that its connection is not used again, and that the next
/// request is none the worse for it.
async fn interrupted(odd: Vec<Vec<Step>>, because: &str) {
    let count = odd.len();
    let script = move |request: &Request| {
        let number = request.text().strip_prefix("GET /v2/odd/").and_then(|it| it.split(' ').next());
        number.map_or_else(|| Step::ok("honest"), |it| odd[it.parse::<usize>().unwrap()].clone())
    };
    let server = Capture::http(script).await;
    let lab = Setup::new([small(&server)]).load().await;
    for number in 0..count {
        match lab.send(&get(&["v2", "odd", &number.to_string()])).await {
            Outcome::Interrupted(text) => {
                assert!(text.contains(because), "{number}: {because}: {text}");
                assert!(text.starts_with(&format!("endpoint api ({}) ", server.url())), "{text}");
            }
            other => panic!("{number}: {because}: {other:?}"),
        }
        assert_eq!(lab.body(&get(&["v2"])).await, "honest", "{number}: {because}");
    }
    for (number, pair) in server.requests().chunks(2).enumerate() {
        assert_eq!(pair[0].connection + 1, pair[1].connection, "{number}: {because}");
    }
}

/// An endpoint with small answers.
fn small(server: &Capture) -> Endpoint {
    let mut api = endpoint(&server.url());
    api.limits.response_bytes = 64 << 10;
    api
}

#[tokio::test]
async fn adv_12_redirects_are_not_followed() {
    let location = [("location", "http://169.254.169.254/latest/meta-data/")];
    let (lab, server) = once(Step::answer("302 Found", &location, "")).await;
    match lab.send(&get(&["v2", "odd"])).await {
        Outcome::Answered { status: 302, headers, .. } => {
            assert!(headers.contains(&("location".to_owned(), location[0].1.to_owned())));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn adv_24_heads_that_are_too_large_are_refused() {
    let many: String = (0..10_000).map(|it| format!("x-{it}: y\r\n")).collect();
    let hundred: String = (0..101).map(|it| format!("x-{it}: y\r\n")).collect();
    let long = "x".repeat(1 << 20);
    let heads = [
        format!("HTTP/1.1 200 OK\r\n{many}content-length: 0\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{hundred}content-length: 0\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\nx: {long}\r\ncontent-length: 0\r\n\r\n"),
        format!("HTTP/1.1 200 {long}\r\ncontent-length: 0\r\n\r\n"),
    ];
    interrupted(heads.iter().map(|it| vec![Step::raw(it)]).collect(), "broke the connection off").await;
}

#[tokio::test]
async fn adv_25_an_answer_shorter_than_its_length_is_cut_off() {
    let short = Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n1234");
    interrupted(vec![vec![short, Step::Close]], "cut its answer off").await;
}

#[tokio::test]
async fn adv_25_after_a_too_long_answer_its_connection_is_closed() {
    let (lab, server) = once(vec![Step::raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n123456")]).await;
    assert_eq!(lab.body(&get(&["v2", "odd"])).await, "12345");
    assert_eq!(lab.body(&get(&["v2"])).await, "honest");
    let connections: Vec<_> = server.requests().iter().map(|it| it.connection).collect();
    assert_eq!(connections, [0, 1]);
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_honest_answer() {
    let (lab, server) = once(Vec::new()).await;
    for _ in 0..3 {
        assert_eq!(lab.body(&get(&["v2"])).await, "honest");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn answers_that_are_no_http_are_refused() {
    let odd = [
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n123456",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx\u{0}: y\r\ncontent-length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "\r\n\r\n\r\n",
        "",
    ];
    let odd = odd.map(|it| vec![Step::raw(it), Step::Close]).to_vec();
    interrupted(odd, "broke the connection off").await;
    let chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n";
    interrupted(vec![vec![Step::raw(chunk), Step::Close]], "cut its answer off").await;
}

#[tokio::test]
async fn an_answer_has_a_largest_size() {
    let large = "x".repeat((64 << 10) + 1);
    let because = "answered with more than 65536 bytes";
    let chunked =
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    interrupted(vec![Step::ok(&large), vec![Step::raw(&chunked)]], because).await;
    let (lab, _server) = once(Step::ok(&large[1..])).await;
    assert!(matches!(lab.send(&get(&["v2", "odd"])).await, Outcome::Answered { length: 65536, .. }));
}

#[tokio::test]
async fn an_answer_is_not_decompressed() {
    let answer = |it| Step::answer("200 OK", &[("content-encoding", it)], &"x".repeat(50_000));
    let odd = ["gzip", "br", "zstd", "identity, gzip"].map(answer).to_vec();
    interrupted(odd, "answered with a content-encoding").await;
}

#[tokio::test]
async fn adv_79_headers_of_the_connection_do_not_reach_the_guest() {
    let headers = [
        ("set-cookie", "session=1"),
        ("www-authenticate", "Basic realm=\"x\""),
        ("proxy-authenticate", "Basic"),
        ("proxy-connection", "keep-alive"),
        ("alt-svc", "h3=\":443\""),
        ("authentication-info", "x"),
        ("content-type", "text/plain"),
    ];
    let (lab, server) = once(Step::answer("200 OK", &headers, "x")).await;
    let Outcome::Answered { headers, .. } = lab.send(&get(&["v2", "odd"])).await else { panic!("not answered") };
    let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["content-type", "content-length"]);
    lab.body(&get(&["v2"])).await;
    let requests = server.requests();
    assert_eq!(requests[1].header("cookie"), None);
    assert_eq!(server.connections(), 1, "no other way was tried");
}

#[tokio::test]
async fn trailers_are_dropped() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: authorization\r\n\r\n1\r\nx\r\n0\r\nauthorization: y\r\n\r\n";
    let (lab, _server) = once(vec![Step::raw(chunked)]).await;
    let Outcome::Answered { headers, body, .. } = lab.send(&get(&["v2", "odd"])).await else { panic!("not answered") };
    assert_eq!((headers, body.as_str()), (Vec::new(), "x"));
}

#[tokio::test]
async fn an_answer_with_the_secret_in_it_is_withheld() {
    let secret = "secret-token/with+signs";
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let percent = "secret%2Dtoken%2Fwith%2Bsigns";
    let echoes = [
        ("body", Step::ok(&format!("you sent {secret}"))),
        ("header", Step::answer("200 OK", &[("x-echo", secret)], "")),
        ("base64", Step::ok(&base64(&format!("Bearer {secret}")))),
        ("percent", Step::ok(percent)),
    ];
    for (kind, echo) in echoes {
        let folder = Folder::new();
        let server = Capture::http(move |_| echo.clone()).await;
        let mut setup = Setup::new([endpoint(&server.url())]);
        setup.endpoints[0].credential = Some("token".to_owned());
        setup.credentials = bearer(&folder, secret);
        match setup.load().await.send(&get(&["v2"])).await {
            Outcome::Interrupted(text) => assert!(text.contains("credential") && !text.contains(secret), "{text}"),
            other => panic!("{kind}: {other:?}"),
        }
        assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {secret}").as_str()));
    }
}
