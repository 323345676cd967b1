//! Bad answers of a cloud, one test a row: each is an error of the right kind, and none is ever taken for absence.

use std::time::Duration;

use cloud_provider::{Error, Page};
use http::StatusCode;
use serde_json::Value;
use tests::clouds::digitalocean::{Droplet, Limits, Options};
use tests::simulator::{Cloud as _, Fault};
use tests::vendor::{Behaviour, Differences, DigitalOcean, ProviderRig, Vendor};

use crate::setup::{joining, node, start};

tests::for_each_cloud! {
    an_answer_401_is_denied,
    an_answer_403_is_denied,
    an_answer_404_of_another_service_is_not_absence,
    an_answer_404_to_a_list_is_not_absence,
    an_answer_429_with_a_pause_is_obeyed,
    an_answer_429_that_says_nothing_else_backs_off,
    an_empty_list_is_an_answer_and_proves_no_absence,
    a_request_that_the_operator_does_not_allow_is_denied,
}

/// A cloud with the machines `web-1` and `web-2`.
async fn rig<V: Vendor>() -> ProviderRig<V> {
    ProviderRig::new(Behaviour::default(), &[]).await
}

/// The node of the machine `web-1`.
fn web<V: Vendor>() -> cloud_provider::Node {
    node("web-1", &format!("{}1", V::PROVIDER_ID))
}

/// The errors that a fault causes for a node with provider id, for one without, and for a list: each with the request
/// that failed.
async fn errors<V: Vendor>(fault: impl Fn(&str) -> Fault) -> [(Error, String); 3] {
    let rig = rig::<V>().await;
    rig.cloud.inject(fault(&format!("{}/*", V::MACHINES)));
    rig.cloud.inject(fault(V::MACHINES));
    let by_id = rig.get(web::<V>()).await.expect_err("the cloud did not answer");
    let by_name = rig.get(joining("web-1")).await.expect_err("the cloud did not answer");
    let listed = rig.instances.list(None, 50).await.answer.expect_err("the cloud did not answer");
    let asked = |id: &str| format!("GET {}{id} at endpoint {}", V::machines(), V::ENDPOINT);
    [(by_id, asked("/1")), (by_name, asked("")), (listed, asked(""))]
}

/// Checks that all three are of one kind, and say what was asked and what the cloud said.
async fn check<V: Vendor>(fault: impl Fn(&str) -> Fault, kind: fn(&Error) -> bool, words: &str) {
    for (error, asked) in errors::<V>(fault).await {
        assert!(kind(&error), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with(&asked) && text.contains(words), "{text}: no {asked:?}, or no {words:?}");
    }
}

/// A status, and the words that the cloud has for it.
fn words<V: Vendor>(status: u16) -> String {
    let body = V::Cloud::error(StatusCode::from_u16(status).unwrap()).body;
    let body: Value = serde_json::from_slice(&body).unwrap();
    let message = [&body["message"], &body["error"]["message"]].into_iter().find_map(Value::as_str);
    format!("{status} {}", message.expect("an error of a cloud has a message"))
}

fn denied(error: &Error) -> bool {
    matches!(error, Error::Denied(_))
}

fn unavailable(error: &Error) -> bool {
    matches!(error, Error::Unavailable(_))
}

async fn an_answer_401_is_denied<V: Vendor>() {
    check::<V>(|path| Fault::status("GET", path, 401), denied, &words::<V>(401)).await;
}

async fn an_answer_403_is_denied<V: Vendor>() {
    check::<V>(|path| Fault::status("GET", path, 403), denied, &words::<V>(403)).await;
}

#[tokio::test]
async fn an_answer_403_about_a_busy_object_passes() {
    let body = r#"{ "id": "forbidden", "message": "the droplet processes previous actions" }"#;
    check::<DigitalOcean>(|path| Fault::status("GET", path, 403).body(body), unavailable, "previous actions").await;
}

async fn an_answer_404_of_another_service_is_not_absence<V: Vendor>() {
    let page = "<html>404 Not Found</html>";
    let words = "not in the API's words: does baseUrl lead to it?";
    check::<V>(|path| Fault::status("GET", path, 404).body(page), unavailable, words).await;
}

async fn an_answer_404_to_a_list_is_not_absence<V: Vendor>() {
    let rig = rig::<V>().await;
    rig.cloud.inject(Fault::status("GET", V::MACHINES, 404));
    for error in [
        rig.get(joining("web-1")).await.expect_err("a list is always there"),
        rig.instances.list(None, 50).await.answer.expect_err("a list is always there"),
    ] {
        assert!(unavailable(&error), "{error:?}");
    }
}

async fn an_answer_429_with_a_pause_is_obeyed<V: Vendor>() {
    let pause = Duration::from_secs(20);
    for (error, _) in errors::<V>(|path| V::pause(Fault::status("GET", path, 429), pause)).await {
        let Error::RetryAfter { after, reason } = error else { panic!("{error:?}") };
        // The first is the cloud's own, in whole seconds; then the endpoint is left alone for what remains of it.
        assert!(after <= pause + Duration::from_secs(1) && !after.is_zero(), "{after:?}: {reason}");
    }
}

#[tokio::test]
async fn an_answer_429_without_retry_after_is_obeyed_by_its_reset() {
    let options = Options { limits: Some(Limits::Windows { per_hour: 1, per_minute: 10 }), ..Options::default() };
    let rig = start(options, Differences::default(), [Droplet::new(42, "web-1")]).await;
    assert!(rig.get(node("web-1", "digitalocean://42")).await.unwrap().is_some());
    let error = rig.get(node("web-2", "digitalocean://43")).await.expect_err("one request an hour");
    let Error::RetryAfter { after, reason } = error else { panic!("{error:?}") };
    let hour = Duration::from_secs(3_600);
    assert!(after <= hour && after > hour - Duration::from_secs(60), "{after:?}");
    assert!(reason.starts_with("GET /v2/droplets/43 at endpoint api: 429 API rate limit exceeded."), "{reason}");
}

async fn an_answer_429_that_says_nothing_else_backs_off<V: Vendor>() {
    let fault = |path: &str| Fault::status("GET", path, 429).header("ratelimit-reset", "");
    check::<V>(fault, unavailable, &words::<V>(429)).await;
}

async fn an_empty_list_is_an_answer_and_proves_no_absence<V: Vendor>() {
    let rig = rig::<V>().await;
    rig.cloud.inject(Fault::empty_list("GET", V::MACHINES));
    let page = rig.instances.list(None, 50).await.answer.unwrap();
    // Where machines are in several lists, the next one follows.
    assert_eq!(page, Page { next: page.next.clone(), ..Page::default() });
    assert!(rig.get(web::<V>()).await.unwrap().is_some());
}

async fn a_request_that_the_operator_does_not_allow_is_denied<V: Vendor>() {
    let cloud = V::start(Behaviour::default()).await.unwrap();
    let allowed = Some(&[V::machines()][..]);
    let differences = Differences { settings: V::SETTINGS, allowed, ..Differences::default() };
    let rig = ProviderRig::<V>::over(cloud, differences).await.with_machines(1);
    let error = rig.get(web::<V>()).await.expect_err("the path is not allowed");
    assert!(denied(&error), "{error:?}");
    assert!(error.to_string().contains("E-EGRESS-PATH"), "{error}");
    assert!(rig.requests().is_empty());
}
