//! The README's commands, typed as they stand there, and the binary with what they leave behind.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use tests::aerostat::{Aerostat, message};
use tests::control_plane::{Cluster, cluster};
use tests::guests;
use tests::vendor::{Behaviour, DigitalOcean, Vendor as _};

use crate::served::{Differences, arguments, joins, mount};
use crate::setup::{Folder, commands, container};

/// The token that the operator types where the README asks for it.
const TOKEN: &str = "dop_v1_an&d/slashes";

const PATIENCE: Duration = Duration::from_secs(60);

/// Cases: manifests
#[tokio::test]
async fn the_readmes_commands_install_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new();
    let blocks = commands("README.md");
    assert_eq!(blocks.len(), 7, "{blocks:#?}");
    let said = folder.run(&cluster, &blocks.concat(), &format!("{TOKEN}\n"));
    assert!(said.success, "{said:#?}");

    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let module = config_maps.get("digitalocean-provider").await.unwrap();
    assert!(module.binary_data.unwrap()["provider.wasm"].0 == fs::read(guests::DIGITALOCEAN).unwrap(), "byte for byte");
    assert_eq!(module.metadata.annotations, None, "no copy of the module");
    let deployment: Deployment = Api::namespaced(cluster.admin.clone(), "kube-system").get("aerostat").await.unwrap();
    let template = deployment.spec.unwrap().template;
    assert_eq!(template.spec.as_ref().unwrap().affinity, None, "the page's last word, for hosted control planes");
    assert!(
        template.metadata.as_ref().unwrap().annotations.as_ref().unwrap().keys().any(|it| it.contains("restartedAt"))
    );
    let container = container(&template);
    assert_eq!(container.image.as_deref(), Some("registry.example.org/ours:1"));

    let mut process = started(&cluster, &folder).await;
    assert_eq!(fs::read_to_string(folder.path("token")).unwrap(), TOKEN);
    let memory = process.wait_for("calls of the provider take at most", PATIENCE).await.unwrap();
    process.wait_for("provider digitalocean", PATIENCE).await.unwrap();
    let prefix = process.wait_for("digitalocean://", PATIENCE).await.unwrap();
    assert!(message(&prefix).ends_with("yes, pinned"), "{prefix:?}");
    process.wait_for("https://api.digitalocean.com, with credential token", PATIENCE).await.unwrap();
    let request = process.wait_for("DELETE /v2/load_balancers/*", PATIENCE).await.unwrap();
    assert!(message(&request).ends_with("  yes"), "{request:?}");
    process.wait_for("standing by: somebody holds lease", PATIENCE).await.unwrap();
    assert!(process.stop().await.unwrap().success());

    let wanted: u64 = message(&memory).split("at most ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let limits = container.resources.unwrap().limits.unwrap();
    assert_eq!(limits["memory"].0, "1Gi");
    assert!(wanted + 256 < 1024, "{}: the rest of the process needs room as well", message(&memory));

    let cloud = DigitalOcean::start(Behaviour::default()).await.unwrap();
    cloud.set_token(TOKEN);
    joins::<DigitalOcean>(&cluster, &folder, &cloud, Differences::default()).await;
}

/// The binary with what the commands of a page have left in the cluster. It loads everything, and then waits for the Lease: the
/// cloud gets no request.
pub(crate) async fn started(cluster: &Cluster, folder: &Folder) -> Aerostat {
    mount(cluster, folder).await;
    hold_lease(cluster).await;
    Aerostat::start(arguments(cluster, folder, 0).await).unwrap()
}

/// Lets another holder have the Lease for an hour.
pub(crate) async fn hold_lease(cluster: &Cluster) {
    let lease = Lease {
        metadata: ObjectMeta { name: Some("cloud-controller-manager".to_owned()), ..ObjectMeta::default() },
        spec: Some(LeaseSpec {
            holder_identity: Some("somebody".to_owned()),
            lease_duration_seconds: Some(3600),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }),
    };
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    leases.create(&PostParams::default(), &lease).await.unwrap();
}

#[tokio::test]
async fn applied_by_kubectl_itself_the_module_is_too_long() {
    let cluster = cluster().await;
    let script = "kubectl -n kube-system create configmap digitalocean-provider --dry-run=client -o yaml \
        --from-file=provider.wasm=digitalocean.wasm | kubectl apply -f -";
    let said = Folder::new().run(&cluster, script, "");
    assert!(!said.success, "{said:#?}");
    assert!(said.error.contains("metadata.annotations: Too long"), "{said:#?}");
}
