//! Services that vanish without having waited for their load balancer, and others that get their names.

use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::json;
use tests::control_plane::{Cluster, any_cluster};

use crate::cloud::{Act, Cloud, ready, unavailable};
use crate::controller::{
    Controller, RETRY, addressed, called, create, delete, gone, memo, one, patch, resize, service, service_when,
    services, settled, told,
};

/// Takes a Service away, whatever holds it.
async fn tear_out(cluster: &Cluster) {
    patch(cluster, "s1", json!({ "metadata": { "finalizers": null } })).await;
    delete(cluster, "s1").await;
    let stripped = json!({ "metadata": { "finalizers": null } });
    // The controller may have put its finalizer back between the two.
    let params = kube::api::PatchParams::default();
    drop(services(cluster).patch("s1", &params, &kube::api::Patch::Merge(stripped)).await);
    gone(cluster, "s1").await;
}

#[tokio::test]
async fn case_116_a_service_that_vanished_is_remembered_and_its_load_balancer_deleted() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    let _controller = Controller::start(&cluster, &cloud, one());
    let created = create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    tear_out(&cluster).await;

    let events = told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    assert!(events.contains(&"Normal DeletingLoadBalancer: Deleting load balancer".to_owned()), "{events:#?}");
    let deletions: Vec<_> = cloud.about("s1").into_iter().filter(|it| it.act == Act::Delete).collect();
    assert_eq!(deletions.len(), 1);
    assert_eq!(Some(&deletions[0].wish.owner.uid), created.uid().as_ref());
    assert_eq!(deletions[0].wish.memo.as_deref(), Some("lb-1"));
    settled(&cluster).await;
    assert_eq!(cloud.asked().iter().filter(|it| *it == "delete s1").count(), 1, "then it is forgotten");
}

#[tokio::test]
async fn case_116_a_deletion_from_memory_that_fails_is_tried_again() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    cloud.deletes_next("s1", [unavailable(), unavailable()]);
    tear_out(&cluster).await;
    let events = told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    let failed = "Warning DeleteLoadBalancerFailed: Error deleting load balancer: cloud is down";
    assert!(events.iter().any(|it| it == failed), "{events:#?}");
    let deletions: Vec<_> = cloud.about("s1").into_iter().filter(|it| it.act == Act::Delete).collect();
    assert_eq!(deletions.len(), 3);
    assert!(deletions[1].began - deletions[0].began >= RETRY);
    assert!(deletions[2].began - deletions[1].began >= 2 * RETRY);
}

#[tokio::test]
async fn case_136_the_old_load_balancer_goes_before_a_new_service_of_its_name_gets_one() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.deletes_next("s1", [unavailable()]);
    let _controller = Controller::start(&cluster, &cloud, one());
    let old = create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;

    // While a call is in flight, the Service is taken away and another one made.
    cloud.hold("s1");
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    tear_out(&cluster).await;
    let new = services(&cluster).create(&PostParams::default(), &service("s1")).await.unwrap();
    cloud.ensures("s1", ready("192.0.2.2", "lb-2"));
    cloud.release("s1");

    let standing = addressed(&cluster, "s1", "192.0.2.2").await;
    assert_eq!((standing.uid(), memo(&standing)), (new.uid(), Some("lb-2")));
    let calls: Vec<_> = cloud.about("s1").into_iter().map(|it| (it.act, Some(it.wish.owner.uid))).collect();
    assert_eq!(
        calls,
        [
            (Act::Ensure, old.uid()),
            (Act::Ensure, old.uid()),
            (Act::Delete, old.uid()),
            (Act::Delete, old.uid()),
            (Act::Ensure, new.uid()),
        ]
    );
    let mut calls = cloud.about("s1");
    let last = calls.pop().unwrap();
    assert!(calls[1..].iter().all(|it| it.wish.memo.as_deref() == Some("lb-1")));
    assert_eq!(last.wish.memo, None, "what was the old one's is not the new one's");
}

#[tokio::test]
async fn a_finalizer_that_somebody_took_off_comes_back_with_the_next_call() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    settled(&cluster).await;
    patch(&cluster, "s1", json!({ "metadata": { "finalizers": null } })).await;
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    service_when(&cluster, "s1", |it| it.finalizers() == [crate::controller::FINALIZER]).await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2);
}

#[tokio::test]
async fn case_116_what_a_call_brought_after_its_service_had_vanished_is_deleted() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.hold("s1");
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    tear_out(&cluster).await;
    cloud.release("s1");
    told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    settled(&cluster).await;
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[1].act, calls[1].wish.memo.as_deref()), (Act::Delete, Some("lb-1")));
}
