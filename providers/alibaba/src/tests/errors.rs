//! Refusals, as the host sees them.

use aerostat_sdk::{Error, Instances, Node};

use super::*;
use crate::Alibaba;

fn error(host: &Host) -> Error {
    host.run(|| Alibaba::get(&Node::named("node-1").with_provider_id("cn-hangzhou.i-bp1"))).unwrap_err()
}

#[test]
fn alibaba_009_throttling_stops_the_endpoint() {
    let host = settings().answers(|_| refused(400, "Throttling.User"));
    match error(&host) {
        Error::RetryAfter(pause) => assert!(pause.reason.contains("Throttling.User"), "{pause:?}"),
        other => panic!("{other:?}"),
    }
    let expected =
        "ecs 5000 ms: DescribeInstances at endpoint ecs: 400 Throttling.User: it is Throttling.User (request R-1)";
    assert_eq!(host.throttles(), [expected]);
}

#[test]
fn refusals_say_what_the_credential_needs() {
    let host = settings().answers(|_| refused(403, "Forbidden.RAM"));
    let expected = "DescribeInstances at endpoint ecs: 403 Forbidden.RAM: it is Forbidden.RAM (request R-1). The credential needs \
                    ecs:DescribeInstances";
    assert_eq!(error(&host), Error::denied(expected));
    let host = settings().answers(|_| refused(404, "InvalidAccessKeyId.NotFound"));
    assert!(error(&host).why().contains("does not accept the credential's keys"));
}

#[test]
fn answers_of_others_are_not_the_apis() {
    for (status, body) in [(404, "<html>"), (400, ""), (404, r#"{ "error": "no route" }"#)] {
        let host = settings().answers(move |_| answer(status, body));
        assert!(matches!(error(&host), Error::Unavailable(why) if why.contains("does baseUrl lead to it")), "{body}");
    }
    let host = settings().answers(|_| refused(500, "InternalError"));
    assert!(matches!(error(&host), Error::Unavailable(_)));
    let host = settings().answers(|_| refused(400, "InvalidParameter"));
    assert!(matches!(error(&host), Error::Invalid(_)));
}
