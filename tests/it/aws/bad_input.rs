//! Keys, regions and tags that are wrong: the message names the object, the cause, and what to do.

use serde_json::{Value, json};
use tests::clouds::aws::CLUSTER;
use tests::moto::Call;
use tests::operator::{event, initialized, says};
use tests::vendor::aws::instance;

use crate::services::{NETWORK, create, service};
use crate::setup::{Rig, is_initialized, worker};

type Change<'a> = Box<dyn Fn(&mut Value) + 'a>;

#[tokio::test]
async fn bad_keys_and_regions_end_the_start() {
    let mut rig = Rig::new().await;
    let malformed = rig.setup.folder.write("malformed", "[default]\naws_access_key_id: AKIA1\n");
    let nowhere = rig.setup.folder.path("nowhere");
    let keys = |it: Value| -> Change<'_> { Box::new(move |config| config["credentials"][0]["sigv4"] = it.clone()) };
    let web_identity = json!({ "roleArn": "arn:aws:iam::123456789012:role/ccm", "tokenFile": nowhere });
    let rows: [(Change<'_>, &[&str]); 6] = [
        (
            keys(json!({ "region": "us-east-1", "sharedFile": { "file": malformed } })),
            &["credential aws: ", "malformed has a line 2 that is neither a profile", "correct it"],
        ),
        (
            Box::new(|it| it["credentials"][0]["sigv4"]["sharedFile"]["profile"] = json!("other")),
            &["credential aws: ", "credentials", "profile", "other"],
        ),
        (
            keys(json!({ "region": "us-east-1", "sharedFile": { "file": nowhere } })),
            &["credential aws: cannot read ", "nowhere", "No such file"],
        ),
        (
            keys(json!({ "region": "us-east-1", "webIdentity": web_identity })),
            &["credential aws: cannot read ", "nowhere", "webIdentity.tokenFile", "No such file"],
        ),
        (
            Box::new(|it| it["credentials"][0]["sigv4"]["region"] = json!("eu-west-1")),
            &["endpoint ec2: `signing` names the region us-east-1", "signs for eu-west-1 alone", "correct one of them"],
        ),
        (
            Box::new(|it| it["provider"]["settings"]["region"] = json!("US East")),
            &["setting region: \"US East\" is not the name of a region such as eu-central-1"],
        ),
    ];
    let right = rig.setup.config.clone();
    for (change, parts) in rows {
        rig.setup.config = right.clone();
        change(&mut rig.setup.config);
        says(&rig.setup.refused().await, parts);
    }
}

#[tokio::test]
async fn bad_a_region_that_is_not_the_zones_is_told() {
    let mut rig = Rig::new().await;
    rig.setup.config["provider"]["settings"]["region"] = json!("eu-west-1");
    let process = rig.start().await;
    rig.join(1).await;
    let why = format!("instance {} is in zone us-east-1a, which is not of region eu-west-1", instance(1));
    event(&rig.cluster, &worker(1), &[&why, "correct setting region"]).await;
    assert!(!is_initialized(&rig.nodes().get(&worker(1)).await.unwrap()));
    process.stop().await;
}

/// Writes a session of a role into the file of keys.
fn take_session(rig: &Rig, role: &Value) {
    let keys = rig.order("session", &json!({ "role": role }));
    let key = |name: &str, at: &str| format!("aws_{name} = {}\n", keys[at].as_str().unwrap());
    let keys = [key("access_key_id", "id"), key("secret_access_key", "secret"), key("session_token", "token")];
    rig.setup.folder.write("credentials", format!("[default]\n{}", keys.concat()));
}

#[tokio::test]
async fn bad_a_static_session_that_has_ended_is_told() {
    let rig = Rig::new().await;
    let role = rig.order("role", &json!({ "name": "operator", "actions": ["ec2:*"] }));
    take_session(&rig, &role);
    let process = rig.start().await;
    rig.join(1).await;
    initialized(&rig.cluster, &worker(1)).await;
    rig.order("endSessions", &json!({}));
    rig.join(2).await;
    event(&rig.cluster, &worker(2), &["The security token included in the request is expired"]).await;
    // Another one in the same file is taken.
    take_session(&rig, &role);
    initialized(&rig.cluster, &worker(2)).await;
    process.stop().await;
}

#[tokio::test]
async fn bad_two_groups_with_the_clusters_tag_are_named() {
    let rig = Rig::new().await;
    rig.join_again(1).await;
    let places = rig.order("prepare", &json!({ "cluster": CLUSTER }));
    let tag = json!([{ "Key": format!("kubernetes.io/cluster/{CLUSTER}"), "Value": "owned" }]);
    let group = json!({
        "GroupName": "second",
        "Description": "second",
        "VpcId": places["vpc"],
        "TagSpecifications": [{ "ResourceType": "security-group", "Tags": tag }],
    });
    let made = rig.cloud.moto().done([Call::new("ec2", "create_security_group", group)]).await.remove(0);
    let groups = [&places["group"], &made["GroupId"]].map(|it| it.as_str().unwrap());
    let has = json!({ "InstanceId": instance(1), "Groups": groups });
    rig.cloud.moto().done([Call::new("ec2", "modify_instance_attribute", has)]).await;
    create(&rig, &service("web", &[80], &[NETWORK])).await;
    let process = rig.start().await;
    let why = format!("instance {} has several security groups with the cluster's tag, ", instance(1));
    event(&rig.cluster, "web", &[&why, groups[0], groups[1], "leave it on the one that"]).await;
    process.stop().await;
}
