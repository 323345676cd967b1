//! Requests, byte by byte as they go out: canonical, and nothing of those that are refused.

use tests::capture::{Capture, Step};

use crate::setup::{Folder, Outcome, Request, Setup, bearer, endpoint, get};
use tests::audit;

/// Asserts that none of the requests reaches the server, and that each is refused with this code.
async fn refused(requests: impl IntoIterator<Item = Request>, code: &str) {
    let server = Capture::http(|_| Step::ok("")).await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    for request in requests {
        lab.denied(request, code).await;
    }
    assert_eq!(server.connections(), 0);
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { status: 200, .. }), "the egress still serves");
}

#[tokio::test]
async fn a_request_is_what_the_guest_may_say_and_what_the_host_adds() {
    let folder = Folder::new();
    let server = Capture::http(|_| Step::ok("{}")).await;
    let mut api = endpoint(&format!("{}/base", server.url()));
    (api.credential, api.headers) = (Some("token".to_owned()), vec!["X-Extra".to_owned()]);
    let mut setup = Setup::new([api]);
    setup.credentials = bearer(&folder, "secret-token-1\n");
    let lab = setup.load().await;
    let request = get(&["v2", "a b;c", "ü"]).query("tag", "x&y=z").query("page", "2");
    lab.body(&request.header("Accept", "application/json").header("x-EXTRA", "1")).await;
    let host = server.address().to_string();
    expect_test::expect![[r#"
        GET /base/v2/a%20b%3Bc/%C3%BC?tag=x%26y%3Dz&page=2 HTTP/1.1
        accept: application/json
        x-extra: 1
        authorization: Bearer secret-token-1
        accept-encoding: identity
        user-agent: aerostat/0.1.0
        host: HOST

    "#]]
    .assert_eq(&server.requests()[0].text().replace("\r\n", "\n").replace(&host, "HOST"));
}

#[tokio::test]
async fn adv_08_headers_for_metadata_services_are_refused() {
    let headers = [("Metadata-Flavor", "Google"), ("Metadata", "true"), ("X-aws-ec2-metadata-token", "x")];
    refused(headers.map(|(name, value)| get(&["v2"]).header(name, value)), "E-EGRESS-HEADER").await;
}

#[tokio::test]
async fn adv_15_control_characters_are_refused() {
    let odd = ["\r", "\n", "\r\nx: y", "\0", "\t", "\u{7f}", "\u{80}", "\u{ff}"];
    refused(odd.map(|it| get(&["v2"]).header("accept", &format!("a{it}b"))), "E-EGRESS-HEADER").await;
    refused(odd.map(|it| get(&["v2"]).header(&format!("accept{it}"), "a")), "E-EGRESS-HEADER").await;
    let control = ["\r", "\n", "\0", "\t", "\u{7f}", "\u{80}", "\u{9f}"];
    refused(control.map(|it| get(&["v2", &format!("a{it}b")])), "E-EGRESS-PATH").await;
    refused(control.map(|it| get(&["v2"]).query(&format!("a{it}"), "b")), "E-EGRESS-QUERY").await;
    refused(control.map(|it| get(&["v2"]).query("a", &format!("b{it}"))), "E-EGRESS-QUERY").await;
}

#[tokio::test]
async fn adv_15_other_characters_are_percent_encoded() {
    let server = Capture::http(|_| Step::ok("")).await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    lab.body(&get(&["v2", "\u{a0}\u{ff} HTTP"]).query("a", "\u{ff}#")).await;
    let requests = server.requests();
    assert_eq!(requests[0].text().lines().next(), Some("GET /v2/%C2%A0%C3%BF%20HTTP?a=%C3%BF%23 HTTP/1.1"));
}

#[tokio::test]
async fn adv_16_headers_of_the_host_are_refused() {
    let names = [
        "Host",
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "X-Auth-Token",
        "X-Forwarded-For",
        "Forwarded",
        "X-HTTP-Method-Override",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Upgrade",
        "Expect",
        "TE",
    ];
    refused(names.map(|it| get(&["v2"]).header(it, "x")), "E-EGRESS-HEADER").await;
}

#[tokio::test]
async fn adv_17_paths_cannot_leave_what_is_allowed() {
    let paths: [&[&str]; 9] = [
        &["v2", "allowed", "..", "admin"],
        &["v2", ".", "x"],
        &["v2", "", "x"],
        &["", "evil", "x"],
        &["http:", "", "evil", "x"],
        &["v2/allowed"],
        &["v2%2fallowed"],
        &["v2;x"],
        &["v1", "x"],
    ];
    refused(paths.map(get), "E-EGRESS-PATH").await;
    let server = Capture::http(|_| Step::ok("")).await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    lab.body(&get(&["v2", "allowed", "%2e%2e", "admin"])).await;
    lab.body(&get(&["v2", "allowed%2fx", "http:", "evil;x"])).await;
    let lines: Vec<_> = server.requests().iter().map(|it| it.text().lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["GET /v2/allowed/%252e%252e/admin HTTP/1.1", "GET /v2/allowed%252fx/http:/evil%3Bx HTTP/1.1"]);
}

#[tokio::test]
async fn a_reading_call_writes_nothing_and_a_read_has_no_body() {
    let write = |method| Request { method, ..get(&["v2"]) };
    refused(["POST", "PUT", "PATCH", "DELETE"].map(write), "E-EGRESS-READONLY").await;
    refused([Request { body: Some("x".to_owned()), ..get(&["v2"]) }], "E-EGRESS-METHOD").await;
}

#[tokio::test]
async fn a_query_cannot_log_in() {
    refused(["access_token", "X-Amz-Signature", "api_key"].map(|it| get(&["v2"]).query(it, "x")), "E-EGRESS-QUERY")
        .await;
}

#[tokio::test]
async fn every_decision_is_audited() {
    audit::keep();
    let server = Capture::http(|_| Step::answer("404 Not Found", &[], "")).await;
    let lab = Setup::new([endpoint(&server.url())]).load().await;
    lab.send(&get(&["v2", "audited"]).query("page", "not shown")).await;
    lab.send(&get(&["audited\n\u{1b}[2J"])).await;
    let allowed = &audit::lines("/v2/audited")[..];
    let [allowed] = allowed else { panic!("{allowed:?}") };
    assert_eq!(allowed["endpoint"], "api");
    assert_eq!(allowed["method"], "GET");
    assert_eq!(allowed["decision"], "allow");
    assert_eq!(allowed["rule"], "api.allow[0] GET /v2/**");
    assert_eq!(allowed["status"], 404);
    assert_eq!(allowed["address"], server.address().to_string());
    assert!(allowed["duration_ms"].is_u64() && allowed["call"].is_u64());
    assert!(allowed.get("code").is_none() && allowed.get("error").is_none(), "{allowed}");
    assert!(!allowed.to_string().contains("not shown"), "{allowed}");
    let denied = &audit::lines("/audited%0A%1B%5B2J")[..];
    let [denied] = denied else { panic!("{denied:?}") };
    assert_eq!((denied["decision"].as_str(), denied["rule"].as_str()), (Some("deny"), Some("none")));
    assert_eq!(denied["code"], "E-EGRESS-PATH");
    assert!(denied.get("status").is_none() && denied.get("address").is_none(), "{denied}");
}
