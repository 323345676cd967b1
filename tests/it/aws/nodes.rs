//! Nodes, with the binary between a cluster and AWS, from their join to the end of their machine. Numbers in names are those of
//! the cases in `spec/providers/provider-aws.md` §9.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use tests::clouds::aws::{Fault, Limits, Options, Service, refusal};
use tests::moto::REGION;
use tests::operator::{event, initialized};
use tests::vendor::aws::{self, instance};
use tests::{kubelet, wait};

use crate::setup::{Rig, is_initialized, label, worker};

const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref()
}

fn is_shut_down(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_ref());
    taints.into_iter().flatten().any(|it| it.key == SHUT_DOWN)
}

#[tokio::test]
async fn aws_001_004_014_nodes_come_and_go_with_instances() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    for number in 1..=3 {
        rig.join(number).await;
    }
    let zone = format!("{REGION}a");
    for number in 1..=3 {
        let node = initialized(&rig.cluster, &worker(number)).await;
        assert_eq!(provider_id(&node), Some(&*format!("aws:///{zone}/{}", instance(number))));
        assert_eq!(label(&node, "node.kubernetes.io/instance-type"), Some("m5.large"));
        assert_eq!(label(&node, "topology.kubernetes.io/zone"), Some(&*zone));
        assert_eq!(label(&node, "topology.kubernetes.io/region"), Some(REGION));
        assert!(label(&node, "topology.k8s.aws/zone-id").is_some_and(|it| it.starts_with("use1-az")), "{node:?}");
    }
    rig.order("end", &json!({ "id": instance(1) }));
    for number in [1, 2] {
        kubelet::post_ready(&rig.cluster.admin, &worker(number), false).await.unwrap();
    }
    rig.gone(&worker(1)).await;
    assert!(rig.nodes().get_opt(&worker(2)).await.unwrap().is_some(), "its instance is there");
    process.stop().await;
}

#[tokio::test]
async fn aws_002_a_stopped_instance_is_shut_down() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    rig.join(1).await;
    initialized(&rig.cluster, &worker(1)).await;
    rig.order("stop", &json!({ "id": instance(1) }));
    kubelet::post_ready(&rig.cluster.admin, &worker(1), false).await.unwrap();
    rig.node(&worker(1), is_shut_down).await;
    process.stop().await;
}

#[tokio::test]
async fn aws_006_a_throttled_account_loses_no_node() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    for number in 1..=3 {
        rig.join(number).await;
    }
    for number in 1..=3 {
        initialized(&rig.cluster, &worker(number)).await;
    }
    let body = refusal(Service::Ec2, "RequestLimitExceeded", "Request limit exceeded.");
    rig.cloud.inject(Fault::status("POST", "/ec2/**", 503).body(body));
    let before = rig.cloud.requests().len();
    for number in 1..=3 {
        kubelet::post_ready(&rig.cluster.admin, &worker(number), false).await.unwrap();
    }
    let pause = Duration::from_secs(12);
    let lost = wait::within(pause, async || {
        let nodes = rig.nodes().list(&kube::api::ListParams::default()).await.unwrap().items;
        (nodes.len() < 3).then_some(nodes.len())
    });
    assert_eq!(lost.await, None, "nobody was said to be gone");
    let asked = rig.cloud.requests().len() - before;
    // All calls rest for five seconds after each refusal, whoever asks.
    assert!((1..=6).contains(&asked), "{asked} requests in {pause:?}");
    rig.cloud.clear_faults();
    rig.order("end", &json!({ "id": instance(2) }));
    rig.gone(&worker(2)).await;
    process.stop().await;
}

#[tokio::test]
async fn aws_009_018_a_node_is_found_by_its_provider_id_alone() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    for (number, id) in [(1, instance(1)), (2, format!("aws:////{}", instance(2)))] {
        // Neither has the cluster's tag.
        rig.order("machine", &json!({ "id": instance(number), "name": format!("other-{number}") }));
        let mut node = kubelet::node(&worker(number));
        node.spec.get_or_insert_default().provider_id = Some(id.clone());
        kubelet::join_as(&rig.cluster.admin, node).await.unwrap();
        let node = initialized(&rig.cluster, &worker(number)).await;
        assert_eq!(provider_id(&node), Some(&*id), "it stays as it is written");
        assert_eq!(label(&node, "node.kubernetes.io/instance-type"), Some("m5.large"));
    }
    process.stop().await;
}

#[tokio::test]
async fn aws_010_an_id_of_another_cloud_asks_nothing() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    let before = rig.cloud.asked("ec2", "DescribeInstances").len();
    let mut node = kubelet::node("foreign");
    node.spec.get_or_insert_default().provider_id = Some("gce://project/zone/foreign".to_owned());
    kubelet::join_as(&rig.cluster.admin, node).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!is_initialized(&rig.nodes().get("foreign").await.unwrap()));
    assert_eq!(rig.cloud.asked("ec2", "DescribeInstances").len(), before);
    process.stop().await;
}

#[tokio::test]
async fn aws_011_a_name_with_the_id_needs_no_search() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    let id = "i-0abc0abc0abc0abc0";
    // As a subnet names its instances by their resource.
    let name = format!("{id}.us-east-1.compute.internal");
    rig.order("machine", &json!({ "id": id, "name": name, "cluster": aws::CLUSTER }));
    kubelet::join(&rig.cluster.admin, &name).await.unwrap();
    let node = initialized(&rig.cluster, &name).await;
    assert_eq!(provider_id(&node), Some(&*format!("aws:///{REGION}a/{id}")));
    process.stop().await;
}

#[tokio::test]
async fn aws_012_two_instances_of_one_name_are_an_error() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    for number in [1, 2] {
        rig.order("machine", &json!({ "id": instance(number), "name": "twin", "cluster": aws::CLUSTER }));
    }
    kubelet::join(&rig.cluster.admin, "twin").await.unwrap();
    event(&rig.cluster, "twin", &[&instance(1), &instance(2)]).await;
    assert!(!is_initialized(&rig.nodes().get("twin").await.unwrap()), "the taint stays");
    process.stop().await;
}

#[tokio::test]
async fn aws_015_a_large_machine_gets_its_place_in_the_network() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    let machine = json!({ "id": instance(1), "name": worker(1), "cluster": aws::CLUSTER, "type": "p5.48xlarge" });
    rig.order("machine", &machine);
    kubelet::join(&rig.cluster.admin, &worker(1)).await.unwrap();
    let node = initialized(&rig.cluster, &worker(1)).await;
    for layer in 1..=3 {
        let key = format!("topology.k8s.aws/network-node-layer-{layer}");
        assert!(label(&node, &key).is_some_and(|it| it.starts_with("nn-")), "{node:?}");
    }
    assert!(!rig.cloud.asked("ec2", "DescribeInstanceTopology").is_empty());
    process.stop().await;
}

#[tokio::test]
async fn keys_without_a_right_are_told_and_others_of_the_file_taken() {
    let rig = Rig::new().await;
    aws::take_key(&rig.setup, &rig.cloud.moto().user("poor", &["ec2:DescribeVpcs"]));
    rig.machine(1);
    let process = rig.start().await;
    kubelet::join(&rig.cluster.admin, &worker(1)).await.unwrap();
    let told = event(&rig.cluster, &worker(1), &["failed to get instance metadata"]).await;
    assert_eq!(told.reason.as_deref(), Some("InstanceMetadataDenied"), "{told:?}");
    aws::take_key(&rig.setup, &rig.cloud.moto().user("rich", &["*"]));
    initialized(&rig.cluster, &worker(1)).await;
    process.stop().await;
}

#[tokio::test]
async fn nodes_join_within_a_budget_of_requests() {
    let limits = Some(Limits::Bucket { size: 6, refill: Duration::from_millis(500) });
    let rig = Rig::with(Options { limits, ..Options::default() }).await;
    let process = rig.start().await;
    for number in 1..=30 {
        rig.join(number).await;
    }
    for number in 1..=30 {
        initialized(&rig.cluster, &worker(number)).await;
    }
    process.stop().await;
}

#[tokio::test]
async fn a_clock_that_differs_is_corrected_once() {
    let rig = Rig::new().await;
    rig.cloud.skew(3_600);
    let process = rig.start().await;
    for number in 1..=2 {
        rig.join(number).await;
        initialized(&rig.cluster, &worker(number)).await;
    }
    let refused = rig.cloud.requests().iter().filter(|it| it.status == Some(400)).count();
    // Two ask at the start, side by side.
    assert!((1..=2).contains(&refused), "{refused} requests were refused");
    process.stop().await;
}
