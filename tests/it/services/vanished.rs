//! Services that vanish without having waited for their load balancer, and others that get their names.

use std::time::Duration;

use http::Method;
use kube::ResourceExt;
use kube::api::PostParams;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};
use tests::lagging::{self, Recorded};
use tests::wait;

use crate::cloud::{Act, Cloud, ready, unavailable};
use crate::controller::{
    Controller, addressed, called, create, delete, gone, memo, one, patch, resize, service, service_when, services,
    settled, told,
};

/// The pauses of a watch before its second list, of which each failure doubles the next.
const BACK_OFF: Duration = Duration::from_secs(10);

/// Takes the Service s1 away, whatever holds it.
async fn tear_out(cluster: &Cluster) {
    tear_out_named(cluster, "s1").await;
}

/// Takes a Service away, whatever holds it.
async fn tear_out_named(cluster: &Cluster, name: &str) {
    patch(cluster, name, json!({ "metadata": { "finalizers": null } })).await;
    delete(cluster, name).await;
    let stripped = json!({ "metadata": { "finalizers": null } });
    // The controller may have put its finalizer back between the two.
    let params = kube::api::PatchParams::default();
    drop(services(cluster).patch(name, &params, &kube::api::Patch::Merge(stripped)).await);
    gone(cluster, name).await;
}

#[tokio::test]
async fn case_116_an_orphaned_load_balancer_is_deleted() {
    let cluster = cluster().await;
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
    assert_eq!(Some(&deletions[0].desired.owner.uid), created.uid().as_ref());
    assert_eq!(deletions[0].desired.memo.as_deref(), Some("lb-1"));
    settled(&cluster).await;
    assert_eq!(cloud.asked().iter().filter(|it| *it == "delete s1").count(), 1, "then it is forgotten");
}

#[tokio::test]
async fn case_136_the_old_load_balancer_goes_before_a_new_one() {
    let cluster = cluster().await;
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
    let calls: Vec<_> = cloud.about("s1").into_iter().map(|it| (it.act, Some(it.desired.owner.uid))).collect();
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
    assert!(calls[1..].iter().all(|it| it.desired.memo.as_deref() == Some("lb-1")));
    assert_eq!(last.desired.memo, None, "what was the old one's is not the new one's");
}

#[tokio::test]
async fn a_removed_finalizer_comes_back_with_the_next_call() {
    let cluster = cluster().await;
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
async fn case_116_a_late_result_for_a_gone_service_is_deleted() {
    let cluster = cluster().await;
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
    assert_eq!((calls[1].act, calls[1].desired.memo.as_deref()), (Act::Delete, Some("lb-1")));
}

/// Waits until a list was answered with a recorded one.
async fn answered(faults: &Faults) {
    let times = async || (Recorded::answered(faults) > 0).then_some(());
    wait::until("a list is answered with the recorded one", times).await;
}

fn deletions(cloud: &Cloud, service: &str) -> usize {
    cloud.about(service).iter().filter(|it| it.act == Act::Delete).count()
}

/// Cases: case 116
#[tokio::test]
async fn an_older_list_deletes_no_load_balancer() {
    older_list(&Faults::new()).await;
}

/// Cases: case 116
#[tokio::test]
async fn an_older_page_deletes_no_load_balancer() {
    let faults = Faults::new();
    lagging::refuse_streams(&faults);
    older_list(&faults).await;
}

async fn older_list(faults: &Faults) {
    let cluster = cluster().await;
    let (cloud, proxy) = (Cloud::new(), cluster.proxy().await);
    let older = Recorded::now(&cluster.admin, "services").await;
    let client = cluster.through(&proxy, faults);
    let _controller = Controller::start_as(client, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;

    older.answer(faults, 2);
    proxy.cut();
    let both = async || (Recorded::answered(faults) >= 2).then_some(());
    wait::until_after(BACK_OFF, "two lists are answered with the recorded one", both).await;
    settled(&cluster).await;
    assert_eq!(deletions(&cloud, "s1"), 0);
    assert_eq!(Recorded::answered(faults), 2, "an older list is discarded, and another one asked for");
    addressed(&cluster, "s1", "192.0.2.1").await;
}

/// Cases: case 116
#[tokio::test]
async fn a_service_that_a_list_lacks_is_asked_for_before_deletion() {
    let cluster = cluster().await;
    let (cloud, faults, proxy) = (Cloud::new(), Faults::new(), cluster.proxy().await);
    let client = cluster.through(&proxy, &faults);
    let _controller = Controller::start_as(client, &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;

    // A list that is not older, and lacks a Service that is there.
    settled(&cluster).await;
    Recorded::now(&cluster.admin, "services").await.without("s1").answer(&faults, 1);
    proxy.cut();
    answered(&faults).await;
    settled(&cluster).await;
    assert_eq!(deletions(&cloud, "s1"), 0);
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    assert_eq!(deletions(&cloud, "s1"), 0);
}

#[tokio::test]
async fn without_an_answer_about_a_gone_service_nothing_is_deleted() {
    let cluster = cluster().await;
    let (cloud, faults) = (Cloud::new(), Faults::new());
    faults.set(Fault::status(Method::GET, "/services/s1$", 500, "InternalError", "injected failure"));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, one());
    create(&cluster, &service("s1")).await;
    told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;
    tear_out(&cluster).await;
    let events = told(&cluster, "s1", "DeleteLoadBalancerFailed", 2).await;
    let failed = "Warning DeleteLoadBalancerFailed: Error deleting load balancer: cannot find out whether the Service \
                  is gone: injected failure";
    assert!(events.iter().any(|it| it == failed), "{events:#?}");
    assert_eq!(deletions(&cloud, "s1"), 0);
    faults.clear();
    told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    assert_eq!(deletions(&cloud, "s1"), 1);
}

/// Cases: case 116
#[tokio::test]
async fn when_many_services_vanish_most_wait_for_approval() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let controller = Controller::start(&cluster, &cloud, one());
    let names = ["s1", "s2", "s3", "s4", "s5"];
    for name in names {
        create(&cluster, &service(name)).await;
        told(&cluster, name, "EnsuredLoadBalancer", 1).await;
    }
    for name in names {
        tear_out_named(&cluster, name).await;
    }
    settled(&cluster).await;
    let deleted = || names.iter().filter(|it| deletions(&cloud, it) > 0).count();
    assert_eq!(deleted(), 3);
    for name in names.iter().filter(|it| deletions(&cloud, it) == 0) {
        let events = told(&cluster, name, "LoadBalancerNotDeleted", 1).await;
        let event = events.iter().find(|it| it.contains("LoadBalancerNotDeleted")).unwrap();
        let parts = [name, "at most 3", "600 s", "aerostat.dev/cloud-writes-approved: \"true\"", "Lease"];
        assert!(parts.iter().all(|it| event.contains(it)), "{event}");
    }
    assert!(controller.counter("aerostat_load_balancer_deletions_withheld_total") >= 2.0);
    controller.requested.approve(tokio::time::Instant::now());
    wait::until("all load balancers are deleted", async || (deleted() == names.len()).then_some(())).await;
}
