//! Bad answers of a cloud, one test a row: each is an error of the right kind, and none is ever taken for absence.

use std::time::Duration;

use cloud_provider::{Error, Page};
use tests::clouds::digitalocean::{Droplet, Fault, Options};

use crate::setup::{Rig, Setup, joining, node};

/// What a fault makes of a node with provider id, of one without, and of a list.
async fn errors(fault: impl Fn(&str) -> Fault) -> [Error; 3] {
    let rig = Rig::with([Droplet::new(42, "web-1")]).await;
    rig.cloud.inject(fault("/v2/droplets/*"));
    rig.cloud.inject(fault("/v2/droplets"));
    let by_id = rig.get(node("web-1", "digitalocean://42")).await.expect_err("the cloud did not answer");
    let by_name = rig.get(joining("web-1")).await.expect_err("the cloud did not answer");
    let listed = rig.instances.list(None, 200).await.answer.expect_err("the cloud did not answer");
    [by_id, by_name, listed]
}

/// Checks that all three are of one kind, and say what was asked and what the cloud said.
async fn check(fault: impl Fn(&str) -> Fault, kind: fn(&Error) -> bool, words: &str) {
    let asked =
        ["GET /v2/droplets/42 at endpoint api", "GET /v2/droplets at endpoint api", "GET /v2/droplets at endpoint api"];
    for (error, asked) in errors(fault).await.into_iter().zip(asked) {
        assert!(kind(&error), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with(asked) && text.contains(words), "{text}");
    }
}

fn denied(error: &Error) -> bool {
    matches!(error, Error::Denied(_))
}

fn unavailable(error: &Error) -> bool {
    matches!(error, Error::Unavailable(_))
}

#[tokio::test]
async fn an_answer_401_is_denied() {
    check(|path| Fault::status("GET", path, 401), denied, "401 Unable to authenticate you.").await;
}

#[tokio::test]
async fn an_answer_403_is_denied() {
    check(|path| Fault::status("GET", path, 403), denied, "403 You are missing the required permission").await;
}

#[tokio::test]
async fn an_answer_403_about_a_busy_object_passes() {
    let body = r#"{ "id": "forbidden", "message": "the droplet processes previous actions" }"#;
    check(|path| Fault::status("GET", path, 403).body(body), unavailable, "previous actions").await;
}

#[tokio::test]
async fn an_answer_404_of_another_service_is_not_absence() {
    let page = "<html>404 Not Found</html>";
    check(
        |path| Fault::status("GET", path, 404).body(page),
        unavailable,
        "not in the API's words: does baseUrl lead to it?",
    )
    .await;
}

#[tokio::test]
async fn an_answer_404_to_a_list_is_not_absence() {
    let rig = Rig::with([Droplet::new(42, "web-1")]).await;
    rig.cloud.inject(Fault::status("GET", "/v2/droplets", 404));
    for error in [
        rig.get(joining("web-1")).await.expect_err("a list is always there"),
        rig.instances.list(None, 200).await.answer.expect_err("a list is always there"),
    ] {
        assert!(unavailable(&error), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_429_with_retry_after_is_obeyed() {
    for error in errors(|path| Fault::status("GET", path, 429).header("retry-after", "20")).await {
        let Error::RetryAfter { after, reason } = error else { panic!("{error:?}") };
        // The first is the cloud's own; then the endpoint is left alone for what remains of it.
        assert!(after <= Duration::from_secs(20) && !after.is_zero(), "{after:?}: {reason}");
    }
}

#[tokio::test]
async fn an_answer_429_without_retry_after_is_obeyed_by_its_reset() {
    let cloud = Options {
        limits: Some(tests::clouds::digitalocean::Limits::Windows { per_hour: 1, per_minute: 10 }),
        ..Options::default()
    };
    let rig = Rig::start(Setup { cloud, ..Setup::default() }, [Droplet::new(42, "web-1")]).await;
    assert!(rig.get(node("web-1", "digitalocean://42")).await.unwrap().is_some());
    let error = rig.get(node("web-2", "digitalocean://43")).await.expect_err("one request an hour");
    let Error::RetryAfter { after, reason } = error else { panic!("{error:?}") };
    let hour = Duration::from_secs(3_600);
    assert!(after <= hour && after > hour - Duration::from_secs(60), "{after:?}");
    assert!(reason.starts_with("GET /v2/droplets/43 at endpoint api: 429 API rate limit exceeded."), "{reason}");
}

#[tokio::test]
async fn an_answer_429_that_says_nothing_else_backs_off() {
    let fault = |path: &str| Fault::status("GET", path, 429).header("ratelimit-reset", "");
    check(fault, unavailable, "429 API rate limit exceeded.").await;
}

#[tokio::test]
async fn an_answer_500_backs_off() {
    check(|path| Fault::status("GET", path, 500), unavailable, "500 Unexpected server-side error").await;
}

#[tokio::test]
async fn nonsense_for_json_backs_off() {
    check(|path| Fault::nonsense("GET", path), unavailable, "200 with an answer that cannot be read: ").await;
}

#[tokio::test]
async fn half_a_page_backs_off() {
    check(|path| Fault::half("GET", path), unavailable, "the answer was lost").await;
}

#[tokio::test]
async fn no_answer_at_all_backs_off() {
    check(|path| Fault::nothing("GET", path), unavailable, "the answer was lost").await;
}

#[tokio::test]
async fn an_empty_list_is_an_answer_and_proves_no_absence() {
    let rig = Rig::with([Droplet::new(42, "web-1")]).await;
    rig.cloud.inject(Fault::empty_list("GET", "/v2/droplets"));
    let page = rig.instances.list(None, 200).await.answer.unwrap();
    assert_eq!(page, Page { next: Some("gpus:1:200".to_owned()), ..Page::default() });
    assert!(rig.get(node("web-1", "digitalocean://42")).await.unwrap().is_some());
}

#[tokio::test]
async fn what_the_operator_does_not_allow_is_denied() {
    let setup = Setup { allowed: Some(vec!["/v2/droplets"]), ..Setup::default() };
    let rig = Rig::start(setup, [Droplet::new(42, "web-1")]).await;
    let error = rig.get(node("web-1", "digitalocean://42")).await.expect_err("the path is not allowed");
    assert!(denied(&error), "{error:?}");
    assert!(error.to_string().contains("E-EGRESS-PATH"), "{error}");
    assert!(rig.requests().is_empty());
}
