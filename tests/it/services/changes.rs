//! Which changes of a Service the cloud hears of.

use cloud_provider::{ExternalTrafficPolicy, Protocol};
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, any_cluster};

use crate::cloud::{Cloud, SIZE, ready};
use crate::controller::{
    Controller, addressed, addresses, called, create, finalizers, join_all, memo, one, patch, resize, service,
    service_when, services, settled, told, written,
};

/// Changes of `s1` that its load balancer does not depend on.
async fn change_what_does_not_matter(cluster: &Cluster, nth: usize) {
    let (value, even) = (nth.to_string(), nth.is_multiple_of(2));
    let changes = [
        json!({ "metadata": { "labels": { "example.com/any": value } } }),
        json!({ "metadata": { "annotations": { "example.com/unknown": value } } }),
        json!({ "spec": { "selector": { "app": value } } }),
        json!({ "spec": { "internalTrafficPolicy": if even { "Local" } else { "Cluster" } } }),
        json!({ "spec": { "publishNotReadyAddresses": even } }),
        json!({ "spec": { "externalIPs": [format!("198.51.100.{nth}")] } }),
    ];
    for change in changes {
        patch(cluster, "s1", change).await;
    }
    let status = json!({ "status": { "conditions": [{
        "type": "example.com/Any", "status": "True", "reason": "Any", "message": value,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } });
    services(cluster).patch_status("s1", &PatchParams::default(), &Patch::Merge(status)).await.expect("patched");
}

#[tokio::test]
async fn case_109_to_114_only_relevant_changes_reach_the_cloud() {
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    let mut first = service("s1");
    first.spec.as_mut().unwrap().cluster_ip = Some("10.96.77.1".to_owned());
    create(&cluster, &first).await;
    addressed(&cluster, "s1", "192.0.2.1").await;

    let ports = |port: Value| json!({ "spec": { "ports": [port] } });
    let changes = [
        json!({ "metadata": { "annotations": { SIZE: "2" } } }),
        ports(json!({ "name": "http", "port": 81, "nodePort": 30081 })),
        ports(json!({ "name": "http", "port": 81, "nodePort": 30082 })),
        ports(json!({ "name": "http", "port": 81, "nodePort": 30082, "appProtocol": "http" })),
        json!({ "spec": { "loadBalancerSourceRanges": ["198.51.100.0/24"] } }),
        json!({ "spec": { "sessionAffinity": "ClientIP" } }),
        json!({ "spec": { "externalTrafficPolicy": "Local", "healthCheckNodePort": 30083 } }),
        json!({ "spec": { "loadBalancerIP": "192.0.2.9" } }),
        json!({ "metadata": { "annotations": { SIZE: null } } }),
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        change_what_does_not_matter(&cluster, nth).await;
        settled(&cluster).await;
        assert_eq!(cloud.about("s1").len(), nth + 1, "before change {nth}");
        patch(&cluster, "s1", change).await;
        called(&cloud, "s1", nth + 2).await;
    }
    settled(&cluster).await;
    let desired: Vec<_> = cloud.about("s1").into_iter().map(|it| it.desired).collect();
    assert_eq!(desired.len(), 10);

    assert_eq!(desired[1].annotations, [(SIZE.to_owned(), "2".to_owned())]);
    assert_eq!((desired[2].ports[0].port, desired[2].ports[0].node_port), (81, Some(30081)));
    assert_eq!(desired[3].ports[0].node_port, Some(30082));
    assert_eq!(desired[4].ports[0].app_protocol.as_deref(), Some("http"));
    assert_eq!(desired[5].source_ranges, ["198.51.100.0/24"]);
    assert_eq!(desired[6].client_ip_affinity_seconds, Some(10800));
    assert_eq!(desired[7].external_traffic_policy, ExternalTrafficPolicy::Local(30083));
    assert_eq!(desired[8].load_balancer_ip.as_deref(), Some("192.0.2.9"));
    assert!(desired[9].annotations.is_empty());
    assert!(desired.iter().all(|it| it.ports[0].protocol == Protocol::Tcp));
}

#[tokio::test]
async fn case_108_an_unwanted_load_balancer_is_deleted() {
    let cluster = any_cluster().await;
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
    let cluster = any_cluster().await;
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
    let cluster = any_cluster().await;
    let cloud = Cloud::new();
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    for size in 1..10 {
        called(&cloud, "s1", size).await;
        resize(&cluster, "s1", &size.to_string()).await;
    }
    called(&cloud, "s1", 10).await;
    resize(&cluster, "s1", "10").await;
    settled(&cluster).await;
    assert_eq!(cloud.about("s1").len(), 10, "the eleventh has to wait");
    // Its deletion does not.
    crate::controller::delete(&cluster, "s1").await;
    crate::controller::gone(&cluster, "s1").await;
    assert_eq!(cloud.asked().iter().filter(|it| *it == "delete s1").count(), 1);
}
