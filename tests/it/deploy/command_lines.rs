//! Command lines of clouds, which the page for installing types before helm: roles and credentials are made with them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tests::clouds::aws::CLUSTER;
use tests::clouds::openstack::{APPLICATION_CREDENTIAL, SECRET};
use tests::control_plane::{Cluster, cluster};
use tests::moto::{Call, REGION};
use tests::simulator::Simulator;
use tests::vendor::{Aws, Behaviour, Vendor, aws};

use crate::setup::{Folder, commands_for, text};

/// The page whose blocks these are.
const PAGE: &str = "../docs/install.md";

/// The only block of the page with this mark.
fn block(mark: &str) -> String {
    let blocks = commands_for(PAGE, mark);
    let [block] = &blocks[..] else { panic!("{mark}: {blocks:#?}") };
    block.clone()
}

/// Puts a program into the folder, as it is found by its name.
fn program(folder: &Folder, name: &str, script: &str) {
    let path = folder.path("bin").join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The command that makes an application credential at OpenStack, and writes the files `id` and `secret`.
pub(crate) fn credential_of_openstack() -> String {
    block("credential")
}

/// Puts as much of OpenStack's command line into the folder as that command needs: it wants the file of access rules, and prints id and secret of
/// the simulated credential.
pub(crate) fn openstack_client(folder: &Folder) {
    let script = format!(
        r#"#!/bin/bash
set -eu
[ "$1 $2 $3" = "application credential create" ] && [[ $4 = aerostat* ]] && [ "${{*: -6}}" = "-f value -c id -c secret" ]
while [ "$1" != --access-rules ]; do shift; done
[ -s "$2" ]
printf '%s\n' {APPLICATION_CREDENTIAL} {SECRET}
"#
    );
    program(folder, "openstack", &script);
}

/// The role that the page's commands make at AWS, and what it is trusted for.
pub(crate) async fn role_of_aws(cluster: &Cluster, cloud: &Simulator<<Aws as Vendor>::Cloud>, words: &str) -> String {
    let folder = Folder::new().with("aws");
    program(&folder, "aws", &cloud.moto().command_line());
    let said = folder.run(cluster, &format!("{words}\n{}\necho $ROLE_ARN\n", block("role")), "");
    assert!(said.success && !said.out.trim().is_empty(), "{said:#?}");
    let asked = [
        Call::new("iam", "get_role", json!({ "RoleName": "aerostat" })),
        Call::new("iam", "get_role_policy", json!({ "RoleName": "aerostat", "PolicyName": "aerostat" })),
    ];
    let answers = cloud.moto().done(asked).await;
    let places = ["ACCOUNT-ID", "ISSUER", "VPC-OF-THE-CLUSTER", "ID-OF-THE-CLUSTER", "eu-central-1"];
    let all = json!(answers).to_string();
    assert!(places.iter().all(|it| !all.contains(it)), "{all}");
    // The kubelet's token is of this issuer, for this audience.
    let trusted = &answers[0]["Role"]["AssumeRolePolicyDocument"]["Statement"][0];
    let issuer = trusted["Principal"]["Federated"].as_str().unwrap().split_once(":oidc-provider/").unwrap().1;
    assert_eq!(format!("https://{issuer}"), format!("{}/", cluster.control_plane.url()));
    let of_pod = serde_saphyr::from_str::<Value>(&text("aws/irsa-patch.yaml")).unwrap();
    let audience = &of_pod[0]["value"]["serviceAccountToken"]["audience"];
    let subject = "system:serviceaccount:kube-system:cloud-controller-manager";
    let wanted = json!({ format!("{issuer}:sub"): subject, format!("{issuer}:aud"): audience });
    assert_eq!(trusted["Condition"]["StringEquals"], wanted);
    said.out.trim().to_owned()
}

/// The release for volumes has a role of its own, which no Pod of the other one takes.
/// The role for volumes that the page's commands make, after that of the cluster.
pub(crate) async fn role_for_volumes(
    cluster: &Cluster,
    cloud: &Simulator<<Aws as Vendor>::Cloud>,
    words: &str,
) -> String {
    let folder = Folder::new().with("aws");
    program(&folder, "aws", &cloud.moto().command_line());
    let blocks = commands_for("aws/README.md", "volumes");
    let [commands] = &blocks[..] else { panic!("{blocks:#?}") };
    let (role, helm) = commands.split_once("helm ").unwrap();
    let said = folder.run(cluster, &format!("{words}\n{}\n{role}\necho $EBS_ROLE_ARN\n", block("role")), "");
    assert!(said.success && said.out.trim().ends_with("role/aerostat-aws-ebs"), "{said:#?}");
    assert!(helm.contains("provider=aws-ebs") && helm.contains("roleArn=\"$EBS_ROLE_ARN\""), "{helm}");
    said.out.trim().to_owned()
}

#[tokio::test]
async fn the_role_for_volumes_is_for_its_own_service_account() {
    let cloud = Aws::start(Behaviour::default()).await.unwrap();
    let vpc = aws::settings(&cloud)["vpc"].clone();
    let words = format!("REGION={REGION} VPC={} CLUSTER_ID={CLUSTER}", vpc.as_str().unwrap());
    role_for_volumes(&cluster().await, &cloud, &words).await;
    let name = json!("aerostat-aws-ebs");
    let asked = [
        Call::new("iam", "get_role", json!({ "RoleName": name })),
        Call::new("iam", "get_role_policy", json!({ "RoleName": name, "PolicyName": name })),
    ];
    let answers = cloud.moto().done(asked).await;
    let trusted = &answers[0]["Role"]["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]["StringEquals"];
    let subject = "system:serviceaccount:kube-system:cloud-controller-manager-aws-ebs";
    assert!(trusted.as_object().unwrap().values().any(|it| it == subject), "{trusted}");
    let policy = answers[1]["PolicyDocument"].to_string();
    let places = ["ACCOUNT-ID", "ID-OF-THE-CLUSTER", "eu-central-1"];
    assert!(places.iter().all(|it| !policy.contains(it)) && policy.contains("ec2:CreateVolume"), "{policy}");
}

#[test]
fn the_page_for_installing_edits_no_file_of_the_repository() {
    let page = text(PAGE);
    assert!(
        !page.contains("sed -i") && page.matches("$(sed ").count() >= 3,
        "what differs goes into the command alone"
    );
}
