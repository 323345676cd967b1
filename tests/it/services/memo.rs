//! Memos of a provider: written before the next call, and never two Services' at once.

use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::audit_log::Request;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};
use tests::wait;

use crate::cloud::{Cloud, building, ready, unavailable};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, delete, events, finalizers, gone, memo, one, patch,
    resize, serve_s1, service, service_when, services, settled, told, workers, writes,
};

const SECOND: Duration = Duration::from_secs(1);

/// The writes that put a memo on `s1`, with success.
async fn memos(cluster: &Cluster, memo: &str) -> Vec<Request> {
    let mut writes = writes(cluster, "s1").await;
    writes.retain(|it| it.response.code == 200 && it.body["status"].to_string().contains(memo));
    writes
}

/// Holds all calls after the first against the log: each knew `memo`, and came after it had been written.
async fn check_kept(cluster: &Cluster, cloud: &Cloud, memo: &str) {
    let written = memos(cluster, memo).await;
    assert_eq!(written.len(), 1, "{written:#?}");
    let calls = cloud.about("s1");
    assert!(calls.len() > 1);
    for call in &calls[1..] {
        assert_eq!(call.desired.memo.as_deref(), Some(memo));
        assert!(call.at > written[0].received, "called before the memo was written");
    }
}

#[tokio::test]
async fn a_memo_is_written_before_the_next_call_and_carried_by_it() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", SECOND)]);
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    let waiting = service_when(&cluster, "s1", |it| memo(it) == Some("lb-1")).await;
    assert!(addresses(&waiting).is_empty());
    addressed(&cluster, "s1", "192.0.2.1").await;
    check_kept(&cluster, &cloud, "lb-1").await;
    assert_eq!(cloud.about("s1").len(), 2);
}

#[tokio::test]
async fn an_unwritten_memo_is_written_before_the_next_call() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let faults = Faults::new();
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, one());
    let mut held = service("s1");
    held.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    let path = r"/services/s1/status(\?|$)";
    faults.set(Fault::status(Method::PATCH, path, 500, "InternalError", "injected failure").times(3));
    create(&cluster, &held).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let failed = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to update load balancer status: ";
    assert!(events.iter().any(|it| it.starts_with(failed) && it.contains("injected failure")), "{events:#?}");
    settled(&cluster).await;
    resize(&cluster, "s1", "2").await;
    wait::until("a call for the change", async || {
        cloud.about("s1").last().is_some_and(|it| !it.desired.annotations.is_empty()).then_some(())
    })
    .await;
    check_kept(&cluster, &cloud, "lb-1").await;
    assert_eq!(faults.answered().len(), 3);
}

#[tokio::test]
async fn case_126_a_memo_survives_a_change_during_the_call() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [building("lb-1", SECOND)]);
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.hold("s1");
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    patch(&cluster, "s1", json!({ "metadata": { "labels": { "added": "meanwhile" } } })).await;
    resize(&cluster, "s1", "2").await;
    cloud.release("s1");
    let service = addressed(&cluster, "s1", "192.0.2.1").await;
    check_kept(&cluster, &cloud, "lb-1").await;
    assert!(service.metadata.labels.is_some_and(|it| it.contains_key("added")));
    settled(&cluster).await;
    let failed = events(&cluster, "s1").into_iter().find(|it| it.starts_with("Warning Sync"));
    assert_eq!(failed, None);
}

#[tokio::test]
async fn an_error_keeps_the_memo() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [ready("192.0.2.1", "lb-1"), unavailable()]);
    let _controller = serve_s1(&cluster, &cloud).await;
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 3).await;
    settled(&cluster).await;
    check_kept(&cluster, &cloud, "lb-1").await;
    let service = services(&cluster).get("s1").await.unwrap();
    assert_eq!(memo(&service), Some("lb-1"));
}

/// Holds two Services against each other of which `second` must not get what `first` has.
async fn check_refused(cluster: &Cluster, first: &str, second: &str) {
    let events = told(cluster, second, "SyncLoadBalancerFailed", 1).await;
    let refused = events.iter().find(|it| it.starts_with("Warning SyncLoadBalancerFailed")).expect("it was told");
    assert!(refused.contains(first) && refused.contains(&format!("default/{second}")), "{refused}");
    settled(cluster).await;
    let service = services(cluster).get(second).await.expect("it is there");
    assert_eq!((memo(&service), addresses(&service)), (None, Vec::new()));
    assert_eq!(finalizers(&service), [FINALIZER]);
}

#[tokio::test]
async fn a_memo_that_another_service_holds_is_refused_and_not_kept() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.ensures("s2", building("lb-1", SECOND));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    create(&cluster, &service("s2")).await;
    check_refused(&cluster, "default/s1", "s2").await;
    assert!(writes(&cluster, "s2").await.iter().all(|it| !it.body.to_string().contains("lb-1")));

    // It goes without having touched anything.
    delete(&cluster, "s2").await;
    gone(&cluster, "s2").await;
    assert!(cloud.about("s2").iter().all(|it| it.desired.memo.is_none()));
    let first = services(&cluster).get("s1").await.unwrap();
    assert_eq!((memo(&first), addresses(&first)), (Some("lb-1"), vec!["192.0.2.1"]));
}

#[tokio::test]
async fn a_memo_of_a_service_in_another_namespace_is_refused_as_well() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let elsewhere: Api<Service> = Api::namespaced(cluster.admin.clone(), "kube-system");
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    elsewhere.create(&PostParams::default(), &service("s1")).await.unwrap();
    wait::until("the first has its memo", async || {
        elsewhere.get("s1").await.ok().filter(|it| memo(it) == Some("lb-1")).map(|_| ())
    })
    .await;
    cloud.ensures("s2", ready("192.0.2.1", "lb-1"));
    create(&cluster, &service("s2")).await;
    check_refused(&cluster, "kube-system/s1", "s2").await;
    elsewhere.delete("s1", &DeleteParams::default()).await.unwrap();
    wait::until("it is gone", async || elsewhere.get_opt("s1").await.ok()?.is_none().then_some(())).await;
}

#[tokio::test]
async fn one_of_two_services_keeps_a_memo_that_both_get() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    for name in ["s1", "s2"] {
        cloud.ensures(name, ready("192.0.2.1", "lb-1"));
        cloud.hold(name);
    }
    let _controller = Controller::start(&cluster, &cloud, workers(2));
    for name in ["s1", "s2"] {
        create(&cluster, &service(name)).await;
    }
    wait::until("both are asked about", async || (cloud.in_flight() == 2).then_some(())).await;
    cloud.release("s1");
    cloud.release("s2");
    let refused = wait::until("one is refused", async || {
        let failed = |name: &str| events(&cluster, name).iter().any(|it| it.contains(" SyncLoadBalancerFailed: "));
        ["s1", "s2"].into_iter().find(|it| failed(it))
    })
    .await;
    let kept = if refused == "s1" { "s2" } else { "s1" };
    service_when(&cluster, kept, |it| memo(it) == Some("lb-1")).await;
    check_refused(&cluster, &format!("default/{kept}"), refused).await;
}

#[tokio::test]
async fn a_memo_is_free_again_when_its_service_is_gone() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    for name in ["s1", "s2"] {
        cloud.ensures(name, ready("192.0.2.1", "lb-1"));
    }
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    settled(&cluster).await;
    create(&cluster, &service("s2")).await;
    let service = addressed(&cluster, "s2", "192.0.2.1").await;
    assert_eq!(memo(&service), Some("lb-1"));
}

#[tokio::test]
async fn a_memo_that_somebody_took_off_is_put_back_without_a_call() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = serve_s1(&cluster, &cloud).await;
    settled(&cluster).await;
    let bare = Patch::Merge(json!({ "status": { "conditions": null } }));
    services(&cluster).patch_status("s1", &PatchParams::default(), &bare).await.unwrap();
    service_when(&cluster, "s1", |it| memo(it) == Some("lb-1")).await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1);
}

#[tokio::test]
async fn a_memo_that_a_provider_drops_is_told() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures_next("s1", [ready("192.0.2.1", "lb-1")]);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    for size in ["2", "3"] {
        resize(&cluster, "s1", size).await;
        service_when(&cluster, "s1", |it| memo(it).is_none()).await;
        settled(&cluster).await;
    }
    let events = told(&cluster, "s1", "MemoDropped", 1).await;
    let dropped: Vec<_> = events.iter().filter(|it| it.contains("MemoDropped")).collect();
    assert_eq!(dropped.len(), 1, "{dropped:#?}");
    assert!(dropped[0].starts_with("Warning ") && dropped[0].contains("\"lb-1\""), "{dropped:#?}");
}
