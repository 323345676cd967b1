//! The binary between a cluster and AWS: signed requests, and nodes from their join to the end of their machine.

use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use serde_json::{Value, json};
use tests::control_plane::{Cluster, cluster};
use tests::moto::{AccessKey, Call, Moto, REGION};
use tests::operator::{Setup, event, initialized};
use tests::{guests, kubelet, wait};

/// What the provider asks about nodes.
const ACTIONS: [&str; 3] = ["ec2:DescribeInstances", "ec2:DescribeVpcs", "ec2:DescribeAvailabilityZones"];
const FLAGS: [&str; 3] = ["--node-monitor-period=1s", "--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s"];

/// Starts instances with the cluster's tag. Returns their ids and private DNS names.
async fn run(moto: &Moto, count: usize) -> Vec<(String, String)> {
    let tag = json!({ "Key": "kubernetes.io/cluster/prod", "Value": "owned" });
    let parameters = json!({
        "ImageId": "ami-12c6146b",
        "InstanceType": "m5.large",
        "MinCount": count,
        "MaxCount": count,
        "TagSpecifications": [{ "ResourceType": "instance", "Tags": [tag] }],
    });
    let made = moto.done([Call::new("ec2", "run_instances", parameters)]).await;
    let text = |it: &Value, field: &str| it[field].as_str().unwrap().to_owned();
    let instances = made[0]["Instances"].as_array().unwrap();
    instances.iter().map(|it| (text(it, "InstanceId"), text(it, "PrivateDnsName"))).collect()
}

/// A file of keys as the tools of AWS write it.
fn shared_file(key: &AccessKey) -> String {
    format!("[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n", key.id, key.secret)
}

/// The provider, and what an operator has to allow for nodes.
async fn setup(cluster: &Cluster, moto: &Moto, key: &AccessKey) -> Setup {
    let vpcs = moto.done([Call::new("ec2", "describe_vpcs", json!({}))]).await;
    let setup = Setup::guest(cluster, guests::AWS).flags(&FLAGS);
    let file = setup.folder.write("credentials", shared_file(key));
    setup.edit(|it| {
        it["provider"]["settings"] =
            json!({ "region": REGION, "vpc": vpcs[0]["Vpcs"][0]["VpcId"], "clusterID": "prod" });
        it["endpoints"] = json!([{
            "name": "ec2",
            "baseUrl": moto.base_url(),
            "credential": "aws",
            "signing": { "region": REGION, "service": "ec2" },
            "operation": { "parameter": "Action" },
            "parameters": { "Version": "2016-11-15" },
            "allow": [{ "methods": ["POST"], "paths": ["/"], "operations": ["Describe*"], "effect": "read" }],
            "tls": { "caFile": moto.ca_file() },
        }]);
        it["credentials"] = json!([{ "name": "aws", "sigv4": { "region": REGION, "sharedFile": { "file": file } } }]);
    })
}

#[tokio::test]
async fn nodes_come_and_go_with_their_instances() {
    let (cluster, moto) = tokio::join!(cluster(), Moto::start());
    let key = moto.user("aerostat", &ACTIONS).await;
    let setup = setup(&cluster, &moto, &key).await;
    let machines = run(&moto, 3).await;
    let process = setup.started().await;
    for (id, name) in &machines {
        kubelet::join(&cluster.admin, name).await.unwrap();
        let node = initialized(&cluster, name).await;
        let zone = format!("{REGION}a");
        assert_eq!(node.spec.unwrap().provider_id, Some(format!("aws:///{zone}/{id}")));
        let labels = node.metadata.labels.unwrap();
        let label = |key: &str| labels.get(key).map(String::as_str);
        assert_eq!(label("node.kubernetes.io/instance-type"), Some("m5.large"));
        assert_eq!(label("topology.kubernetes.io/zone"), Some(&*zone));
        assert_eq!(label("topology.kubernetes.io/region"), Some(REGION));
    }

    let (gone, lost) = &machines[0];
    moto.done([Call::new("ec2", "terminate_instances", json!({ "InstanceIds": [gone] }))]).await;
    for (_, name) in &machines[..2] {
        kubelet::post_ready(&cluster.admin, name, false).await.unwrap();
    }
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    wait::until("the node without an instance is gone", async || {
        nodes.get_opt(lost).await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(nodes.get_opt(&machines[1].1).await.unwrap().is_some(), "its instance is there");
    process.stop().await;
}

#[tokio::test]
async fn keys_without_a_right_are_told_and_others_of_the_file_taken() {
    let (cluster, moto) = tokio::join!(cluster(), Moto::start());
    let poor = moto.user("poor", &["ec2:DescribeVpcs"]).await;
    let setup = setup(&cluster, &moto, &poor).await;
    let [(_, name)] = &run(&moto, 1).await[..] else { panic!("one instance was asked for") };
    let process = setup.started().await;
    kubelet::join(&cluster.admin, name).await.unwrap();
    let told = event(&cluster, name, &["failed to get instance metadata"]).await;
    assert_eq!(told.reason.as_deref(), Some("InstanceMetadataDenied"), "{told:?}");

    let rich = moto.user("rich", &ACTIONS).await;
    setup.folder.write("credentials", shared_file(&rich));
    initialized(&cluster, name).await;
    process.stop().await;
}
