//! The pages of single clouds, typed as they stand there, and the binary with what they leave behind.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use tests::control_plane::{Cluster, cluster};
use tests::guests;

use crate::install::started;
use crate::setup::{Folder, commands};

const PATIENCE: Duration = Duration::from_secs(60);

/// What an operator has to know of his cluster at AWS.
const AWS: &str =
    "REGION=eu-west-1 VPC=vpc-0123456789abcdef0 CLUSTER_ID=prod ROLE_ARN=arn:aws:iam::123456789012:role/ccm\n";

/// Types the commands of a page, and answers what they ask for.
fn type_in(cluster: &Cluster, folder: &Folder, script: &str, input: &str) {
    // The harness has applied the Role with another module's name, and kubectl takes nothing from another manager of fields.
    let new = "kubectl -n kube-system delete role cloud-controller-manager\n";
    let said = folder.run(cluster, &format!("{new}{script}"), input);
    assert!(said.success, "{said:#?}");
}

/// The binary runs with what a page left, and waits for nothing but the Lease.
async fn stands_by(cluster: &Cluster, folder: &Folder, provider: &str) {
    let mut process = started(cluster, folder).await;
    process.wait_for(&format!("provider {provider}"), PATIENCE).await.unwrap();
    process.wait_for("standing by: somebody holds lease", PATIENCE).await.unwrap();
    assert!(process.stop().await.unwrap().success());
}

/// Each module is in the cluster under its page's name.
async fn is_there(cluster: &Cluster, name: &str, module: &str) {
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let there = config_maps.get(name).await.unwrap().binary_data.unwrap();
    assert!(there["provider.wasm"].0 == fs::read(module).unwrap(), "byte for byte");
}

/// What a reset of the cluster leaves.
async fn leave(cluster: &Cluster) {
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    secrets.delete("aerostat", &DeleteParams::default()).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
    deployments.delete("aerostat", &DeleteParams::default()).await.unwrap();
}

/// Cases: manifests
#[tokio::test]
async fn hetzners_page_installs_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new().with("hetzner").with("persistent-volumes").module(guests::HETZNER, "hetzner.wasm");
    let blocks = commands("hetzner/README.md");
    assert_eq!(blocks.len(), 2, "{blocks:#?}");
    type_in(&cluster, &folder, &blocks.concat(), "hcloud-token-an&d/slashes\n");
    is_there(&cluster, "hetzner-provider", guests::HETZNER).await;
    stands_by(&cluster, &folder, "hcloud").await;
    assert_eq!(fs::read_to_string(folder.path("token")).unwrap(), "hcloud-token-an&d/slashes");
    leave(&cluster).await;
}

/// Cases: manifests
#[tokio::test]
async fn the_page_of_aws_installs_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new().with("aws").with("persistent-volumes").module(guests::AWS, "aws.wasm");
    let blocks = commands("aws/README.md");
    assert_eq!(blocks.len(), 3, "{blocks:#?}");
    type_in(&cluster, &folder, &format!("{AWS}{}", blocks[..2].concat()), "");
    is_there(&cluster, "aws-provider", guests::AWS).await;
    // The kubelet mounts it beside the config.
    fs::write(folder.path("aws-token"), "token-of-the-ServiceAccount").unwrap();
    stands_by(&cluster, &folder, "aws").await;

    let said = folder.run(&cluster, &blocks[2], "AKIAIOSFODNN7EXAMPLE\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n");
    assert!(said.success, "{said:#?}");
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let keys =
        String::from_utf8(secrets.get("aerostat").await.unwrap().data.unwrap()["aws-credentials"].0.clone()).unwrap();
    assert!(
        keys.contains("AKIAIOSFODNN7EXAMPLE") && keys.contains("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        "{keys}"
    );
    leave(&cluster).await;
}
