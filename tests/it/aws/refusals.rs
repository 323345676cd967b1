//! What a Service cannot have at AWS, and what is told about it. Numbers in names are those of the cases in
//! `spec/providers/provider-aws.md` §9.

use serde_json::json;
use tests::vendor::aws;

use crate::services::{NETWORK, create, patch, running, service};

const FAILED: &str = "SyncLoadBalancerFailed";

#[tokio::test]
async fn aws_030_the_kind_of_a_live_load_balancer_stays() {
    let (rig, process) = running(1).await;
    create(&rig, &service("web", &[80], &[])).await;
    rig.served("web").await;
    patch(&rig, "web", json!({ "metadata": { "annotations": { NETWORK.0: NETWORK.1 } } })).await;
    rig.said(FAILED, &["cannot change type"]).await;
    let state = rig.cloud.state();
    assert_eq!((state.classic.len(), state.network.len()), (1, 0), "nothing is deleted");
    process.stop().await;
}

#[tokio::test]
async fn aws_043_without_a_public_subnet_the_tags_are_told() {
    let (rig, process) = running(1).await;
    let places = rig.order("prepare", &json!({ "cluster": aws::CLUSTER }));
    let way_out = json!({ "RouteTableId": places["table"], "DestinationCidrBlock": "0.0.0.0/0" });
    rig.cloud.moto().done([tests::moto::Call::new("ec2", "delete_route", way_out)]).await;
    create(&rig, &service("web", &[80], &[NETWORK])).await;
    rig.said(FAILED, &["kubernetes.io/cluster/prod"]).await;
    assert!(rig.cloud.asked("elbv2", "CreateLoadBalancer").is_empty());
    process.stop().await;
}

#[tokio::test]
async fn aws_044_a_full_security_group_is_told_and_the_rest_kept() {
    let (rig, process) = running(1).await;
    rig.cloud.behave(&json!({ "rules_per_group": 1 }));
    create(&rig, &service("web", &[80, 81, 82], &[NETWORK])).await;
    rig.served("web").await;
    let group = rig.cloud.state().security.remove(0);
    rig.said_anything(&["RulesPerSecurityGroupLimitExceeded", &group.id]).await;
    assert_eq!(rig.cloud.state().network.len(), 1);
    process.stop().await;
}

#[tokio::test]
async fn aws_045_another_controllers_service_is_not_touched() {
    let (rig, process) = running(1).await;
    create(&rig, &service("web", &[80], &[(NETWORK.0, "external")])).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let about = rig.cloud.requests().into_iter().filter(|it| it.path.starts_with("/elb"));
    assert_eq!(about.count(), 0);
    process.stop().await;
}

#[tokio::test]
async fn aws_047_a_missing_right_is_told_by_its_name() {
    let (rig, process) = running(1).await;
    process.stop().await;
    let actions = ["ec2:*", "elasticloadbalancing:Describe*"];
    aws::take_key(&rig.setup, &rig.cloud.moto().user("reader", &actions));
    let process = rig.start().await;
    create(&rig, &service("web", &[80], &[NETWORK])).await;
    rig.said(FAILED, &["elasticloadbalancing:CreateLoadBalancer"]).await;
    process.stop().await;
}
