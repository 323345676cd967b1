//! The cloud allocator: nodes get the networks that the cloud has given to their machines.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Address, AddressKind, Instance};
use controllers::node_ipam::{CloudOptions, Family};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::operator::Setup;
use tests::rig::instances::Cloud;
use tests::rig::nodes::{create, node_when, nodes, patch};
use tests::rig::{Controller, Rig, written};
use tests::script::{self, Script};
use tests::{guests, kubelet, wait};

use crate::setup::{all_given, event, given, networks, with};

/// The pause before the next try at a node that was refused for half a minute or so: it doubles each time.
const BACK_OFF: Duration = Duration::from_secs(64);

fn start(cluster: &Cluster, cloud: &Arc<Cloud>, families: &[Family]) -> Rig {
    start_within(cluster, cloud, families, &[("0.0.0.0/0", 24), ("::/0", 64)], &[])
}

/// The same, where nodes' networks lie in cluster CIDRs, each with the shortest prefix of a node's, and beside Services.
fn start_within(
    cluster: &Cluster,
    cloud: &Arc<Cloud>,
    families: &[Family],
    clusters: &[(&str, u8)],
    services: &[&str],
) -> Rig {
    let options = CloudOptions {
        families: families.to_vec(),
        clusters: clusters.iter().map(|(it, mask)| (it.parse().unwrap(), *mask)).collect(),
        services: services.iter().map(|it| it.parse().unwrap()).collect(),
        may_write: Arc::new(|| true),
    };
    Rig::start(cluster, cloud, Controller::NodeIpamFromCloud(options))
}

/// The machine behind node `name`, with these networks.
fn machine(name: &str, cidrs: &[&str]) -> Instance {
    Instance {
        name: name.to_owned(),
        provider_id: Some(format!("fake://{name}")),
        pod_cidrs: cidrs.iter().map(|it| (*it).to_owned()).collect(),
        ..Instance::default()
    }
}

/// A node that was initialised.
fn initialised(name: &str) -> Node {
    let mut node = kubelet::node(name);
    let spec = node.spec.get_or_insert_default();
    (spec.taints, spec.provider_id) = (None, Some(format!("fake://{name}")));
    node
}

/// Through the binary: its flags, a provider that says which networks machines have, and the egress.
#[tokio::test]
async fn case_218_a_provider_says_which_networks_machines_have() {
    let cluster = cluster().await;
    let script = Script::start().await;
    script.set(
        "n1",
        script::Machine {
            provider_id: "fakecloud://n1".to_owned(),
            addresses: vec![("InternalIP".to_owned(), "10.1.0.1".to_owned())],
            pod_cidrs: vec!["10.0.1.0/24".to_owned(), "fd00:1::/64".to_owned()],
            ..script::Machine::default()
        },
    );
    let setup = Setup::guest(&cluster, guests::SCRIPTED)
        .edit(|config| {
            let allow = json!([{ "methods": ["GET"], "paths": ["/machines/**"] }]);
            config["endpoints"] = json!([{ "name": "script", "baseUrl": script.base_url(), "allow": allow }]);
        })
        .flags(&["--allocate-node-cidrs", "--cidr-allocator-type=CloudAllocator"])
        .flags(&["--service-cluster-ip-range=fd01::/112,10.96.0.0/16"]);
    let mut process = setup.start();
    process.says("started node-ipam-controller").await;
    create(&cluster, &kubelet::node("n1")).await;
    assert_eq!(given(&cluster, "n1").await, ["fd00:1::/64", "10.0.1.0/24"]);
    node_when(&cluster, "n1", |it| condition(it).is_some()).await;
    process.stop().await;
}

/// Status, reason and message of the condition `NetworkUnavailable`.
fn condition(node: &Node) -> Option<[String; 3]> {
    let condition = node.status.as_ref()?.conditions.as_ref()?.iter().find(|it| it.type_ == "NetworkUnavailable")?;
    Some([
        condition.status.clone(),
        condition.reason.clone().unwrap_or_default(),
        condition.message.clone().unwrap_or_default(),
    ])
}

#[tokio::test]
async fn case_218_a_node_without_a_provider_id_waits_for_it() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine("n1", &["10.0.1.0/24"])]);
    let controller = start(&cluster, &cloud, &[]);
    create(&cluster, &kubelet::node("n1")).await;
    controller.knows("n1").await;
    wait::until("it was tried", async || (controller.tries() >= 1.0).then_some(())).await;
    assert!(cloud.calls().is_empty(), "nobody knows which machine it is");
    patch(&cluster, "n1", json!({ "spec": { "providerID": "fake://n1" } })).await;
    assert_eq!(given(&cluster, "n1").await, ["10.0.1.0/24"]);
}

#[tokio::test]
async fn case_218_without_ranges_there_is_an_event() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine("n1", &[])]);
    let _controller = start(&cluster, &cloud, &[]);
    create(&cluster, &initialised("n1")).await;
    let said = event(&cluster, "n1", "CIDRNotAvailable").await;
    assert_eq!(said.message.as_deref(), Some("Node n1 status is now: CIDRNotAvailable"));
    assert!(networks(&node_when(&cluster, "n1", |_| true).await).is_empty());
    cloud.has([machine("n1", &["10.0.1.0/24"])]);
    assert_eq!(given(&cluster, "n1").await, ["10.0.1.0/24"]);
}

#[tokio::test]
async fn case_218_both_families_come_in_the_order_of_services() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine("n1", &["10.0.1.0/24", "fd00:1::/64"])]);
    let _controller = start(&cluster, &cloud, &[Family::V6, Family::V4]);
    create(&cluster, &initialised("n1")).await;
    assert_eq!(given(&cluster, "n1").await, ["fd00:1::/64", "10.0.1.0/24"]);
    let node = node_when(&cluster, "n1", |it| condition(it).is_some()).await;
    let expected = ["False", "RouteCreated", "NodeController create implicit route"].map(str::to_owned);
    assert_eq!(condition(&node), Some(expected));
    assert!(node.status.unwrap().conditions.unwrap().len() > 1, "the kubelet's stay");
}

#[tokio::test]
async fn case_218_a_right_node_is_not_asked_about() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    cloud.has([machine("n1", &["10.0.1.0/24"]), machine("n2", &["10.0.2.0/24"])]);
    let _controller = start(&cluster, &cloud, &[]);
    create(&cluster, &initialised("n1")).await;
    node_when(&cluster, "n1", |it| condition(it).is_some()).await;
    let before = cloud.calls();
    assert_eq!(before, ["get n1"]);
    for value in 0..5 {
        patch(&cluster, "n1", json!({ "metadata": { "labels": { "a": value.to_string() } } })).await;
    }
    // Whatever n1 asked for came before n2.
    create(&cluster, &initialised("n2")).await;
    node_when(&cluster, "n2", |it| condition(it).is_some()).await;
    assert_eq!(cloud.calls(), ["get n1", "get n2"]);
    assert_eq!(written(&cluster, "n1").await, ["patch nodes 200", "patch nodes/status 200"]);
}

#[tokio::test]
async fn adv_152_a_network_that_is_not_the_clouds_is_not_written() {
    let cluster = cluster().await;
    // A kubelet that claims everything for its own Node keeps nobody from anything.
    create(&cluster, &with("evil", &["0.0.0.0/0"])).await;
    create(&cluster, &with("old", &["10.244.1.0/24"])).await;
    let cloud = Arc::new(Cloud::default());
    let address = Address { kind: AddressKind::InternalIp, value: "10.244.3.7".to_owned() };
    let named = [
        (
            "twice",
            "10.244.5.0/24,10.244.6.0/24",
            "10.244.6.0/24 for the machine of node twice, which is the second of its",
        ),
        ("everything", "0.0.0.0/0", "overlaps 10.244.240.0/20, the network of Services"),
        ("elsewhere", "10.9.1.0/24", "is not inside --cluster-cidr 10.244.0.0/16"),
        ("wide", "10.244.4.0/22", "is wider than a /24"),
        ("services", "10.244.241.0/24", "overlaps 10.244.240.0/20, the network of Services"),
        ("theirs", "10.244.1.128/25", "overlaps 10.244.1.0/24, the pod network of node old"),
        ("host-bits", "10.244.2.1/24", "has bits behind its prefix"),
        ("nonsense", "pods", "is no network"),
    ];
    let of = |cidrs: &'static str| cidrs.split(',').collect::<Vec<_>>();
    let machines = named.iter().map(|(name, cidrs, _)| machine(name, &of(cidrs)));
    // Its own address may lie in its network: that harms nobody.
    let dual = Instance { addresses: vec![address], ..machine("dual", &["10.244.3.0/24"]) };
    let others = [dual, machine("good", &["10.244.2.0/24"]), machine("twin", &["10.244.2.0/24"])];
    cloud.has(machines.chain(others));
    let _controller = start_within(&cluster, &cloud, &[Family::V4], &[("10.244.0.0/16", 24)], &["10.244.240.0/20"]);
    for (name, _, _) in &named {
        create(&cluster, &initialised(name)).await;
    }
    create(&cluster, &initialised("good")).await;
    assert_eq!(given(&cluster, "good").await, ["10.244.2.0/24"]);
    create(&cluster, &initialised("dual")).await;
    assert_eq!(given(&cluster, "dual").await, ["10.244.3.0/24"]);
    create(&cluster, &initialised("twin")).await;
    let twin = ("twin", "", "overlaps 10.244.2.0/24, the pod network of node good");
    for (name, _, because) in named.iter().chain([&twin]) {
        let event = event(&cluster, name, "PodCIDRRefused").await;
        let message = event.message.unwrap();
        assert!(message.contains(because) && message.contains("give the machine another pod network"), "{message}");
        assert_eq!(event.type_.as_deref(), Some("Warning"));
        assert!(written(&cluster, name).await.is_empty(), "{name}: nothing is written");
    }
    // What the cloud corrects is taken.
    cloud.has([machine("elsewhere", &["10.244.9.0/24"])]);
    let corrected = wait::until_after(BACK_OFF, "the corrected network", async || {
        let node = nodes(&cluster).get("elsewhere").await.ok()?;
        Some(networks(&node)).filter(|it| !it.is_empty())
    });
    assert_eq!(corrected.await, ["10.244.9.0/24"]);
}

#[tokio::test]
async fn case_218_one_list_answers_for_all_who_wait() {
    let cluster = cluster().await;
    let cloud = Arc::new(Cloud::default());
    let name = |nth: usize| format!("n{nth}");
    cloud.has((0..50).map(|nth| machine(&name(nth), &[&format!("10.0.{nth}.0/24")])));
    // Two have got none yet when the list is made: only these are asked about.
    cloud.lists_as_they_were([machine("n7", &[]), machine("n9", &[])]);
    for nth in 0..50 {
        create(&cluster, &initialised(&name(nth))).await;
    }
    let _controller = start(&cluster, &cloud, &[]);
    let all = all_given(&cluster, 50).await;
    assert!((0..50).all(|nth| all[&name(nth)] == [format!("10.0.{nth}.0/24")]), "{all:?}");
    let mut calls = cloud.calls();
    calls.sort();
    assert_eq!(calls, ["get n7", "get n9", "list"]);
}
