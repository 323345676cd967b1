//! The pages of single clouds, typed as they stand there, and the binary with what they leave behind.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use serde_json::json;
use tests::clouds::aws::CLUSTER;
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::moto::REGION;
use tests::vendor::{Aws, Behaviour, Hetzner, Vendor as _, aws};

use crate::install::started;
use crate::served::{Differences, joins, mount};
use crate::setup::{Folder, commands};

const PATIENCE: Duration = Duration::from_secs(60);

/// The token that an operator types at Hetzner.
const TOKEN: &str = "hcloud-token-an&d/slashes";

/// The token that the kubelet projects for STS.
const IDENTITY: &str = "token-of-the-ServiceAccount";

/// Types the commands of a page, and answers what they ask for.
pub(crate) fn type_in(cluster: &Cluster, folder: &Folder, script: &str, input: &str) {
    // The harness has applied the Role with another module's name, and kubectl takes nothing from another manager of fields.
    let new = "kubectl -n kube-system delete role cloud-controller-manager\n";
    let said = folder.run(cluster, &format!("{new}{script}"), input);
    assert!(said.success, "{said:#?}");
}

/// The binary runs with what a page left, and waits for nothing but the Lease.
pub(crate) async fn stands_by(cluster: &Cluster, folder: &Folder, provider: &str) {
    let mut process = started(cluster, folder).await;
    process.wait_for(&format!("provider {provider}"), PATIENCE).await.unwrap();
    process.wait_for("standing by: somebody holds lease", PATIENCE).await.unwrap();
    assert!(process.stop().await.unwrap().success());
}

/// Each module is in the cluster under its page's name.
pub(crate) async fn is_there(cluster: &Cluster, name: &str, module: &str) {
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let there = config_maps.get(name).await.unwrap().binary_data.unwrap();
    assert!(there["provider.wasm"].0 == fs::read(module).unwrap(), "byte for byte");
}

/// Objects that a reset of the cluster leaves.
pub(crate) async fn leave(cluster: &Cluster) {
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    // With a role for the ServiceAccount there is none.
    let _gone = secrets.delete("aerostat", &DeleteParams::default()).await;
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
    type_in(&cluster, &folder, &blocks.concat(), &format!("{TOKEN}\n"));
    is_there(&cluster, "hetzner-provider", guests::HETZNER).await;
    stands_by(&cluster, &folder, "hcloud").await;
    assert_eq!(fs::read_to_string(folder.path("token")).unwrap(), TOKEN);
    let cloud = Hetzner::start(Behaviour::default()).await.unwrap();
    cloud.set_token(TOKEN);
    joins::<Hetzner>(&cluster, &folder, &cloud, Differences::default()).await;
    leave(&cluster).await;
}

/// Cases: manifests
#[tokio::test]
async fn the_page_of_aws_installs_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new().with("aws").with("persistent-volumes").module(guests::AWS, "aws.wasm");
    let blocks = commands("aws/README.md");
    assert_eq!(blocks.len(), 3, "{blocks:#?}");
    let cloud = Aws::start(Behaviour::default()).await.unwrap();
    let role =
        cloud.moto().order("role", &json!({ "name": "aerostat", "actions": ["ec2:*", "elasticloadbalancing:*"] }));
    cloud.moto().order("token", &json!({ "token": IDENTITY, "role": role }));
    let known = format!(
        "REGION={REGION} VPC={} CLUSTER_ID={CLUSTER} ROLE_ARN={}\n",
        aws::settings(&cloud)["vpc"].as_str().unwrap(),
        role.as_str().unwrap()
    );
    type_in(&cluster, &folder, &format!("{known}{}", blocks[..2].concat()), "");
    is_there(&cluster, "aws-provider", guests::AWS).await;
    // The kubelet mounts it beside the config.
    fs::write(folder.path("aws-token"), IDENTITY).unwrap();
    stands_by(&cluster, &folder, "aws").await;
    let with_role = Differences {
        config: Box::new(|_, url, config| {
            let ca_file = config["endpoints"][0]["tls"].clone();
            config["credentials"][0]["sigv4"]["sts"] =
                json!({ "baseUrl": url, "tls": ca_file, "addresses": ["127.0.0.0/8"] });
        }),
        ..Differences::default()
    };
    joins::<Aws>(&cluster, &folder, &cloud, with_role).await;

    let key = aws::key(&cloud);
    let said = folder.run(&cluster, &blocks[2], &format!("{}\n{}\n", key.id, key.secret));
    assert!(said.success, "{said:#?}");
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let keys =
        String::from_utf8(secrets.get("aerostat").await.unwrap().data.unwrap()["aws-credentials"].0.clone()).unwrap();
    assert!(keys.contains(&key.id) && keys.contains(&key.secret), "{keys}");
    mount(&cluster, &folder).await;
    let with_keys = Differences {
        machine: 2,
        // As the page says: one of them in the place of the other.
        config: Box::new(|folder, _, config| {
            let sigv4 = &mut config["credentials"][0]["sigv4"];
            *sigv4 = json!({ "region": sigv4["region"], "sharedFile": { "file": folder.path("aws-credentials") } });
        }),
        ..Differences::default()
    };
    joins::<Aws>(&cluster, &folder, &cloud, with_keys).await;
    leave(&cluster).await;
}
