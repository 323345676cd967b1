//! When nothing may be begun any more: the process ends, or the account is another one.

use std::time::Duration;

use controllers::{ACCOUNT_ANNOTATION, Account, Recorder};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tests::control_plane::cluster;

use crate::cloud::{Cloud, building, ready};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, delete, finalizers, gone, join, join_all, memo, node,
    one, patch, resize, service, service_when, services, told,
};

#[tokio::test]
async fn the_end_finishes_calls_in_flight_and_begins_no_others() {
    let cluster = cluster().await;
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
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.is_of("ours");
    let account = Account::new(cloud.script.clone(), None);
    join_all(&cluster, 1).await;
    let controller = Controller::start_with(cluster.aerostat.clone(), &cloud, account, one());
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
    let account = Account::new(cloud.script.clone(), None);
    let _controller = Controller::start_with(cluster.aerostat.clone(), &cloud, account, one());
    gone(&cluster, "s2").await;
    service_when(&cluster, "s3", |it| finalizers(it).is_empty()).await;
}

#[tokio::test]
async fn answers_of_another_account_are_not_believed() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.is_of("ours");
    join_all(&cluster, 1).await;
    let account = Account::new(cloud.script.clone(), None);
    let _controller = Controller::start_with(cluster.aerostat.clone(), &cloud, account, one());
    for name in ["s1", "s2"] {
        cloud.ensures(name, ready("192.0.2.1", &format!("lb of {name}")));
        create(&cluster, &service(name)).await;
        addressed(&cluster, name, "192.0.2.1").await;
    }
    // The call is in flight, about to say what the other account knows: nothing.
    cloud.ensures("s1", building("to be created again", Duration::from_secs(300)));
    cloud.hold("s1");
    cloud.hold("s2");
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    cloud.is_of("theirs");
    cloud.release("s1");
    told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    let service = services(&cluster).get("s1").await.unwrap();
    assert_eq!(memo(&service), Some("lb of s1"));

    cloud.is_of("ours");
    delete(&cluster, "s2").await;
    called(&cloud, "s2", 2).await;
    cloud.is_of("theirs");
    cloud.release("s2");
    told(&cluster, "s2", "SyncLoadBalancerFailed", 1).await;
    let service = services(&cluster).get("s2").await.unwrap();
    assert_eq!(finalizers(&service), [FINALIZER]);
    assert_eq!(memo(&service), Some("lb of s2"));
}

#[tokio::test]
async fn a_new_process_needs_the_account_before_it_deletes() {
    let cluster = cluster().await;
    // RBAC names this one and no other.
    let (cloud, name) = (Cloud::new(), "cloud-controller-manager");
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let lease = json!({ "metadata": { "name": name, "namespace": "kube-system" } });
    leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
    let account = || {
        let about = ObjectReference {
            name: Some(name.to_owned()),
            namespace: Some("kube-system".to_owned()),
            ..ObjectReference::default()
        };
        let (recorder, _) = Recorder::new(cluster.aerostat.clone(), "cloud-controller-manager");
        Account::new(cloud.script.clone(), Some((cluster.aerostat.clone(), about, recorder)))
    };
    cloud.is_of("ours");
    account().check().await.unwrap();
    let lease = leases.get(name).await.unwrap();
    assert_eq!(lease.annotations()[ACCOUNT_ANNOTATION], "ours");

    cloud.tells_no_account();
    let refused = account().check().await.unwrap_err().to_string();
    assert!(refused.contains("no longer says whose the credential is"), "{refused}");
    leases.delete(name, &DeleteParams::default()).await.unwrap();
}
