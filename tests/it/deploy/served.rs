//! The binary with what the commands of a page have left in the cluster, and a cloud: it is ready, and a node joins.

use std::fs;
use std::path::Path;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use tests::aerostat::Aerostat;
use tests::control_plane::Cluster;
use tests::operator::{ask, initialized};
use tests::port::free_port;
use tests::simulator::Simulator;
use tests::vendor::Vendor;
use tests::{kubelet, wait};

use crate::setup::{Folder, command_line, container, files};

/// How long the binary may take until it works.
const PATIENCE: Duration = Duration::from_secs(60);

/// Puts the files that the Pod finds in the folder of its configuration into the test's.
pub(crate) async fn mount(cluster: &Cluster, folder: &Folder) {
    mount_of("aerostat", cluster, folder).await;
}

/// The same of the Pod of this Deployment.
pub(crate) async fn mount_of(deployment: &str, cluster: &Cluster, folder: &Folder) {
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let secret = secrets.get_opt(deployment).await.unwrap().unwrap_or_default();
    for (name, bytes) in files(config_maps.get(deployment).await.unwrap(), secret) {
        let here = String::from_utf8(bytes).unwrap().replace("/etc/aerostat", &folder.path("").display().to_string());
        fs::write(folder.path(&name), here).unwrap();
    }
}

/// The command line of the Deployment with these files, without the program's name, which serves on this port.
pub(crate) async fn arguments(cluster: &Cluster, folder: &Folder, port: u16) -> Vec<String> {
    arguments_of("aerostat", cluster, &cluster.kubeconfig, folder, port).await
}

/// The same of this Deployment, with a way to the API server of its own.
pub(crate) async fn arguments_of(
    deployment: &str,
    cluster: &Cluster,
    kubeconfig: &Path,
    folder: &Folder,
    port: u16,
) -> Vec<String> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let container = container(&deployments.get(deployment).await.unwrap().spec.unwrap().template);
    let own = [
        format!("--cloud-config={}", folder.path("cloud.yaml").display()),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--secure-port={port}"),
    ];
    command_line(&container).into_iter().skip(2).chain(own).collect()
}

/// A change of a config, with the folder of its files and the cloud's address.
pub(crate) type ConfigChange = Box<dyn Fn(&Folder, &str, &mut Value)>;

/// The parts that differ between pages.
pub(crate) struct Differences {
    /// The number of the machine whose node joins.
    pub(crate) machine: u64,
    /// The last change of the config.
    pub(crate) config: ConfigChange,
    /// The last change of the command line.
    pub(crate) arguments: fn(&Folder, Vec<String>) -> Vec<String>,
}

impl Default for Differences {
    fn default() -> Self {
        Self { machine: 1, config: Box::new(|_, _, _| ()), arguments: |_, it| it }
    }
}

/// Runs the binary with what is mounted, led to a cloud in the place of the vendor's: it has to become ready, and a node has to join.
pub(crate) async fn joins<V: Vendor>(
    cluster: &Cluster,
    folder: &Folder,
    cloud: &Simulator<V::Cloud>,
    differences: Differences,
) {
    lead::<V>(folder, cloud, &differences.config);
    // An earlier part of the test may have held it.
    forget_lease(cluster).await;
    let port = free_port();
    let arguments = (differences.arguments)(folder, arguments(cluster, folder, port).await);
    let mut process = Aerostat::start(arguments).unwrap();
    process.wait_for("started cloud-node-controller", PATIENCE).await.unwrap();

    let name = format!("web-{}", differences.machine);
    V::add_machine(cloud.account(), differences.machine, &name);
    kubelet::join(&cluster.admin, &name).await.unwrap();
    let node = initialized(cluster, &name).await;
    let provider_id = node.spec.unwrap().provider_id.unwrap();
    assert!(provider_id.starts_with(V::PROVIDER_ID), "{provider_id}");
    wait::until("the binary is ready", async || {
        Some(ask(port, Method::GET, "/readyz", None).await).filter(|it| it.code == 200)
    })
    .await;
    assert!(process.stop().await.unwrap().success());
    forget_lease(cluster).await;
}

async fn forget_lease(cluster: &Cluster) {
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    // There need not be one.
    let _gone = leases.delete("cloud-controller-manager", &DeleteParams::default()).await;
}

/// Writes the cloud's address in the place of the vendor's: into the config, and where the credential may be sent.
pub(crate) fn lead<V: Vendor>(
    folder: &Folder,
    cloud: &Simulator<V::Cloud>,
    change: impl Fn(&Folder, &str, &mut Value),
) {
    let file = folder.path("cloud.yaml");
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let ca_file = json!({ "caFile": cloud.ca_file() });
    for endpoint in config["endpoints"].as_array_mut().unwrap() {
        endpoint["baseUrl"] = json!(V::base_url(cloud));
        endpoint["tls"] = ca_file.clone();
    }
    change(folder, &cloud.base_url(), &mut config);
    fs::write(file, config.to_string()).unwrap();
    for entry in fs::read_dir(folder.path("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "origins") {
            fs::write(path, cloud.base_url()).unwrap();
        }
    }
}
