//! Services, when a release is uninstalled: as the page says none is left in its finalizer, and one that was forgotten is helped by
//! installing again.

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::{self, Cluster, cluster};
use tests::kubelet;
use tests::operator::{Process, Setup, initialized};
use tests::wait::until;

use super::lifecycle::{empty, folder, succeed};
use super::{text_of, values, with};
use crate::setup::{Folder, commands_for};

/// Succeeds where the release and its objects are there.
const STAYS: &str = "helm -n kube-system status aerostat && kubectl -n kube-system get deployment aerostat";

/// Whether somebody who deletes the Deployment is told what stays, and what to do.
fn is_warned(said: &str) -> bool {
    let parts =
        ["Warning: ", "In the cloud stay the load balancers of Services", "waits in its finalizer", "Next step: "];
    parts.iter().all(|it| said.contains(it))
}

fn install(cluster: &Cluster, folder: &Folder) {
    std::fs::write(folder.path("values.yaml"), values("digitalocean").to_string()).unwrap();
    let script = "helm -n kube-system install aerostat deploy/chart -f values.yaml --take-ownership --force-conflicts";
    succeed(folder, cluster, script, "");
}

/// The Pod that a release has, with the same rights.
async fn pod(cluster: &Cluster, cloud: &Simulator) -> Process {
    let hurry = |config: &mut Value| config["provider"]["settings"] = json!({ "pollInterval": "1s" });
    Setup::digitalocean(cluster, cloud).edit(hurry).started().await
}

async fn service(services: &Api<Service>, name: &str) {
    let service = json!({ "metadata": { "name": name },
        "spec": { "type": "LoadBalancer", "ports": [{ "name": "https", "port": 443 }] } });
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    until("an address", async || {
        let status = services.get_status(name).await.unwrap().status?;
        status.load_balancer?.ingress.filter(|it| !it.is_empty())
    })
    .await;
}

/// The simulated cloud answers while kubectl waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uninstalled_as_the_page_says_no_service_waits() {
    let cluster = cluster().await;
    let folder = folder();
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(1, "worker-1"));
    install(&cluster, &folder);
    let process = pod(&cluster, &cloud).await;
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized(&cluster, "worker-1").await;
    let services: Api<Service> = Api::default_namespaced(cluster.admin.clone());
    service(&services, "shop").await;
    service(&services, "forgotten").await;
    assert_eq!(cloud.load_balancers().all().len(), 2);

    // Services that are to go are deleted while aerostat runs. The page's command waits for them.
    let blocks = commands_for("../docs/uninstall.md", "uninstall");
    let [delete, uninstall] = &blocks[..] else { panic!("{blocks:#?}") };
    succeed(&folder, &cluster, &format!("NAMESPACE=default NAME=shop\n{delete}"), "");
    assert!(services.get_opt("shop").await.unwrap().is_none());
    assert_eq!(cloud.load_balancers().all().len(), 1, "and its load balancer is gone");
    // Where one is left, it says so and changes nothing.
    let said = succeed(&folder, &cluster, uninstall, "").out;
    assert!(said.contains("default/forgotten [service.kubernetes.io/load-balancer-cleanup]"), "{said}");
    succeed(&folder, &cluster, STAYS, "");
    // Without a look, too, it says what stays.
    let said = succeed(&folder, &cluster, "helm -n kube-system uninstall aerostat", "");
    assert!(is_warned(&said.error), "{said:#?}");
    // The kubelet ends it. Without its ServiceAccount it cannot give the Lease back.
    process.kill_and_shorten_its_lease(&cluster).await;

    // The other one stays as it is, in the cloud as well; deleted now, it waits.
    services.delete("forgotten", &DeleteParams::default()).await.unwrap();
    let waits = services.get("forgotten").await.unwrap();
    assert_eq!(waits.finalizers(), ["service.kubernetes.io/load-balancer-cleanup"]);
    assert!(waits.metadata.deletion_timestamp.is_some());
    assert_eq!(cloud.load_balancers().all().len(), 1);

    install(&cluster, &folder);
    // Uninstalled, a ServiceAccount's tokens are worth nothing.
    let kubeconfig = cluster.control_plane.aerostat_kubeconfig().await.unwrap();
    assert_eq!(kubeconfig, cluster.kubeconfig);
    let again = pod(&cluster, &cloud).await;
    until("the Service's end", async || services.get_opt("forgotten").await.unwrap().is_none().then_some(())).await;
    assert!(cloud.load_balancers().all().is_empty());
    again.stop().await;
    succeed(&folder, &cluster, uninstall, "");
    assert!(!folder.run(&cluster, STAYS, "").success, "nobody waits, and it is gone");
}

/// Whether the deletion of the Deployment would be warned now. A dry run deletes nothing.
fn would_be_warned(folder: &Folder, cluster: &Cluster) -> bool {
    is_warned(&succeed(folder, cluster, "kubectl -n kube-system delete deployment aerostat --dry-run=server", "").error)
}

/// Waits until the API server judges by no policy of a test before: it does so for some time after that policy is gone.
async fn no_policy(folder: &Folder, cluster: &Cluster) {
    succeed(folder, cluster, "kubectl -n kube-system create deployment aerostat --image=registry.example/aerostat", "");
    until("no policy", async || (!would_be_warned(folder, cluster)).then_some(())).await;
    succeed(folder, cluster, "kubectl -n kube-system delete deployment aerostat", "");
}

/// The API server begins to judge by a policy some time after that was made.
async fn tells_what_stays(install: &str, uninstall: &str) {
    let cluster = cluster().await;
    let folder = folder();
    std::os::unix::fs::symlink(control_plane::helm("helm3").unwrap(), folder.path("bin/helm3")).unwrap();
    std::fs::write(folder.path("values.yaml"), values("digitalocean").to_string()).unwrap();
    empty(&folder, &cluster);
    no_policy(&folder, &cluster).await;
    let said = succeed(&folder, &cluster, install, "");
    assert!(install.starts_with("kubectl") || said.out.contains("After it, in the cloud stay"), "{said:#?}");
    until("the policy", async || would_be_warned(&folder, &cluster).then_some(())).await;
    let said = succeed(&folder, &cluster, uninstall, "");
    assert!(is_warned(&said.error), "{uninstall}: {said:#?}");
    assert!(!folder.run(&cluster, "kubectl -n kube-system get deployment aerostat", "").success);
}

#[tokio::test]
async fn an_uninstallation_with_helm_tells_what_stays() {
    tells_what_stays(
        "helm -n kube-system install aerostat deploy/chart -f values.yaml",
        "helm -n kube-system uninstall aerostat",
    )
    .await;
}

#[tokio::test]
async fn an_uninstallation_with_helm_3_tells_what_stays() {
    tells_what_stays(
        "helm3 -n kube-system install aerostat deploy/chart -f values.yaml",
        "helm3 -n kube-system uninstall aerostat",
    )
    .await;
}

#[tokio::test]
async fn an_uninstallation_with_kubectl_tells_what_stays() {
    tells_what_stays(
        "kubectl apply --server-side -f deploy/install-digitalocean.yaml",
        "kubectl delete -f deploy/install-digitalocean.yaml",
    )
    .await;
}

#[test]
fn a_release_without_the_warning_has_no_policy() {
    let value = with("digitalocean", json!({ "uninstallWarning": false }));
    assert!(!text_of(&value).contains("ValidatingAdmissionPolicy"));
}
