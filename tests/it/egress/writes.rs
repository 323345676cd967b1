//! Writes of a hostile guest: two calls may change a little in the cloud, and all others nothing.

use egress::{Endpoint, Method, PathPattern, Rule};
use tests::capture::{Capture, Step};

use crate::setup::{Lab, Outcome, Request, Setup, endpoint, get};
use tests::audit;

/// A cloud in which everything is allowed, by an operator who trusts his provider.
async fn careless() -> (Lab, Capture) {
    let server = Capture::http(|_| Step::answer("204 No Content", &[], "")).await;
    let all = Rule::new(Method::ALL, [PathPattern::parse("/**").unwrap()]);
    let api = Endpoint { allow: vec![all], ..endpoint(&server.url()) };
    (Setup::new([api]).load().await, server)
}

fn request(method: &'static str, times: u32) -> Request {
    Request { method, times, ..get(&["v2", "load_balancers", "of-another-service"]) }
}

fn assert_denied(outcome: Outcome, code: &str, text: &str) {
    match outcome {
        Outcome::Denied(because) if because.starts_with(code) && because.contains(text) => {}
        other => panic!("expected {code}, but {other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_written_by_calls_that_read() {
    let (lab, server) = careless().await;
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for outcome in [lab.send(&request(method, 100)).await, lab.list(&request(method, 100)).await] {
            let next = if method == "POST" { "effect: read" } else { "no config can allow it" };
            assert_denied(outcome, "E-EGRESS-READONLY", next);
        }
    }
    assert!(server.requests().is_empty());
    assert_eq!(lab.counter("aerostat_egress_denied_total", &[("code", "E-EGRESS-READONLY")]), 2 * 4 * 100);
}

#[tokio::test]
async fn one_ensure_sends_ten_deletes_and_one_delete_twenty() {
    audit::keep();
    let (lab, server) = careless().await;
    assert_denied(lab.ensure(&request("DELETE", 50)).await, "E-EGRESS-BUDGET", "deletesPerEnsure");
    assert_eq!(server.requests().len(), 10);
    assert_denied(lab.delete(&request("DELETE", 50)).await, "E-EGRESS-BUDGET", "deletesPerDelete");
    assert_eq!(server.requests().len(), 10 + 20);
    assert_eq!(lab.counter("aerostat_egress_denied_total", &[("code", "E-EGRESS-BUDGET")]), 40 + 30);
    let lines = audit::lines("/v2/load_balancers/of-another-service");
    assert_eq!(lines.iter().filter(|it| it["function"] == "ensure" && it["decision"] == "allow").count(), 10);
    assert_eq!(lines.iter().filter(|it| it["function"] == "delete" && it["decision"] == "allow").count(), 20);
    assert!(matches!(lab.ensure(&request("DELETE", 1)).await, Outcome::Answered { status: 204, .. }));
}
