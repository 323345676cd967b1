//! Labels in step, of which a write fails.

use std::sync::Arc;

use http::Method;
use kube::ResourceExt;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};

use crate::cloud::Cloud;
use crate::controller::{Controller, OPTIONS, create, label, node_when, standing, writes, written};

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
