//! Nodes, with the binary between a cluster and AWS, from their join to the end of their machine. Numbers in names are those of
//! the cases in `tests/CASES.md`.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use tests::clouds::aws::{Fault, Limits, Options, Recorded, Service, refusal};
use tests::moto::REGION;
use tests::operator::{event, initialized, initialized_after};
use tests::vendor::aws::{self, instance};
use tests::{kubelet, wait};

use crate::setup::{Rig, is_initialized, label, worker};

const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// How long thirty nodes may wait for two requests a second: calls rest five seconds after each refusal.
const BUDGET: Duration = Duration::from_mins(1);

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
async fn aws_002_003_005_only_a_stopped_one_is_shut_down() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    let states = [(1, "stopping"), (2, "shutting-down"), (3, "stopped")];
    for (number, _) in states {
        rig.join(number).await;
    }
    for (number, state) in states {
        initialized(&rig.cluster, &worker(number)).await;
        rig.order("enter", &json!({ "id": instance(number), "state": state }));
        kubelet::post_ready(&rig.cluster.admin, &worker(number), false).await.unwrap();
    }
    rig.node(&worker(3), is_shut_down).await;
    rig.asks_again("DescribeInstances").await;
    for number in [1, 2] {
        assert!(!is_shut_down(&rig.nodes().get(&worker(number)).await.unwrap()), "{number}");
        // Of so few nodes one is deleted, and more only if somebody approves.
        let approved = json!({ "metadata": { "annotations": { "aerostat.dev/delete-approved": "true" } } });
        rig.nodes().patch(&worker(number), &PatchParams::default(), &Patch::Merge(approved)).await.unwrap();
        // Its checks start over: their pauses have doubled meanwhile.
        for ready in [true, false] {
            kubelet::post_ready(&rig.cluster.admin, &worker(number), ready).await.unwrap();
        }
        rig.order("end", &json!({ "id": instance(number) }));
    }
    // Both were looked at as well: with the end of its instance each is gone.
    for number in [1, 2] {
        rig.gone(&worker(number)).await;
    }
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
    let (before, begun) = (rig.cloud.requests().len(), Instant::now());
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
    // All calls rest for five seconds after each refusal, whoever asks: two may be on their way then.
    let passed = begun.elapsed();
    let most = usize::try_from(passed.as_secs() / 5 + 1).unwrap() * 2;
    assert!((1..=most).contains(&asked), "{asked} requests in {passed:?}");
    rig.cloud.clear_faults();
    rig.order("end", &json!({ "id": instance(2) }));
    rig.gone(&worker(2)).await;
    process.stop().await;
}

#[tokio::test]
async fn aws_007_008_009_018_ids_alone_find_nodes() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    // EC2 refuses a request with such an id.
    join_with(&rig, "kwok", &format!("aws:///{REGION}a/i-kwok")).await;
    for (number, id) in [(1, instance(1)), (2, format!("aws:////{}", instance(2)))] {
        // Neither has the cluster's tag.
        rig.order("machine", &json!({ "id": instance(number), "name": format!("other-{number}") }));
        join_with(&rig, &worker(number), &id).await;
        let node = initialized(&rig.cluster, &worker(number)).await;
        assert_eq!(provider_id(&node), Some(&*id), "it stays as it is written");
        assert_eq!(label(&node, "node.kubernetes.io/instance-type"), Some("m5.large"));
    }
    event(&rig.cluster, "kwok", &["InvalidInstanceID.Malformed", "i-kwok"]).await;
    assert!(!is_initialized(&rig.nodes().get("kwok").await.unwrap()));
    // A list without any machine of the cluster proves nothing.
    rig.join(3).await;
    initialized(&rig.cluster, &worker(3)).await;

    for number in [1, 2] {
        kubelet::post_ready(&rig.cluster.admin, &worker(number), false).await.unwrap();
    }
    let asks_for = |it: &Recorded, id: &str| it.query.iter().any(|(_, value)| value == id);
    let of_both = |it: &Recorded| asks_for(it, &instance(1)) && asks_for(it, &instance(2));
    wait::until("one request asks for both ids", async || rig.cloud.requests().iter().any(of_both).then_some(())).await;
    rig.order("forget", &json!({ "id": instance(1) }));
    rig.gone(&worker(1)).await;
    rig.asks_again("DescribeInstances").await;
    assert!(rig.nodes().get_opt(&worker(2)).await.unwrap().is_some(), "its instance is there");
    process.stop().await;
}

/// A node that says its machine.
async fn join_with(rig: &Rig, name: &str, provider_id: &str) {
    let mut node = kubelet::node(name);
    node.spec.get_or_insert_default().provider_id = Some(provider_id.to_owned());
    kubelet::join_as(&rig.cluster.admin, node).await.unwrap();
}

#[tokio::test]
async fn aws_010_an_id_of_another_cloud_asks_nothing() {
    let rig = Rig::new().await;
    let process = rig.start().await;
    join_with(&rig, "foreign", "gce://project/zone/foreign").await;
    // AWS has nothing like this.
    let wrong = format!("aws:///{REGION}a/vm-1");
    join_with(&rig, "wrong", &wrong).await;
    event(&rig.cluster, "wrong", &[&wrong, "is not aws:///, a zone, and the id of an instance such as i-"]).await;
    // Who came later is served by now.
    rig.join(1).await;
    initialized(&rig.cluster, &worker(1)).await;
    for name in ["foreign", "wrong"] {
        assert!(!is_initialized(&rig.nodes().get(name).await.unwrap()));
    }
    let about = |it: &Recorded| it.query.iter().any(|(_, it)| ["foreign", "wrong", "vm-1"].contains(&it.as_str()));
    let asked = rig.cloud.requests();
    assert!(!asked.iter().any(about), "{asked:#?}");
    process.stop().await;
}

#[tokio::test]
async fn aws_013_017_addresses_of_both_families_and_of_a_pod() {
    let mut rig = Rig::new().await;
    rig.setup = rig.setup.edit(|it| it["provider"]["settings"]["nodeIPFamilies"] = json!("ipv6,ipv4"));
    let process = rig.start().await;
    let machine = json!({ "id": instance(1), "name": worker(1), "cluster": aws::CLUSTER });
    let first = rig.order("machine", &machine)["address"].as_str().unwrap().to_owned();
    let more = json!({ "id": instance(1), "ipv6": "2001:db8::1", "private": "172.31.1.99", "public": "3.3.3.3" });
    rig.order("address", &more);
    kubelet::join(&rig.cluster.admin, &worker(1)).await.unwrap();
    initialized(&rig.cluster, &worker(1)).await;
    let node = rig.node(&worker(1), |it| !kubelet::addresses(it).is_empty()).await;
    let expected = [
        ("InternalIP", "2001:db8::1"),
        ("InternalIP", &first),
        ("InternalIP", "172.31.1.99"),
        ("ExternalIP", "3.3.3.3"),
        ("InternalDNS", &worker(1)),
        ("Hostname", &worker(1)),
        ("ExternalDNS", "ec2-3-3-3-3.compute-1.amazonaws.com"),
    ];
    assert_eq!(kubelet::addresses(&node), expected);

    let dns = rig.order("pod", &json!({ "address": "172.31.2.77" })).as_str().unwrap().to_owned();
    let name = format!("fargate-{dns}");
    join_with(&rig, &name, &format!("aws:///{REGION}a/fargate-172.31.2.77")).await;
    initialized(&rig.cluster, &name).await;
    let node = rig.node(&name, |it| !kubelet::addresses(it).is_empty()).await;
    assert_eq!(kubelet::addresses(&node), [("InternalIP", "172.31.2.77"), ("InternalDNS", &dns)]);
    kubelet::post_ready(&rig.cluster.admin, &name, false).await.unwrap();
    rig.asks_again("DescribeNetworkInterfaces").await;
    assert!(!is_shut_down(&rig.nodes().get(&name).await.unwrap()), "it is there, and runs");
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
        initialized_after(BUDGET, &rig.cluster, &worker(number)).await;
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
    let asked = rig.cloud.requests();
    let refused: Vec<_> = asked.iter().filter(|it| it.status == Some(400)).collect();
    assert!(!refused.is_empty(), "the clocks differ");
    // Requests that were sent side by side at the start do not know the difference yet.
    let answered =
        asked.iter().filter(|it| it.status == Some(200)).filter_map(|it| Some(it.at + it.took?)).min().unwrap();
    let later: Vec<_> = refused.iter().filter(|it| it.at > answered).collect();
    assert!(later.is_empty(), "after an answer these were refused: {later:#?}");
    process.stop().await;
}
