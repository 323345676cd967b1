//! A release of the chart in a cluster: installed as the README says, upgraded, rolled back, uninstalled, and in the place of manifests
//! that were applied before there was a chart.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tests::aerostat::{Aerostat, message};
use tests::control_plane::{self, Cluster, cluster};
use tests::guests;
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry, Signer};

use super::{DIGEST, WITHOUT_WARNING, objects, text_of, values};
use crate::install::hold_lease;
use crate::published::Published;
use crate::setup::{Folder, Said, command_line, commands_for, container, deploy, files};

const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with helm and the chart, beside what the README expects.
pub(crate) fn folder() -> Folder {
    let folder = Folder::new();
    std::os::unix::fs::symlink(control_plane::helm("helm").unwrap(), folder.path("bin/helm")).unwrap();
    std::os::unix::fs::symlink(deploy().join("chart"), folder.path("deploy/chart")).unwrap();
    folder
}

/// Runs a script that has to succeed.
#[track_caller]
pub(crate) fn succeed(folder: &Folder, cluster: &Cluster, script: &str, input: &str) -> Said {
    let said = folder.run(cluster, script, input);
    assert!(said.success, "{script}: {said:#?}");
    said
}

/// The cluster without what the harness has applied of `deploy/`: as an operator finds it.
pub(crate) fn empty(folder: &Folder, cluster: &Cluster) {
    succeed(folder, cluster, "kubectl delete -f deploy/rbac.yaml --ignore-not-found", "");
    succeed(folder, cluster, WITHOUT_WARNING, "");
}

async fn deployment(cluster: &Cluster) -> Deployment {
    Api::namespaced(cluster.admin.clone(), "kube-system").get("aerostat").await.unwrap()
}

/// The objects of the chart that are in the cluster, by kind and name.
async fn left(cluster: &Cluster, of: &[Value]) -> Vec<String> {
    let mut left = Vec::new();
    for object in of {
        let (group, version) = object["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(cluster.admin.clone(), namespace, &kind),
            None => Api::all_with(cluster.admin.clone(), &kind),
        };
        if api.get_opt(name).await.unwrap().is_some() {
            left.push(format!("{} {name}", kind.kind));
        }
    }
    left
}

/// The registry of the pages.
const REGISTRY: &str = "REGISTRY=registry.example.com/aerostat";

/// The only block of a page with this mark.
fn block(page: &str, mark: &str) -> String {
    let blocks = commands_for(page, mark);
    let [block] = &blocks[..] else { panic!("{mark}: {blocks:#?}") };
    block.clone()
}

#[tokio::test]
async fn pages_install_upgrade_roll_back_and_uninstall() {
    let cluster = cluster().await;
    let published = Published::new().await;
    let folder = published.folder();
    fs::write(folder.path("token"), "dop_v1_an&d/slashes").unwrap();
    published.install(&cluster, &folder, "", &block("README.md", "chart"));
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let data = secrets.get("aerostat").await.unwrap().data.unwrap();
    assert_eq!(data["token"].0, b"dop_v1_an&d/slashes");
    assert_eq!(data["token.origins"].0, b"https://api.digitalocean.com");
    published.has_what_the_cluster_runs(&cluster, "digitalocean").await;
    let installed = deployment(&cluster).await;
    let all = objects(&succeed(&folder, &cluster, "helm -n kube-system get manifest aerostat", "").out);
    assert_eq!(left(&cluster, &all).await.len(), all.len());

    // Another module needs no new Pods: what is read at start alone has not changed.
    let type_in = |words: &str, page, mark| {
        published.type_in(&cluster, &folder, &format!("{REGISTRY} {words}"), &block(page, mark));
    };
    type_in(&format!("DIGEST={DIGEST}"), "README.md", "upgrade");
    let upgraded = deployment(&cluster).await;
    assert_eq!(upgraded.spec, installed.spec, "no new Pods");
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let config = async || config_maps.get("aerostat").await.unwrap().data.unwrap().remove("cloud.yaml").unwrap();
    assert!(config().await.contains(DIGEST));
    // A release has a module of its own.
    type_in(concat!("VERSION=", env!("CARGO_PKG_VERSION")), "../docs/upgrade.md", "upgrade");
    published.has_what_the_cluster_runs(&cluster, "digitalocean").await;
    assert!(!config().await.contains(DIGEST));
    let more = "helm -n kube-system upgrade aerostat oci://$REGISTRY/charts/aerostat --reset-then-reuse-values \
                --set settings.vpcId=ours,controllers.service-lb-controller=false";
    published.type_in(&cluster, &folder, REGISTRY, more);
    let changed = deployment(&cluster).await.spec.unwrap();
    assert!(changed.template != installed.spec.clone().unwrap().template, "new Pods");
    assert!(container(&changed.template).args.unwrap().contains(&"--controllers=*,-service-lb-controller".to_owned()));

    type_in("", "../docs/upgrade.md", "rollback");
    assert_eq!(deployment(&cluster).await.spec, installed.spec);
    published.has_what_the_cluster_runs(&cluster, "digitalocean").await;

    let said = succeed(&folder, &cluster, "helm -n kube-system uninstall aerostat --wait", "");
    let others: Vec<_> = said.error.lines().filter(|it| !it.contains("aerostat-uninstall")).collect();
    assert_eq!(others, [""; 0], "helm warns of nothing else");
    assert_eq!(left(&cluster, &all).await, [""; 0]);
    assert!(secrets.get_opt("aerostat").await.unwrap().is_some(), "the operator's own Secret stays");
    succeed(&folder, &cluster, "kubectl -n kube-system delete secret aerostat", "");
}

/// Deletes objects that a reset of the cluster leaves.
fn clean(folder: &Folder, cluster: &Cluster) {
    let all = "kubectl -n kube-system delete deployment/aerostat pdb/aerostat secret/aerostat --ignore-not-found
               kubectl -n kube-system delete secret -l owner=helm";
    succeed(folder, cluster, all, "");
    succeed(folder, cluster, WITHOUT_WARNING, "");
}

/// Manifests of before there was a chart, by either way of applying them.
fn apply_before(folder: &Folder, cluster: &Cluster, how: &str) {
    empty(folder, cluster);
    fs::create_dir_all(folder.path("before")).unwrap();
    for (name, text) in [
        ("rbac.yaml", include_str!("before/rbac.yaml")),
        ("config.yaml", include_str!("before/config.yaml")),
        ("deployment.yaml", include_str!("before/deployment.yaml")),
        ("poddisruptionbudget.yaml", include_str!("before/poddisruptionbudget.yaml")),
    ] {
        fs::write(folder.path("before").join(name), text).unwrap();
    }
    succeed(folder, cluster, &format!("kubectl apply {how} -f before"), "");
}

/// An object without what a server, or whoever wrote it, puts into its metadata.
fn bare(object: &DynamicObject) -> Value {
    let mut object = serde_json::to_value(object).unwrap();
    object["metadata"] = json!({ "name": object["metadata"]["name"], "labels": object["metadata"]["labels"] });
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = Value::Null;
    object.as_object_mut().unwrap().remove("status");
    object
}

/// The objects of the chart as they are in the cluster.
async fn stored(cluster: &Cluster, of: &[Value]) -> Vec<Value> {
    let mut stored = Vec::new();
    for object in of {
        let (group, version) = object["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap()));
        let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(cluster.admin.clone(), namespace, &kind),
            None => Api::all_with(cluster.admin.clone(), &kind),
        };
        stored.push(bare(&api.get(object["metadata"]["name"].as_str().unwrap()).await.unwrap()));
    }
    stored
}

#[tokio::test]
async fn manifests_of_before_become_a_release() {
    let cluster = cluster().await;
    let published = Published::new().await;
    let folder = published.folder();
    let values = values("digitalocean");
    fs::write(folder.path("values.yaml"), values.to_string()).unwrap();
    let all = objects(&text_of(&values));
    empty(&folder, &cluster);
    clean(&folder, &cluster);
    let install = "helm -n kube-system install aerostat oci://$REGISTRY/charts/aerostat -f values.yaml";
    published.type_in(&cluster, &folder, REGISTRY, install);
    let fresh = stored(&cluster, &all).await;
    succeed(&folder, &cluster, "helm -n kube-system uninstall aerostat --wait", "");

    for how in ["--server-side", ""] {
        apply_before(&folder, &cluster, how);
        let before = deployment(&cluster).await;
        published.type_in(&cluster, &folder, REGISTRY, &block("README.md", "adopt"));
        let after = deployment(&cluster).await;
        assert_eq!(after.metadata.uid, before.metadata.uid, "the same Deployment: its selector is what it was");
        assert_eq!(stored(&cluster, &all).await, fresh, "nothing of before is left over, {how}");
        succeed(&folder, &cluster, "helm -n kube-system uninstall aerostat --wait", "");
        assert_eq!(left(&cluster, &all).await, [""; 0]);
    }
    clean(&folder, &cluster);
}

#[tokio::test]
async fn one_file_takes_the_place_of_manifests_of_before() {
    let cluster = cluster().await;
    let folder = folder();
    apply_before(&folder, &cluster, "--server-side");
    let before = deployment(&cluster).await;
    succeed(&folder, &cluster, "kubectl apply --server-side -f deploy/install-digitalocean.yaml", "");
    let after = deployment(&cluster).await;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    let all = objects(&fs::read_to_string(folder.path("deploy/install-digitalocean.yaml")).unwrap());
    let taken_over = stored(&cluster, &all).await;
    empty(&folder, &cluster);
    clean(&folder, &cluster);
    succeed(&folder, &cluster, "kubectl apply --server-side -f deploy/install-digitalocean.yaml", "");
    assert_eq!(taken_over, stored(&cluster, &all).await);
    clean(&folder, &cluster);
}

/// Cases: manifests
#[tokio::test]
async fn a_release_runs_with_a_signed_module_of_a_registry() {
    let cluster = cluster().await;
    hold_lease(&cluster).await;
    let folder = folder();
    let registry = RealRegistry::distribution(Access::Password).await;
    let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
    let artifact = Artifact::new(&fs::read(guests::HETZNER).unwrap());
    registry.push(&artifact, Some("0.1.0")).await;
    let signature = signer.referrer(&artifact.digest());
    registry.push(&signature, None).await;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [signature.entry()],
    });
    registry.put_manifest(&format!("sha256-{}", artifact.digest()), index.to_string().as_bytes()).await;
    fs::write(folder.path("release.pub"), signer.public_key()).unwrap();
    fs::copy(registry.ca_file(), folder.path("ca.pem")).unwrap();
    // alice:correct-horse
    let login = json!({ "auths": { registry.address(): { "auth": "YWxpY2U6Y29ycmVjdC1ob3JzZQ==" } } }).to_string();
    let values = json!({
        "provider": "hetzner",
        "credentials": { "token": "hcloud-token-an&d/slashes" },
        "module": { "oci": {
            "image": format!("{}/{REPOSITORY}:0.1.0", registry.address()),
            "digest": format!("sha256:{}", artifact.digest()),
            "addresses": ["127.0.0.0/8"],
            "login": { "dockerConfigJson": login },
        } },
    });
    fs::write(folder.path("values.yaml"), values.to_string()).unwrap();
    // The harness has applied the roles, and holds on to the token of their ServiceAccount.
    let script = "helm -n kube-system install aerostat deploy/chart -f values.yaml --take-ownership --force-conflicts \
                  --set-file 'module.oci.signedBy.keys.release\\.pub=release.pub' --set-file module.oci.ca=ca.pem";
    succeed(&folder, &cluster, script, "");

    // The Secret that the kubelet would mount.
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let here = folder.path("").display().to_string();
    for name in ["aerostat-registry", "aerostat"] {
        for (file, bytes) in files(config_maps.get(name).await.unwrap(), secrets.get(name).await.unwrap()) {
            let text = String::from_utf8(bytes).unwrap();
            let text = text.replace("/etc/aerostat-registry", &here).replace("/etc/aerostat", &here);
            fs::write(folder.path(&file), text).unwrap();
        }
    }
    let container = container(&deployment(&cluster).await.spec.unwrap().template);
    let cache = folder.path("cache").display().to_string();
    let arguments = command_line(&container).into_iter().skip(2).map(|it| it.replace("/var/cache", &cache)).chain([
        format!("--cloud-config={}", folder.path("cloud.yaml").display()),
        format!("--kubeconfig={}", cluster.kubeconfig.display()),
        "--secure-port=0".to_owned(),
    ]);
    let mut process = Aerostat::start(arguments).unwrap();
    let pulled = process.wait_for("comes from the registry and is signed by", PATIENCE).await.unwrap();
    assert!(message(&pulled).contains("release.pub (bundle)"), "{pulled:?}");
    process.wait_for("provider hcloud", PATIENCE).await.unwrap();
    process.wait_for("standing by: somebody holds lease", PATIENCE).await.unwrap();
    assert!(process.stop().await.unwrap().success());
    succeed(&folder, &cluster, "helm -n kube-system uninstall aerostat --wait", "");
}
