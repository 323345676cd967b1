//! Services that are deleted.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error;
use http::Method;
use k8s_openapi::api::core::v1::Service;
use kube::Client;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};

use crate::cloud::{Act, Answer, Cloud, EARLIER, OTHERS, building, ready, retry_after, unavailable};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, delete, events, finalizers, gone, join_all, memo, one,
    patch, service, service_when, services, settled, told, written,
};

const DELETING: &str = "Normal DeletingLoadBalancer: Deleting load balancer";
const DELETED: &str = "Normal DeletedLoadBalancer: Deleted load balancer";

/// A Service with a load balancer and a memo.
async fn standing(cluster: &Cluster, cloud: &Arc<Cloud>) -> Controller {
    standing_for(cluster.aerostat.clone(), cluster, cloud).await
}

/// The same, where the controller has this client.
async fn standing_for(client: Client, cluster: &Cluster, cloud: &Arc<Cloud>) -> Controller {
    // The node is there first: a Service that is seen before its nodes has a Warning.
    join_all(cluster, 1).await;
    let controller = Controller::start_as(client, cloud, one());
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    create(cluster, &service("s1")).await;
    addressed(cluster, "s1", "192.0.2.1").await;
    told(cluster, "s1", "EnsuredLoadBalancer", 1).await;
    controller
}

#[tokio::test]
async fn case_128_the_finalizer_goes_after_the_load_balancer() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    cloud.hold("s1");
    delete(&cluster, "s1").await;
    called(&cloud, "s1", 2).await;
    let during = services(&cluster).get("s1").await.unwrap();
    assert_eq!((finalizers(&during), memo(&during)), (&[FINALIZER.to_owned()][..], Some("lb-1")));
    cloud.release("s1");

    gone(&cluster, "s1").await;
    assert_eq!(told(&cluster, "s1", "DeletedLoadBalancer", 1).await[2..], [DELETING, DELETED]);
    settled(&cluster).await;
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[1].act, calls[1].desired.memo.as_deref()), (Act::Delete, Some("lb-1")));
    assert!(calls[1].nodes().is_empty());
    assert_eq!(written(&cluster, "s1").await, ["patch services/status 200"; 3], "one that releases it, and no more");
}

#[tokio::test]
async fn finalizers_of_an_earlier_controller_go_where_they_may() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let mut taken_over = service("s1");
    let unknown = "example.com/unknown";
    taken_over.metadata.finalizers = Some([EARLIER, OTHERS, unknown].map(str::to_owned).to_vec());
    join_all(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    create(&cluster, &taken_over).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(cloud.about("s1")[0].desired.finalizers, [EARLIER, OTHERS], "of those that it describes");
    let before = services(&cluster).get("s1").await.unwrap();
    assert_eq!(finalizers(&before), [EARLIER, OTHERS, unknown, FINALIZER], "while it lives all stay");
    delete(&cluster, "s1").await;
    let after = service_when(&cluster, "s1", |it| !finalizers(it).contains(&FINALIZER.to_owned())).await;
    assert_eq!(finalizers(&after), [OTHERS, unknown]);
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": null } })).await;
    gone(&cluster, "s1").await;
}

#[tokio::test]
async fn case_129_a_missing_load_balancer_is_deleted_at_once() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let mut left = service("s1");
    left.spec.as_mut().unwrap().type_ = Some("ClusterIP".to_owned());
    left.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    create(&cluster, &left).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    service_when(&cluster, "s1", |it| finalizers(it).is_empty()).await;
    assert_eq!(told(&cluster, "s1", "DeletedLoadBalancer", 1).await.last().map(String::as_str), Some(DELETED));
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 1);
    assert_eq!(written(&cluster, "s1").await, ["patch services/status 200"]);
}

#[tokio::test]
async fn case_129_the_status_is_cleared_with_the_finalizer() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    // Another finalizer keeps the object, so that it can be looked at.
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": [FINALIZER, "example.com/foo"] } })).await;
    delete(&cluster, "s1").await;
    let released = |it: &Service| finalizers(it) == ["example.com/foo"];
    let service = service_when(&cluster, "s1", released).await;
    assert!(addresses(&service).is_empty());
    assert_eq!(memo(&service), None);
    settled(&cluster).await;
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": null } })).await;
    gone(&cluster, "s1").await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2, "it was deleted once");
}

#[tokio::test]
async fn case_130_an_error_keeps_the_finalizer() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    cloud.deletes_next("s1", [unavailable()]);
    cloud.deletes("s1", Answer::Error(Error::Denied("HTTP 403: no rights on load balancer lb-1".to_owned())));
    delete(&cluster, "s1").await;
    let events = told(&cluster, "s1", "SyncLoadBalancerFailed", 2).await;
    let failed = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to delete load balancer: ";
    let failures: Vec<_> = events.iter().filter_map(|it| it.strip_prefix(failed)).collect();
    assert_eq!(failures, ["cloud is down", "HTTP 403: no rights on load balancer lb-1"]);
    let service = services(&cluster).get("s1").await.unwrap();
    assert_eq!((finalizers(&service), memo(&service)), (&[FINALIZER.to_owned()][..], Some("lb-1")));
    assert!(!events.iter().any(|it| it == DELETED));
    assert!(cloud.about("s1")[1..].iter().all(|it| it.desired.memo.as_deref() == Some("lb-1")));
}

#[tokio::test]
async fn case_132_a_service_gone_at_its_release_is_no_failure() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    cloud.hold("s1");
    delete(&cluster, "s1").await;
    called(&cloud, "s1", 2).await;
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": null } })).await;
    gone(&cluster, "s1").await;
    cloud.release("s1");

    settled(&cluster).await;
    let failed = events(&cluster, "s1").into_iter().find(|it| it.starts_with("Warning"));
    assert_eq!(failed, None);
    assert_eq!(cloud.about("s1").len(), 2, "nobody remembers it");
}

#[tokio::test]
async fn case_132_a_release_answered_with_not_found_succeeds() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let faults = Faults::new();
    let _controller = standing_for(cluster.faulty(&faults), &cluster, &cloud).await;
    let path = r"/services/s1/status(\?|$)";
    faults.set(Fault::status(Method::PATCH, path, 404, "NotFound", "services \"s1\" not found").times(1));
    cloud.hold("s1");
    delete(&cluster, "s1").await;
    called(&cloud, "s1", 2).await;
    cloud.release("s1");
    told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    let failed = events(&cluster, "s1").into_iter().find(|it| it.starts_with("Warning"));
    assert_eq!(failed, None);
}

#[tokio::test]
async fn case_145_a_finalizer_that_somebody_added_meanwhile_survives() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    cloud.hold("s1");
    patch(&cluster, "s1", json!({ "spec": { "type": "ClusterIP" } })).await;
    called(&cloud, "s1", 2).await;
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": [FINALIZER, "example.com/foo"] } })).await;
    cloud.release("s1");
    let service = service_when(&cluster, "s1", |it| !finalizers(it).contains(&FINALIZER.to_owned())).await;
    assert_eq!(finalizers(&service), ["example.com/foo"]);
    assert_eq!(memo(&service), None);
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2, "what is gone is not deleted again");
    let failed = events(&cluster, "s1").into_iter().find(|it| it.starts_with("Warning"));
    assert_eq!(failed, None);
}

#[tokio::test]
async fn a_slow_deletion_keeps_the_finalizer() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    cloud.deletes_next("s1", [building("lb-1 going", Duration::from_secs(5))]);
    delete(&cluster, "s1").await;
    let service = service_when(&cluster, "s1", |it| memo(it) == Some("lb-1 going")).await;
    assert_eq!(finalizers(&service), [FINALIZER]);
    gone(&cluster, "s1").await;
    let calls = cloud.about("s1");
    assert_eq!(calls[2].desired.memo.as_deref(), Some("lb-1 going"));
    assert_eq!(calls.len(), 3);
    let events = told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    assert_eq!(events[2..], [DELETING, DELETED]);
}

#[tokio::test]
async fn the_finalizer_alone_decides_about_a_service_with_a_class() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut classed = service("s1");
    classed.spec.as_mut().unwrap().load_balancer_class = Some("example.com/other".to_owned());
    classed.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    create(&cluster, &classed).await;
    settled(&cluster).await;
    assert!(cloud.about("s1").is_empty(), "it is not deleted, and has a class");
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    let call = cloud.about("s1").remove(0);
    assert_eq!((call.act, call.desired.load_balancer_class.as_deref()), (Act::Delete, Some("example.com/other")));
}

#[tokio::test]
async fn a_deletion_that_nobody_saw_is_made_up_for_at_the_start() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let controller = standing(&cluster, &cloud).await;
    controller.stop().ended().await;
    delete(&cluster, "s1").await;
    let _controller = Controller::start(&cluster, &cloud, one());
    gone(&cluster, "s1").await;
    let calls = cloud.about("s1");
    assert_eq!((calls.len(), calls[1].act, calls[1].desired.memo.as_deref()), (2, Act::Delete, Some("lb-1")));
}

#[tokio::test]
async fn the_answer_of_a_call_before_the_deletion_is_taken_along() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", building("lb-1", Duration::from_secs(300)));
    cloud.hold("s1");
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    delete(&cluster, "s1").await;
    cloud.release("s1");
    gone(&cluster, "s1").await;
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[1].act, calls[1].desired.memo.as_deref()), (Act::Delete, Some("lb-1")));
}

#[tokio::test]
async fn a_service_wanted_again_during_deletion_comes_back() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    cloud.ensures("s1", ready("192.0.2.2", "lb-2"));
    cloud.hold("s1");
    patch(&cluster, "s1", json!({ "spec": { "type": "ClusterIP" } })).await;
    called(&cloud, "s1", 2).await;
    patch(&cluster, "s1", json!({ "spec": { "type": "LoadBalancer" } })).await;
    cloud.release("s1");
    let service = addressed(&cluster, "s1", "192.0.2.2").await;
    assert_eq!((finalizers(&service), memo(&service)), (&[FINALIZER.to_owned()][..], Some("lb-2")));
    settled(&cluster).await;
    let acts: Vec<_> = cloud.about("s1").iter().map(|it| it.act).collect();
    assert_eq!(acts, [Act::Ensure, Act::Delete, Act::Ensure]);
}

/// Cases: deletion-after-pause
#[tokio::test]
async fn a_pause_of_ensure_does_not_delay_the_deletion() {
    for patch_of in [None, Some(json!({ "spec": { "type": "ClusterIP" } }))] {
        let cluster = cluster().await;
        let cloud = Cloud::new();
        cloud.ensures("s1", retry_after(Duration::from_secs(300)));
        let _controller = Controller::start(&cluster, &cloud, one());
        create(&cluster, &service("s1")).await;
        told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
        match patch_of {
            None => {
                delete(&cluster, "s1").await;
                gone(&cluster, "s1").await;
            }
            Some(change) => {
                patch(&cluster, "s1", change).await;
                service_when(&cluster, "s1", |it| finalizers(it).is_empty()).await;
            }
        }
        let acts: Vec<_> = cloud.about("s1").iter().map(|it| it.act).collect();
        assert_eq!(acts, [Act::Ensure, Act::Delete]);
    }
}

#[tokio::test]
async fn a_pause_asked_for_after_the_deletion_began_counts_not() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", retry_after(Duration::from_secs(300)));
    cloud.hold("s1");
    let controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    delete(&cluster, "s1").await;
    // As soon as the controller knows of the next Service, it knows of the deletion.
    create(&cluster, &service("s2")).await;
    controller.waiting(1).await;
    cloud.release("s1");
    gone(&cluster, "s1").await;
    let acts: Vec<_> = cloud.about("s1").iter().map(|it| it.act).collect();
    assert_eq!(acts, [Act::Ensure, Act::Delete]);
}

/// Cases: deletion-after-pause
#[tokio::test]
async fn a_pause_of_ensure_does_not_hold_a_vanished_service() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", retry_after(Duration::from_secs(300)));
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": null } })).await;
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
}

#[tokio::test]
async fn a_denied_deletion_is_tried_again_within_half_a_minute() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = standing(&cluster, &cloud).await;
    let denied = Answer::Error(Error::Denied("HTTP 403: no rights".to_owned()));
    let invalid = Answer::Error(Error::Invalid("HTTP 422: in use".to_owned()));
    cloud.deletes_next("s1", [denied, invalid]);
    delete(&cluster, "s1").await;
    gone(&cluster, "s1").await;
    assert_eq!(cloud.about("s1").len(), 4);
}
