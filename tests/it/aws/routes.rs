//! Routes, with the binary between a cluster and AWS. Numbers in names are those of the cases in `tests/CASES.md`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::api::DeleteParams;
use serde_json::json;
use tests::moto::Call;
use tests::vendor::aws::{self, instance};
use tests::wait;

use crate::setup::{Rig, pods, worker};

const FLAGS: [&str; 5] = [
    "--cluster-cidr=10.244.0.0/16",
    "--configure-cloud-routes=true",
    "--route-reconciliation-period=2s",
    "--route-deletion-warm-up=0s",
    "--route-deletion-budget=100",
];

async fn rig() -> Rig {
    Rig::new().await.flags(&FLAGS)
}

fn table(rig: &Rig) -> String {
    let found = rig.order("prepare", &json!({ "cluster": aws::CLUSTER }));
    found["table"].as_str().unwrap().to_owned()
}

async fn routes_are(rig: &Rig, expected: &[(String, Option<String>)]) {
    let expected: BTreeMap<_, _> = expected.iter().cloned().collect();
    let settled = wait::within(wait::DEADLINE, async || (rig.routes() == expected).then_some(())).await;
    assert!(settled.is_some(), "{:#?} instead of {expected:#?}\n{:#?}", rig.routes(), rig.cloud.requests());
}

fn has_its_route(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|it| it.conditions.as_ref());
    conditions.into_iter().flatten().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False")
}

async fn makes(rig: &Rig, service: &'static str, operation: &'static str, parameters: serde_json::Value) {
    rig.cloud.moto().done([Call::new(service, operation, parameters)]).await;
}

#[tokio::test]
async fn aws_051_052_056_routes_follow_nodes_and_leave_others() {
    let rig = rig().await;
    rig.machine(9);
    // Somebody's own, outside of --cluster-cidr; and the way out of the VPC.
    let foreign =
        json!({ "RouteTableId": table(&rig), "DestinationCidrBlock": "10.9.0.0/24", "InstanceId": instance(9) });
    makes(&rig, "ec2", "create_route", foreign).await;
    let foreign = ("10.9.0.0/24".to_owned(), Some(instance(9)));
    let process = rig.start().await;
    for number in [1, 2] {
        rig.join_with_pods(number).await;
    }
    let route = |network: u64, machine: u64| (pods(network), Some(instance(machine)));
    routes_are(&rig, &[route(1, 1), route(2, 2), foreign.clone()]).await;
    rig.node(&worker(2), has_its_route).await;
    let forwards = rig.cloud.asked("ec2", "ModifyInstanceAttribute");
    assert!(forwards.iter().all(|it| it.query_value("SourceDestCheck.Value") == Some("false")), "{forwards:?}");
    assert_eq!(forwards.len(), 2);

    // Its instance ends: EC2 keeps the route, as a blackhole. The network of pods goes to another node.
    rig.order("end", &json!({ "id": instance(1) }));
    rig.nodes().delete(&worker(1), &DeleteParams::default()).await.unwrap();
    rig.machine(3);
    let mut node = tests::kubelet::node(&worker(3));
    let spec = node.spec.get_or_insert_default();
    spec.pod_cidr = Some(pods(1));
    spec.pod_cidrs = Some(vec![pods(1)]);
    tests::kubelet::join_as(&rig.cluster.admin, node).await.unwrap();
    routes_are(&rig, &[route(1, 3), route(2, 2), foreign.clone()]).await;

    // A node that goes takes its route with it.
    rig.nodes().delete(&worker(2), &DeleteParams::default()).await.unwrap();
    routes_are(&rig, &[route(1, 3), foreign]).await;
    let ways_out = rig.cloud.state().routes.into_iter().filter(|it| it.destination.as_deref() == Some("0.0.0.0/0"));
    assert_eq!(ways_out.count(), 1);
    process.stop().await;
}

#[tokio::test]
async fn aws_052_an_ended_instance_leaves_no_blackhole() {
    let rig = rig().await;
    let process = rig.start().await;
    // One of several: that all are gone at once is believed of nobody.
    for number in 1..=3 {
        rig.join_with_pods(number).await;
    }
    let route = |number| (pods(number), Some(instance(number)));
    routes_are(&rig, &[route(1), route(2), route(3)]).await;
    rig.order("end", &json!({ "id": instance(1) }));
    tests::kubelet::post_ready(&rig.cluster.admin, &worker(1), false).await.unwrap();
    rig.gone(&worker(1)).await;
    routes_are(&rig, &[route(2), route(3)]).await;
    process.stop().await;
}

#[tokio::test]
async fn aws_053_a_route_that_stands_is_taken_as_it_is() {
    let rig = rig().await;
    rig.machine(1);
    let right = json!({ "RouteTableId": table(&rig), "DestinationCidrBlock": pods(1), "InstanceId": instance(1) });
    makes(&rig, "ec2", "create_route", right).await;
    let mut node = tests::kubelet::node(&worker(1));
    let spec = node.spec.get_or_insert_default();
    spec.provider_id = Some(instance(1));
    spec.pod_cidr = Some(pods(1));
    spec.pod_cidrs = Some(vec![pods(1)]);
    tests::kubelet::join_as(&rig.cluster.admin, node).await.unwrap();
    let process = rig.start().await;
    rig.node(&worker(1), has_its_route).await;
    let writes = ["CreateRoute", "ReplaceRoute", "DeleteRoute"].map(|it| rig.cloud.asked("ec2", it).len());
    assert_eq!(writes, [0; 3]);
    process.stop().await;
}

#[tokio::test]
async fn aws_054_two_tagged_tables_are_told_by_their_ids() {
    let rig = rig().await;
    let places = rig.order("prepare", &json!({ "cluster": aws::CLUSTER }));
    let made = rig.cloud.moto().done([Call::new("ec2", "create_route_table", json!({ "VpcId": places["vpc"] }))]).await;
    let second = made[0]["RouteTable"]["RouteTableId"].as_str().unwrap().to_owned();
    let tag = format!("kubernetes.io/cluster/{}", aws::CLUSTER);
    rig.order("tag", &json!({ "id": second, "tags": { tag: "owned" } }));
    let mut process = rig.setup.start();
    rig.join_with_pods(1).await;
    process.says(&second).await;
    assert_eq!(rig.routes(), BTreeMap::new());
    rig.order("untag", &json!({ "id": second, "keys": [format!("kubernetes.io/cluster/{}", aws::CLUSTER)] }));
    routes_are(&rig, &[(pods(1), Some(instance(1)))]).await;
    process.stop().await;
}

#[tokio::test]
async fn aws_055_a_full_table_is_told_once() {
    let rig = rig().await;
    for number in 1..=5 {
        rig.join_again(number).await;
    }
    // The way out, and the route of one node.
    let first = json!({ "RouteTableId": table(&rig), "DestinationCidrBlock": pods(1), "InstanceId": instance(1) });
    makes(&rig, "ec2", "create_route", first).await;
    rig.cloud.behave(&json!({ "routes_per_table": 2 }));
    let process = rig.start().await;
    let why = ["all of 4 new ones were refused", "RouteLimitExceeded", "No new route is tried until one is deleted"];
    rig.said("RouteTableFull", &why).await;
    // For all four one request; and no further one, although each pass reads the table.
    let refused = || rig.cloud.asked("ec2", "CreateRoute").iter().filter(|it| it.status == Some(400)).count();
    for _ in 0..3 {
        assert_eq!((rig.routes().len(), refused()), (1, 1));
        rig.asks_again("DescribeRouteTables").await;
    }
    // A route goes, and leaves room for one more.
    rig.nodes().delete(&worker(1), &DeleteParams::default()).await.unwrap();
    let other = async || (!rig.routes().contains_key(&pods(1)) && rig.routes().len() == 1).then_some(());
    wait::until("another route has come", other).await;
    process.stop().await;
}
