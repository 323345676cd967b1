//! Cases 40 to 44: labels in step.

use std::sync::Arc;

use http::Method;
use kube::ResourceExt;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};

use crate::cloud::Cloud;
use crate::controller::{
    Controller, OPTIONS, create, label, node_when, nodes, patch, settled, standing, writes, written,
};

const BETA: &str = "failure-domain.beta.kubernetes.io/zone";
const STABLE: &str = "topology.kubernetes.io/zone";

/// Creates an initialised node with these zones.
async fn create_with(cluster: &Cluster, name: &str, beta: Option<&str>, stable: Option<&str>) {
    let mut node = standing(name, &[]);
    for (key, value) in [(BETA, beta), (STABLE, stable)] {
        if let Some(value) = value {
            label(&mut node, key, value);
        }
    }
    create(cluster, &node).await;
}

/// Waits until the node has this zone.
async fn zone(cluster: &Cluster, name: &str, zone: &str) {
    node_when(cluster, name, |it| it.labels().get(STABLE).is_some_and(|it| it == zone)).await;
}

#[tokio::test]
async fn case_040_the_present_label_follows_the_old_one() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create_with(&cluster, "n1", Some("z1"), Some("wrong")).await;
    create_with(&cluster, "n2", Some("z2"), None).await;
    zone(&cluster, "n1", "z1").await;
    zone(&cluster, "n2", "z2").await;
    settled(&cluster, &cloud).await;
    let calls = cloud.calls();
    patch(&cluster, "n1", json!({ "metadata": { "labels": { STABLE: "user" } } })).await;
    zone(&cluster, "n1", "z1").await;
    patch(&cluster, "n1", json!({ "metadata": { "labels": { BETA: "moved" } } })).await;
    zone(&cluster, "n1", "moved").await;
    patch(&cluster, "n1", json!({ "metadata": { "labels": { STABLE: null } } })).await;
    zone(&cluster, "n1", "moved").await;
    assert_eq!(cloud.calls(), calls, "the cloud is not asked for labels");
}

#[tokio::test]
async fn case_041_and_042_where_nothing_is_wrong_nothing_is_asked() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let _controller = Controller::start(&cluster, &cloud, OPTIONS);
    create_with(&cluster, "n1", Some("z1"), Some("z1")).await;
    create_with(&cluster, "n2", None, Some("z1")).await;
    settled(&cluster, &cloud).await;
    cluster.audit().settle(&cluster.admin).await.unwrap();
    let requests = cluster.audit().requests().unwrap();
    assert!(requests.iter().all(|it| it.object.name == "n999"), "{requests:?}");
    assert_eq!(nodes(&cluster).get("n2").await.unwrap().labels().get(BETA), None);
}

#[tokio::test]
async fn case_044_a_failed_write_backs_off_with_the_same_patch() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let faults = Faults::new();
    faults.set(Fault::status(Method::PATCH, "/nodes/n1", 500, "InternalError", "injected").times(2));
    faults.set(Fault::status(Method::PATCH, "/nodes/n2", 409, "Conflict", "injected").times(2));
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, OPTIONS);
    create_with(&cluster, "n1", Some("z1"), Some("wrong")).await;
    create_with(&cluster, "n2", Some("z1"), Some("wrong")).await;
    for name in ["n1", "n2"] {
        zone(&cluster, name, "z1").await;
        assert_eq!(written(&cluster, name).await, ["patch nodes 200"]);
        let mut body = writes(&cluster, name).await.remove(0).body;
        body["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert_eq!(body, json!({ "metadata": { "labels": { STABLE: "z1" } } }));
    }
    assert_eq!(faults.answered().len(), 4);
}
