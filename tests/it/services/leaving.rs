//! When nothing may be begun any more: the process ends, or the account is another one.

use controllers::Account;
use serde_json::json;
use tests::control_plane::any_cluster;

use crate::cloud::{Cloud, ready};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, delete, finalizers, gone, join, join_all, memo, node,
    one, patch, resize, service, service_when, services, told,
};

#[tokio::test]
async fn what_is_in_flight_is_finished_before_the_end_and_nothing_else_is_begun() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.hold("s1");
    let controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    called(&cloud, "s1", 1).await;
    create(&cluster, &service("s2")).await;
    let mut stopping = controller.stop();
    resize(&cluster, "s1", "2").await;
    assert!(!stopping.has_ended(), "a call is in flight");
    cloud.release("s1");
    stopping.ended().await;

    let service = services(&cluster).get("s1").await.unwrap();
    assert_eq!((memo(&service), addresses(&service)), (Some("lb-1"), vec!["192.0.2.1"]));
    assert_eq!(cloud.asked(), ["ensure s1"]);
}

#[tokio::test]
async fn another_account_is_asked_for_nothing_and_finalizers_stay() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    cloud.is_of("ours");
    let account = Account::new(cloud.clone(), None);
    join_all(&cluster, 1).await;
    let controller = Controller::start_as(cluster.aerostat.clone(), cloud.offered(), account, one());
    for name in ["s1", "s2", "s3"] {
        create(&cluster, &service(name)).await;
        addressed(&cluster, name, "192.0.2.1").await;
    }
    let before = cloud.asked();
    assert_eq!(before.len(), 3);

    cloud.is_of("theirs");
    resize(&cluster, "s1", "2").await;
    delete(&cluster, "s2").await;
    patch(&cluster, "s3", json!({ "spec": { "type": "ClusterIP" } })).await;
    for name in ["s1", "s2", "s3"] {
        let events = told(&cluster, name, "SyncLoadBalancerFailed", 1).await;
        let failed = events.iter().find(|it| it.starts_with("Warning SyncLoadBalancerFailed")).unwrap();
        assert!(failed.contains("account"), "{failed}");
        let service = services(&cluster).get(name).await.unwrap();
        assert_eq!(finalizers(&service), [FINALIZER], "{name}");
    }
    join(&cluster, &node(2)).await;
    controller.knows("n2").await;
    assert_eq!(cloud.asked(), before);

    // The right credential is back: a change is followed at once, the rest at the latest by the next process.
    cloud.is_of("ours");
    resize(&cluster, "s1", "3").await;
    called(&cloud, "s1", 2).await;
    drop(controller);
    let account = Account::new(cloud.clone(), None);
    let _controller = Controller::start_as(cluster.aerostat.clone(), cloud.offered(), account, one());
    gone(&cluster, "s2").await;
    service_when(&cluster, "s3", |it| finalizers(it).is_empty()).await;
}
