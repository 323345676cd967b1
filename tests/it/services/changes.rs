//! Which changes of a Service the cloud hears of.

use std::time::Instant;

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use tests::control_plane::cluster;

use crate::cloud::{Cloud, SIZE, ready};
use crate::controller::{
    Controller, addressed, addresses, called, create, finalizers, join_all, memo, one, patch, resize, service,
    service_when, settled, told, written,
};

#[tokio::test]
async fn case_108_an_unwanted_load_balancer_is_deleted() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    join_all(&cluster, 1).await;
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    told(&cluster, "s1", "EnsuredLoadBalancer", 1).await;

    patch(&cluster, "s1", json!({ "spec": { "type": "ClusterIP" } })).await;
    let clean = |it: &Service| finalizers(it).is_empty() && memo(it).is_none() && addresses(it).is_empty();
    service_when(&cluster, "s1", clean).await;
    let events = told(&cluster, "s1", "DeletedLoadBalancer", 1).await;
    assert_eq!(
        events[2..],
        ["Normal DeletingLoadBalancer: Deleting load balancer", "Normal DeletedLoadBalancer: Deleted load balancer"]
    );
    assert_eq!(cloud.about("s1")[1].desired.memo.as_deref(), Some("lb-1"));

    patch(&cluster, "s1", json!({ "spec": { "ports": [{ "port": 81 }] } })).await;
    resize(&cluster, "s1", "2").await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 2);
    let written = written(&cluster, "s1").await;
    assert_eq!(written, ["patch services/status 200"; 3], "the API server takes the addresses off itself");

    patch(&cluster, "s1", json!({ "spec": { "type": "LoadBalancer" } })).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(cloud.about("s1")[2].desired.memo, None);
}

#[tokio::test]
async fn a_change_during_a_call_makes_one_more_call() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.hold("s1");
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    for size in ["1", "2", "3"] {
        resize(&cluster, "s1", size).await;
    }
    cloud.release("s1");
    addressed(&cluster, "s1", "192.0.2.1").await;
    called(&cloud, "s1", 2).await;
    settled(&cluster).await;
    let calls = cloud.about("s1");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].desired.annotations, [(SIZE.to_owned(), "3".to_owned())]);
    let failed = crate::controller::events(&cluster, "s1").into_iter().find(|it| it.starts_with("Warning Sync"));
    assert_eq!(failed, None);
}

#[tokio::test]
async fn a_service_that_always_changes_is_slowed_down() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let begun = Instant::now();
    create(&cluster, &service("s1")).await;
    for size in 1..10 {
        called(&cloud, "s1", size).await;
        resize(&cluster, "s1", &size.to_string()).await;
    }
    called(&cloud, "s1", 10).await;
    resize(&cluster, "s1", "10").await;
    settled(&cluster).await;
    // Beside the ten there is one more for each ten seconds.
    let calls = cloud.about("s1").len() as u64;
    assert!(calls <= 10 + begun.elapsed().as_secs() / 10, "the eleventh has to wait: {calls}");
    // Its deletion does not.
    crate::controller::delete(&cluster, "s1").await;
    crate::controller::gone(&cluster, "s1").await;
    assert_eq!(cloud.asked().iter().filter(|it| *it == "delete s1").count(), 1);
}
