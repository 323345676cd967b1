//! A cluster on classic infrastructure, by the binary: nodes are known by their labels, a Service is told once, and nobody is asked.

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use serde_json::json;
use tests::clouds::ibm::{ACCOUNT, CLUSTER, Options, Simulator};
use tests::control_plane::cluster;
use tests::vendor::ibm;
use tests::{kubelet, operator, services};

/// Cases: ibm 43
#[tokio::test]
async fn ibm_043_a_service_on_classic_infrastructure_is_told() {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::instant()));
    let cloud = cloud.unwrap();
    let setup = ibm::setup(&cluster, &cloud).edit(|config| {
        let settings = config["provider"]["settings"].as_object_mut().unwrap();
        settings.retain(|it, _| !["vpcID", "g2VpcSubnetNames"].contains(&it.as_str()));
        settings.insert("clusterDefaultProvider".to_owned(), json!("classic"));
        config.as_object_mut().unwrap().retain(|it, _| !["endpoints", "credentials"].contains(&it.as_str()));
    });
    let process = setup.started().await;
    let mut node = kubelet::node("worker-2");
    let labels = [
        ("internal-ip", "10.1.2.3"),
        ("worker-id", "kube-c1-w2"),
        ("machine-type", "b3c.4x16"),
        ("zone", "dal10"),
        ("region", "us-south"),
    ];
    let labels = labels.map(|(name, value)| (format!("ibm-cloud.kubernetes.io/{name}"), value.to_owned()));
    node.metadata.labels.get_or_insert_default().extend(labels);
    kubelet::join_as(&cluster.admin, node).await.unwrap();
    let node = operator::initialized(&cluster, "worker-2").await;
    assert_eq!(node.spec.unwrap().provider_id, Some(format!("ibm://{ACCOUNT}///{CLUSTER}/kube-c1-w2")));
    assert_eq!(node.metadata.labels.unwrap()["topology.kubernetes.io/zone"], "dal10");

    services::create(&cluster, "web", &json!({}), &json!({})).await;
    let part = "is not served on classic infrastructure";
    operator::event(&cluster, "web", &[part]).await;
    // It is tried again, which is no other event.
    services::patch(&cluster, "web", &json!({ "spec": { "ports": [{ "name": "http", "port": 81 }] } })).await;
    operator::event(&cluster, "web", &[part]).await;
    let events: Api<Event> = Api::all(cluster.admin.clone());
    let all = events.list(&ListParams::default()).await.unwrap().items;
    let is_told = |it: &&Event| it.message.as_deref().unwrap_or_default().contains(part);
    assert_eq!(all.iter().filter(is_told).count(), 1, "{all:#?}");
    services::delete(&cluster, "web").await;
    process.stop().await;
    assert!(cloud.requests().is_empty(), "{:?}", cloud.requests());
}
