//! Services for which another controller is named while they live: nothing of theirs is touched any more.
//!
//! Cases: other-controller

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};

use crate::cloud::{Act, Cloud, building, ready};
use crate::controller::{
    Controller, FINALIZER, addressed, addresses, called, create, finalizers, memo, one, patch, resize, serve_s1,
    service, service_when, services, settled, told,
};

/// A pending deletion does not come back in a test: its end is not what a class waits for.
const LONG: Duration = Duration::from_secs(300);

/// A patch that makes a Service desired for a load balancer of another controller. Kubernetes takes a class only beside a
/// change of the type.
fn classed() -> Value {
    json!({ "spec": { "type": "LoadBalancer", "loadBalancerClass": "example.com/other" } })
}

/// Lets another controller say where a Service is reached.
async fn serve_elsewhere(cluster: &Cluster) {
    let ingress = json!([{ "ip": "198.51.100.7" }]);
    let status = Patch::Merge(json!({ "status": { "loadBalancer": { "ingress": ingress } } }));
    services(cluster).patch_status("s1", &PatchParams::default(), &status).await.expect("the status is written");
}

/// Checks that the Service is the other controller's, whatever happens, and that nothing was deleted.
async fn check_left(cluster: &Cluster, cloud: &Cloud, acts: &[Act]) {
    service_when(cluster, "s1", |it| memo(it).is_none()).await;
    told(cluster, "s1", "LoadBalancerNotDeleted", 1).await;
    settled(cluster).await;
    let service = services(cluster).get("s1").await.expect("it is there");
    assert_eq!(finalizers(&service), [FINALIZER]);
    assert_eq!(addresses(&service), ["198.51.100.7"]);
    assert_eq!(memo(&service), None);
    assert_eq!(cloud.about("s1").iter().map(|it| it.act).collect::<Vec<_>>(), acts);
}

#[tokio::test]
async fn a_class_that_comes_during_a_pending_deletion_ends_it() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    cloud.ensures("s1", ready("192.0.2.1", "lb-1"));
    cloud.deletes_next("s1", [building("lb-1 going", LONG)]);
    let _controller = Controller::start(&cluster, &cloud, one());
    create(&cluster, &service("s1")).await;
    addressed(&cluster, "s1", "192.0.2.1").await;
    patch(&cluster, "s1", json!({ "spec": { "type": "ClusterIP" } })).await;
    service_when(&cluster, "s1", |it| memo(it) == Some("lb-1 going")).await;
    patch(&cluster, "s1", classed()).await;
    serve_elsewhere(&cluster).await;
    check_left(&cluster, &cloud, &[Act::Ensure, Act::Delete]).await;
}

#[tokio::test]
async fn a_class_that_comes_during_a_deletion_keeps_the_finalizer() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = serve_s1(&cluster, &cloud).await;
    cloud.hold("s1");
    patch(&cluster, "s1", json!({ "spec": { "type": "ClusterIP" } })).await;
    called(&cloud, "s1", 2).await;
    patch(&cluster, "s1", classed()).await;
    serve_elsewhere(&cluster).await;
    cloud.release("s1");
    check_left(&cluster, &cloud, &[Act::Ensure, Act::Delete]).await;
}

#[tokio::test]
async fn a_class_that_comes_during_ensure_keeps_the_others_status() {
    let cluster = cluster().await;
    let cloud = Cloud::new();
    let _controller = serve_s1(&cluster, &cloud).await;
    cloud.ensures("s1", ready("192.0.2.2", "lb-2"));
    cloud.hold("s1");
    resize(&cluster, "s1", "2").await;
    called(&cloud, "s1", 2).await;
    patch(&cluster, "s1", json!({ "spec": { "type": "ClusterIP" } })).await;
    patch(&cluster, "s1", classed()).await;
    serve_elsewhere(&cluster).await;
    cloud.release("s1");
    check_left(&cluster, &cloud, &[Act::Ensure, Act::Ensure]).await;
}
