//! Failures while load balancers are ensured: a cloud that says no, a provider that panics, an API server that refuses.

use std::time::Duration;

use cloud_provider::{Error, Event, EventKind};
use controllers::service::Options;
use http::Method;
use serde_json::json;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults};
use tests::wait;

use crate::cloud::{Answer, Call, Cloud, retry_after, unavailable};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, events, join_all, one, patch, resize, service,
    services, settled, told,
};

const FAILED: &str = "Warning SyncLoadBalancerFailed: Error syncing load balancer: ";
const STATUS: &str = r"/services/s1/status(\?|$)";

/// The pauses between calls.
fn pauses(calls: &[Call]) -> Vec<Duration> {
    calls.windows(2).map(|it| it[1].began - it[0].began).collect()
}

#[tokio::test]
async fn case_122_the_clouds_pause_is_kept_and_is_no_failure() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let pause = Duration::from_secs(2);
    let short = retry_after(Duration::from_millis(10));
    cloud.ensures_next("s1", [short.clone(), short.clone(), short, retry_after(pause), unavailable()]);
    let base = Duration::from_millis(500);
    let _controller = Controller::start(&cluster, &cloud, Options { retry_base: base, ..one() });
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 4).await;
    // A change does not cut it short.
    resize(&cluster, "s1", "2").await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    let pauses = pauses(&cloud.about("s1"));
    assert_eq!(pauses.len(), 5);
    assert!(pauses[3] >= pause, "{pauses:?}");
    assert!(pauses[4] >= base && pauses[4] < 8 * base, "four of them would have made it eight seconds: {pauses:?}");
    let expected = format!("{FAILED}failed to ensure load balancer: HTTP 429: slow down");
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    assert!(events.contains(&expected), "{events:#?}");
}

#[tokio::test]
async fn invalid_and_denied_are_shown_once_and_retried_on_change() {
    let errors = [Error::Invalid("size must be a number".to_owned()), Error::Denied("HTTP 403: no rights".to_owned())];
    for error in errors {
        let cluster = cluster().await;
        let cloud = Cloud::new();
        cloud.ensures_next("s1", [Answer::Error(error.clone())]);
        join_all(&cluster, 1).await;
        let _controller = Controller::start(&cluster, &cloud, one());
        create(&cluster, &service("s1")).await;
        let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
        assert_eq!(events[1..], [format!("{FAILED}failed to ensure load balancer: {error}")]);
        patch(&cluster, "s1", json!({ "metadata": { "labels": { "any": "label" } } })).await;
        settled(&cluster).await;
        assert_eq!(cloud.about("s1").len(), 1);

        resize(&cluster, "s1", "2").await;
        addressed(&cluster, "s1", "192.0.2.1").await;
        assert_eq!(cloud.about("s1").len(), 2);
        let events = told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
        assert_eq!(events.iter().filter(|it| it.starts_with("Warning Sync")).count(), 1);
    }
}

#[tokio::test]
async fn case_126_a_failed_status_write_is_shown_and_repeated() {
    for (code, reason) in [(409, "Conflict"), (500, "InternalError")] {
        let cluster = cluster().await;
        let cloud = Cloud::new();
        let faults = Faults::new();
        let mut held = service("s1");
        held.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
        // A conflict may be looked at again before it is given up.
        faults.set(Fault::status(Method::PATCH, STATUS, code, reason, "injected failure"));
        let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, one());
        create(&cluster, &held).await;
        let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
        let failed = format!("{FAILED}failed to update load balancer status: ");
        assert!(events.iter().any(|it| it.starts_with(&failed) && it.contains("injected failure")), "{events:#?}");
        faults.clear();
        addressed(&cluster, "s1", "192.0.2.1").await;
    }
}

#[tokio::test]
async fn case_126_a_service_gone_at_its_status_write_is_no_failure() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let faults = Faults::new();
    let mut held = service("s1");
    held.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    faults.set(Fault::status(Method::PATCH, STATUS, 404, "NotFound", "services \"s1\" not found").times(1));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, one());
    create(&cluster, &held).await;
    wait::until("the write", async || faults.answered().pop()).await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1);
    let failed = events(&cluster, "s1").into_iter().find(|it| it.starts_with("Warning Sync"));
    assert_eq!(failed, None);
}

#[tokio::test]
async fn a_panic_in_a_call_is_a_failure_of_its_service_alone() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [Answer::Panic, Answer::Panic]);
    cloud.deletes_next("s1", [Answer::Panic]);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    create(&cluster, &service("s2")).await;
    addressed(&cluster, "s2", "192.0.2.1").await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(cloud.about("s1").len(), 3);
    crate::controller::delete(&cluster, "s1").await;
    crate::controller::gone(&cluster, "s1").await;
    assert_eq!(cloud.about("s1").len(), 5);
}

#[tokio::test]
async fn an_error_leaves_the_addresses_as_they_are() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    cloud.ensures("s1", Answer::Error(Error::Invalid("size must be a number".to_owned())));
    resize(&cluster, "s1", "many").await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let service = services(&cluster).get("s1").await.unwrap();
    assert_eq!(addresses(&service), ["192.0.2.1"]);
}

#[tokio::test]
async fn provider_events_are_recorded_on_the_service_and_limited() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let event = Event {
        about: None,
        kind: EventKind::Warning,
        reason: "ValueTolerated".to_owned(),
        message: "The size is ignored.".to_owned(),
    };
    cloud.events("s1", vec![event]);
    cloud.ensures_next("s1", [Answer::Error(Error::Invalid("no".to_owned()))]);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    for size in 1..5 {
        resize(&cluster, "s1", &size.to_string()).await;
        called(&cloud, "s1", size + 1).await;
    }
    settled(&cluster).await;
    let requests = cluster.audit().events().unwrap();
    let made = requests.iter().filter(|it| it.verb == "create" && it.body["reason"] == "ValueTolerated");
    let about: Vec<_> = made.map(|it| it.body["involvedObject"]["name"].as_str().unwrap()).collect();
    assert_eq!(about, ["s1"], "those that repeat are counted");
    assert!(events(&cluster, "s1").contains(&"Warning ValueTolerated: The size is ignored.".to_owned()));
}

#[tokio::test]
async fn an_event_shows_the_whole_text_of_an_error() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let lines = ["the provider crashed"; 40].join("\n");
    cloud.ensures_next("s1", [Answer::Error(Error::Unavailable(format!("{lines} at the end")))]);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let shown = format!("{FAILED}failed to ensure load balancer: {} at the end", lines.replace('\n', "\\n"));
    assert!(events.contains(&shown), "{events:#?}");
}
