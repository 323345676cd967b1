//! Services that AWS cannot serve, and the events that say so. Numbers in names are those of the cases in
//! `tests/CASES.md`.

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};
use tests::clouds::aws::Recorded;
use tests::moto::Call;
use tests::operator::event;
use tests::vendor::{Vendor as _, aws};

use crate::services::{NETWORK, create, patch, quiet, running, service, vendor};

const FAILED: &str = "SyncLoadBalancerFailed";

/// A Service whose `spec` is changed.
fn changed(service: &Service, change: impl FnOnce(&mut Value)) -> Service {
    let mut value = json!(service);
    change(&mut value["spec"]);
    serde_json::from_value(value).unwrap()
}

fn udp(spec: &mut Value) {
    spec["ports"][0]["protocol"] = json!("UDP");
}

#[tokio::test]
async fn aws_022_to_025_035_036_041_042_are_told_and_not_tried() {
    let (rig, process) = running(1).await;
    let twins = rig.twin_subnets().await.join(",");
    let plain = || service("web", &[80], &[]);
    let network = || service("web", &[80], &[NETWORK]);
    let with =
        |kind: &str, name: &str, value: &str| service("web", &[80], &[(NETWORK.0, kind), (&vendor(name), value)]);
    let mixed = |spec: &mut Value| {
        let second = json!({ "name": "dns", "port": 53, "protocol": "UDP" });
        spec["ports"].as_array_mut().unwrap().push(second);
    };
    let attributes = "target-group-attributes";
    let rows = [
        ("aws-022", changed(&plain(), udp), "only TCP protocol is supported: port 80 is UDP"),
        (
            "aws-023",
            changed(&plain(), |it| it["sessionAffinity"] = json!("ClientIP")),
            "unsupported load balancer affinity: ClientIP",
        ),
        (
            "aws-024",
            changed(&plain(), |it| it["loadBalancerIP"] = json!("192.0.2.1")),
            "LoadBalancerIP cannot be specified for AWS ELB",
        ),
        ("aws-025", with("classic", "proxy-protocol", "true"), "aws-load-balancer-proxy-protocol: \"true\" is not *"),
        ("aws-035", with("nlb", "eip-allocations", "eipalloc-1,eipalloc-2"), "(2) and SubnetIDs (6: subnet-"),
        ("aws-036", changed(&network(), mixed), "mixed protocol is not supported for LoadBalancer"),
        ("aws-041", with("nlb", attributes, "foo=bar"), "the attribute \"foo\" is not supported: preserve_client_ip"),
        (
            "aws-041-udp",
            changed(&with("nlb", attributes, "preserve_client_ip.enabled=false"), udp),
            "client IP preservation can't be disabled for UDP ports",
        ),
        ("aws-042", with("nlb", "subnets", &twins), "are both in zone us-east-1a"),
        ("interval", with("nlb", "healthcheck-interval", "soon"), "\"soon\" is not a whole number of seconds from 5"),
        ("idle", with("classic", "connection-idle-timeout", "0"), "\"0\" is not a whole number of seconds from 1"),
        ("groups", with("nlb", "extra-security-groups", "sg-1"), "is not supported by NLB"),
        ("log", with("nlb", "access-log-enabled", "true"), "\"true\" takes a bucket of S3 to log into"),
        ("certificate", with("classic", "ssl-cert", "example.com"), "\"example.com\" is not the ARN of a certificate"),
        ("labels", with("nlb", "target-node-labels", "pool in web"), "is no selector of node labels"),
    ];
    let asked = rig.cloud.requests().len();
    for (name, service, _) in &rows {
        let mut service = service.clone();
        service.metadata.name = Some((*name).to_owned());
        create(&rig, &service).await;
    }
    for (name, _, why) in &rows {
        let told = event(&rig.cluster, name, &[why]).await;
        assert_eq!(told.reason.as_deref(), Some(FAILED), "{told:?}");
    }
    assert_eq!(rig.writes(asked), [""; 0]);
    process.stop().await;
}

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
    rig.cloud.moto().done([Call::new("ec2", "delete_route", way_out)]).await;
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
    create(&rig, &service("theirs", &[80], &[(NETWORK.0, "external")])).await;
    create(&rig, &service("ours", &[80], &[NETWORK])).await;
    rig.served("ours").await;
    quiet(&rig).await;
    let uid = rig.services().get("theirs").await.unwrap().metadata.uid.unwrap();
    let name = aws::Aws::default_name(&uid);
    let about = |it: &Recorded| it.query.iter().any(|(_, value)| *value == name || value == "default/theirs");
    let requests = rig.cloud.requests();
    assert!(!requests.iter().any(about), "{requests:#?}");
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
