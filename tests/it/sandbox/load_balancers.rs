//! Answers to `ensure`, `delete` and `identity` are not believed either.

use std::time::Duration;

use cloud_provider::{Deletion, Error, Ingress, LoadBalancer, LoadBalancerStatus, PendingStatus, Progress};

use crate::setup::{Guest, service};

fn standing() -> LoadBalancerStatus {
    let ingress = vec![Ingress { ip: Some("192.0.2.1".into()), ..Ingress::default() }];
    LoadBalancerStatus { ingress, ..LoadBalancerStatus::default() }
}

async fn refused(crime: &str, because: &str) {
    let lab = Guest::hostile().load().await;
    let answer = lab.load_balancers.ensure(&service(crime)).await.answer;
    let expected = format!("provider hostile: ensure gave an unusable answer: {because}");
    assert_eq!(answer, Err(Error::Unavailable(expected)));
}

#[tokio::test]
async fn a_memo_beyond_a_kibibyte_is_refused() {
    refused("long-memo", "its memo has 1025 bytes, more than 1024").await;
    let lab = Guest::hostile().load().await;
    let answer = lab.load_balancers.delete(&service("long-memo")).await.answer;
    let expected = "provider hostile: delete gave an unusable answer: its memo has 1025 bytes, more than 1024";
    assert_eq!(answer, Err(Error::Unavailable(expected.into())));
}

#[tokio::test]
async fn an_annotation_that_was_not_described_is_refused() {
    let because = "it wants to write the annotation \"kubernetes.io/ingress.class\", which it does not describe";
    refused("foreign-annotation", because).await;
}

#[tokio::test]
async fn only_the_annotations_that_the_operator_allows_are_written() {
    for (allowed, expected) in [(vec![], vec![]), (vec!["hostile.example/id"], vec![("hostile.example/id", "7")])] {
        let mut guest = Guest::hostile();
        guest.writes_annotations = allowed.into_iter().map(str::to_owned).collect();
        let lab = guest.load().await;
        let annotations = expected.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let answer = lab.load_balancers.ensure(&service("annotations")).await.answer;
        assert_eq!(answer, Ok(Progress::Ready(LoadBalancerStatus { annotations, ..standing() })));
    }
}

#[tokio::test]
async fn an_address_that_kubernetes_would_not_take_is_refused() {
    refused("ip-that-is-none", "the load balancer's address \"192.0.2.1\\\\nevil\" is no IP address").await;
    refused("name-that-is-none", "the load balancer's name \"LB_1\" is no DNS name in lower case").await;
    refused("nowhere", "the load balancer is reached at neither an address nor a name").await;
    refused("everywhere", "the load balancer has 1000 addresses, more than 64").await;
}

#[tokio::test]
async fn a_wait_is_five_minutes_at_most() {
    let lab = Guest::hostile().load().await;
    for (crime, after, reason) in
        [("impatient", 0, "now\\nnow".to_owned()), ("patient", 300, format!("{}…", "x".repeat(1021)))]
    {
        let pending_status = PendingStatus { status: standing(), after: Duration::from_secs(after), reason };
        let answer = lab.load_balancers.ensure(&service(crime)).await.answer;
        assert_eq!(answer, Ok(Progress::Pending(pending_status)));
    }
}

#[tokio::test]
async fn a_failed_step_keeps_its_status() {
    let lab = Guest::hostile().load().await;
    let status = LoadBalancerStatus { memo: Some("lb-1".into()), ..standing() };
    let answer = lab.load_balancers.ensure(&service("failed")).await.answer;
    let error = Error::Unavailable("action 7 has errored\\nnow".into());
    assert_eq!(answer, Ok(Progress::Failed(status, error)));
    let failed = &[("function", "ensure"), ("outcome", "guest-error")];
    assert_eq!(lab.counter("aerostat_provider_calls_total", failed), 1);
    refused("failed-without-end", "its memo has 1025 bytes, more than 1024").await;
}

#[tokio::test]
async fn the_reason_of_a_kept_load_balancer_is_one_line() {
    let lab = Guest::hostile().load().await;
    let answer = lab.load_balancers.delete(&service("kept")).await.answer;
    assert_eq!(answer, Ok(Deletion::Kept("deletion protection\\nis on".into())));
}

#[tokio::test]
async fn an_event_of_ensure_is_about_its_service() {
    let lab = Guest::hostile().load().await;
    let reply = lab.load_balancers.ensure(&service("about-a-node")).await;
    let messages: Vec<_> = reply.events.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["one is full"]);
}

#[tokio::test]
async fn a_guest_sees_only_the_annotations_that_it_describes() {
    let lab = Guest::hostile().load().await;
    let pair = |key: &str| (key.to_owned(), "x".to_owned());
    let keys =
        ["id", "see", "port-80-kind", "port--kind", "port-80-kinds"].map(|it| pair(&format!("hostile.example/{it}")));
    let annotations = [keys.as_slice(), &[pair("vault.example/token")]].concat();
    let desired = LoadBalancer { annotations, memo: Some("lb-1".into()), ..service("see-service") };
    let answer = lab.load_balancers.ensure(&desired).await.answer;
    let expected = "[(\"hostile.example/see\", \"x\"), (\"hostile.example/port-80-kind\", \"x\")] Some(\"lb-1\")";
    assert_eq!(answer, Err(Error::Invalid(expected.into())));
}

#[tokio::test]
async fn an_honest_answer_is_passed_on() {
    let lab = Guest::hostile().load().await;
    let answer = lab.load_balancers.ensure(&service("an-honest-service")).await.answer;
    assert_eq!(answer, Ok(Progress::Ready(standing())));
    assert_eq!(lab.load_balancers.ensure(&service("elsewhere")).await.answer, Ok(Progress::NotManaged));
    assert_eq!(lab.load_balancers.delete(&service("an-honest-service")).await.answer, Ok(Deletion::Done));
}

#[tokio::test]
async fn a_call_that_does_not_return_is_ended_and_says_so() {
    let lab = Guest::hostile().load().await;
    let spin = service("spin");
    let ensured = lab.load_balancers.ensure(&spin).await.answer.unwrap_err();
    let deleted = lab.load_balancers.delete(&spin).await.answer.unwrap_err();
    for (error, function) in [(ensured, "ensure"), (deleted, "delete")] {
        let cpu = "was stopped after 500ms of CPU time (provider.limits.cpu). Only Service default/spin is set aside";
        let expected = format!("provider hostile: {function} {cpu}");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    lab.assert_alive().await;
}

#[tokio::test]
async fn events_of_the_guest_count_whatever_it_answers() {
    let lab = Guest::hostile().load().await;
    let reply = lab.load_balancers.ensure(&service("many-events")).await;
    assert_eq!(reply.answer, Err(Error::Invalid("noted".into())));
    assert_eq!(reply.events.len(), 64);
}

#[tokio::test]
async fn an_account_is_one_short_line_or_none() {
    let lab = Guest::hostile().load().await;
    assert_eq!(lab.identity.identity().await, Ok(None));
    let lab = Guest::hostile().setting("identity", "account:9dc7a2c0").load().await;
    assert_eq!(lab.identity.identity().await, Ok(Some("9dc7a2c0".into())));
    let lab = Guest::hostile().setting("identity", "account:a\u{202e}b").load().await;
    let because = "the account \"a\\\\u{202e}b\" is not up to 256 visible ASCII characters";
    let expected = format!("provider hostile: identity gave an unusable answer: {because}");
    assert_eq!(lab.identity.identity().await, Err(Error::Unavailable(expected)));
}
