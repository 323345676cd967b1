//! A release in a registry, and what installs it from there as the README says: the image and the module that the cluster is told to run
//! are in that registry, and the binary becomes ready with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};
use pack::PackedFile;
use serde_json::{Value, json};
use tests::clouds::aws::CLUSTER;
use tests::clouds::gcp::{PROJECT, REGION};
use tests::clouds::{alibaba, ibm};
use tests::control_plane::{self, Cluster, cluster};
use tests::moto;
use tests::published::{self as served, Served};
use tests::registry::{Access, RealRegistry};
use tests::simulator::Simulator;
use tests::vendor::{
    AlibabaCloud, Aws, AzureCloud, Behaviour, DigitalOcean, GoogleCloud, Hetzner, IbmCloud, OpenStack, Vendor, aws,
};

use crate::alibaba::at_sts;
use crate::azure_page;
use crate::chart::{CLOUDS, PRESETS, WITHOUT_WARNING};
use crate::command_lines::{credential_of_openstack, openstack_client, role_of_aws};
use crate::gcp::{POOL_PROVIDER, trusted};
use crate::ibm::at_iam;
use crate::packed::{Compiled, file};
use crate::served::{ConfigChange, Differences, joins, mount};
use crate::setup::{Folder, commands_for, container, deploy, text};
use crate::sources::Sources;

/// The registry that pages name.
const NAMED: &str = "registry.example.com";

const TOKEN: &str = "token-an&d/slashes";

/// The token that the kubelet projects for STS.
pub(crate) const IDENTITY: &str = "token-of-the-ServiceAccount";

/// All files of this project's release, once for all tests.
fn packed() -> &'static [PackedFile] {
    static PACKED: OnceLock<Vec<PackedFile>> = OnceLock::new();
    PACKED.get_or_init(|| Compiled::project().packed())
}

/// A registry with this project's release.
pub(crate) struct Published {
    registry: RealRegistry,
    sources: Sources,
}

impl Published {
    /// Publishes it with the README's words.
    pub(crate) async fn new() -> Self {
        let (registry, sources) =
            (RealRegistry::distribution(Access::Anyone).await, Sources::new(env!("CARGO_PKG_VERSION")));
        sources.release(packed());
        let page = text("../README.md");
        let commands: Vec<_> = page.split('`').filter(|it| it.starts_with("make publish")).collect();
        let [command] = commands[..] else { panic!("{commands:?}") };
        let mut bash = Command::new("bash");
        bash.args(["-euc", &command.replace(NAMED, registry.address())]).current_dir(sources.folder.path(""));
        let output = bash.env("CA", registry.ca_file()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Self { registry, sources }
    }

    /// A folder with helm, the files that were published, and the registry's authority.
    pub(crate) fn folder(&self) -> Folder {
        let folder = Folder::new();
        std::os::unix::fs::symlink(control_plane::helm("helm").unwrap(), folder.path("bin/helm")).unwrap();
        for entry in fs::read_dir(self.sources.release.join("published")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path(&entry.file_name().into_string().unwrap())).unwrap();
        }
        fs::copy(self.registry.ca_file(), folder.path("registry-ca.pem")).unwrap();
        folder
    }

    /// Types commands of a page that install, where neither the harness nor an earlier test has left any object of them. Hetzner and Google
    /// Cloud have all.
    pub(crate) fn install(&self, cluster: &Cluster, folder: &Folder, words: &str, script: &str) {
        let before = "kubectl delete -f deploy/install-hetzner.yaml -f deploy/install-gcp.yaml --ignore-not-found
                      kubectl -n kube-system delete secret/aerostat --ignore-not-found";
        let said = folder.run(cluster, before, "");
        assert!(said.success, "{said:#?}");
        self.type_in(cluster, folder, words, script);
    }

    /// Types commands of a page, which name this registry.
    pub(crate) fn type_in(&self, cluster: &Cluster, folder: &Folder, words: &str, script: &str) {
        let authority = folder.path("registry-ca.pem");
        let script = script.replace(NAMED, self.registry.address());
        let words = words.replace(NAMED, self.registry.address());
        let script = format!("export SSL_CERT_FILE={}\n{words}\n{script}", authority.display());
        let said = folder.run(cluster, &script, "");
        assert!(said.success, "{script}: {said:#?}");
    }

    /// The image and the module that the cluster was told to run are in the registry, under the names that it was told.
    pub(crate) async fn has_what_the_cluster_runs(&self, cluster: &Cluster, module: &str) {
        let deployments: Api<Deployment> = Api::namespaced(cluster.admin.clone(), "kube-system");
        let template = deployments.get("aerostat").await.unwrap().spec.unwrap().template;
        let image = container(&template).image.unwrap();
        let place = |repository: &str| format!("{}/{repository}", self.registry.address());
        let version = env!("CARGO_PKG_VERSION");
        let digest =
            image.strip_prefix(&format!("{}:{version}@", place("aerostat"))).unwrap_or_else(|| panic!("{image}"));
        assert_eq!(self.registry.kinds(&format!("aerostat:{version}")).await, ["amd64", "arm64"]);
        assert_eq!(self.registry.kinds(&format!("aerostat@{digest}")).await, ["amd64", "arm64"]);
        let oci = oci(cluster).await;
        assert_eq!(oci["image"], format!("{}:{version}", place(&format!("aerostat/{module}"))));
        let manifest = self.registry.manifest(&format!("aerostat/{module}@{}", oci["digest"].as_str().unwrap())).await;
        assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    }
}

/// The module of the config in the cluster.
async fn oci(cluster: &Cluster) -> Value {
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let text = config_maps.get("aerostat").await.unwrap().data.unwrap().remove("cloud.yaml").unwrap();
    let mut config: Value = serde_saphyr::from_str(&text).unwrap();
    config["provider"]["module"]["oci"].take()
}

/// The commands for each cloud in the only block of a page with this mark, with what stands before all of them, as a person copies them.
fn parts(page: &str, mark: &str) -> BTreeMap<String, String> {
    let blocks = commands_for(page, mark);
    let [block] = &blocks[..] else { panic!("{blocks:#?}") };
    let block = format!("\n{block}");
    let (first, rest) = block.split_once("\n# ").unwrap();
    let parts = rest.split("\n# ").map(|part| {
        let (cloud, commands) = part.split_once('\n').unwrap();
        (
            cloud.to_lowercase().replace("google cloud", "gcp").replace(" cloud", ""),
            format!("{}\n{}\n", first.trim_start(), commands.trim_end()).trim_start().to_owned(),
        )
    });
    parts.collect()
}

/// The README's commands for each cloud.
fn readme() -> BTreeMap<String, String> {
    parts("../README.md", "install")
}

/// The commands for each cloud that apply one file, after the README's for the Secret.
fn by_file() -> BTreeMap<String, String> {
    let files = parts("../docs/install.md", "file").into_iter();
    files
        .map(|(cloud, file)| {
            let helm = &readme()[&cloud];
            let secret = helm.split("helm ").next().unwrap();
            (cloud, format!("{secret}{file}"))
        })
        .collect()
}

/// The page of a cloud below `deploy/`.
fn page(cloud: &str) -> String {
    if cloud == "digitalocean" { "README.md".to_owned() } else { format!("{cloud}/README.md") }
}

#[test]
fn each_cloud_has_the_same_commands_on_all_pages() {
    let readme = readme();
    assert_eq!(readme.keys().collect::<Vec<_>>(), CLOUDS.iter().collect::<Vec<_>>());
    assert_eq!(by_file().keys().collect::<Vec<_>>(), CLOUDS.iter().collect::<Vec<_>>());
    for (cloud, commands) in &readme {
        let first = text(&page(cloud)).split("```sh").nth(1).unwrap().to_owned();
        assert!(first.starts_with(" chart\n"), "deploy/{} begins with {first}", page(cloud));
        assert_eq!(commands_for(&page(cloud), "chart"), [commands.as_str()], "deploy/{}", page(cloud));
    }
    let together: BTreeSet<_> = commands_for("../docs/install.md", "chart").into_iter().collect();
    assert_eq!(together, readme.into_values().collect(), "docs/install.md");
}

#[test]
fn the_file_of_each_cloud_is_what_the_packed_chart_makes() {
    let digests = packed_digests();
    let flags = digests.iter().flat_map(|(name, digest)| ["--set".to_owned(), format!("digests.{name}={digest}")]);
    let made = tests::folder::Folder::new();
    let output = Command::new(deploy().join("manifests.sh"))
        .arg(made.path(""))
        .args(flags)
        .env("HELM", control_plane::helm("helm").unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for cloud in PRESETS {
        let name = format!("install-{cloud}.yaml");
        let file = std::str::from_utf8(file(packed(), &name)).unwrap();
        assert_eq!(file, fs::read_to_string(made.path(&name)).unwrap(), "{name}");
        assert!(file.contains(&digests["image"]) && file.contains(&digests[cloud]) && !file.contains("kind: Secret"));
    }
}

/// The digests of the packed release, by their names in the chart's values.
fn packed_digests() -> BTreeMap<String, String> {
    let bundle = format!("aerostat-bundle-{}.tar", env!("CARGO_PKG_VERSION"));
    let bundle = oci::Layout::read(&file(packed(), &bundle).to_vec().into()).unwrap();
    let artifacts = bundle.artifacts().unwrap();
    let digests = artifacts.iter().filter_map(|artifact| {
        let name = artifact.name.to_string().rsplit_once(':').unwrap().0.replace("aerostat/", "");
        let name = if name == "aerostat" { "image".to_owned() } else { name };
        (name == "image" || PRESETS.contains(&&*name)).then(|| (name, format!("sha256:{}", artifact.digest())))
    });
    digests.collect()
}

/// Plays what two pages say of a cloud, by the chart and by one file: each time a node joins.
async fn play<V: Vendor>(
    cluster: &Cluster,
    name: &str,
    cloud: &Simulator<V::Cloud>,
    words: &str,
    differences: impl Fn() -> Differences,
) {
    play_with::<V>(cluster, name, cloud, words, differences, IDENTITY).await;
}

/// The same with this token of the ServiceAccount for Entra.
async fn play_with<V: Vendor>(
    cluster: &Cluster,
    name: &str,
    cloud: &Simulator<V::Cloud>,
    words: &str,
    differences: impl Fn() -> Differences,
    azure_token: &str,
) {
    let published = Published::new().await;
    for (machine, script) in [(1, &readme()[name]), (2, &by_file()[name])] {
        let folder = published.folder().with("openstack");
        fs::write(folder.path("token"), TOKEN).unwrap();
        fs::write(folder.path("api-key"), ibm::API_KEY).unwrap();
        openstack_client(&folder);
        published.install(cluster, &folder, words, script);
        published.has_what_the_cluster_runs(cluster, name).await;
        // The tokens of the ServiceAccount that was there before are worth nothing.
        assert_eq!(cluster.control_plane.aerostat_kubeconfig().await.unwrap(), cluster.kubeconfig);
        mount(cluster, &folder).await;
        // The kubelet mounts it beside the config.
        for file in ["aws-token", "google-token"] {
            fs::write(folder.path(file), IDENTITY).unwrap();
        }
        fs::write(folder.path("azure-token"), azure_token).unwrap();
        fs::write(folder.path("alibaba-token"), alibaba::OIDC_TOKEN).unwrap();
        joins::<V>(cluster, &folder, cloud, Differences { machine, arguments: with_a_cache, ..differences() }).await;
        leave(cluster, &folder).await;
    }
}

pub(crate) fn with_a_cache(folder: &Folder, arguments: Vec<String>) -> Vec<String> {
    let cache = folder.path("cache").display().to_string();
    arguments.into_iter().map(|it| it.replace("/var/cache", &cache)).collect()
}

/// The registry is on loopback, and has an authority of its own.
pub(crate) fn from_loopback(folder: &Folder, config: &mut Value) {
    let oci = &mut config["provider"]["module"]["oci"];
    oci["addresses"] = json!(["127.0.0.0/8"]);
    oci["tls"] = json!({ "caFile": folder.path("registry-ca.pem") });
}

/// Deletes what a reset of the cluster leaves.
async fn leave(cluster: &Cluster, folder: &Folder) {
    let all = "kubectl -n kube-system delete deployment/aerostat pdb/aerostat configmap/aerostat configmap/ingress-uid --ignore-not-found
               kubectl -n kube-system delete secret -l owner=helm";
    for script in [all, WITHOUT_WARNING] {
        let said = folder.run(cluster, script, "");
        assert!(said.success, "{said:#?}");
    }
    let secrets: Api<Secret> = Api::namespaced(cluster.admin.clone(), "kube-system");
    // At AWS there is none.
    let _gone = secrets.delete("aerostat", &DeleteParams::default()).await;
}

/// Cases: manifests
#[tokio::test]
async fn digitalocean_is_installed_from_a_registry() {
    let cloud = DigitalOcean::start(Behaviour::default()).await.unwrap();
    cloud.set_token(TOKEN);
    play::<DigitalOcean>(&cluster().await, "digitalocean", &cloud, "", at_loopback).await;
}

/// Cases: manifests
#[tokio::test]
async fn hetzner_is_installed_from_a_registry() {
    let cloud = Hetzner::start(Behaviour::default()).await.unwrap();
    cloud.set_token(TOKEN);
    play::<Hetzner>(&cluster().await, "hetzner", &cloud, "", at_loopback).await;
}

fn at_loopback() -> Differences {
    Differences { config: Box::new(|folder, _, config| from_loopback(folder, config)), ..Differences::default() }
}

/// Cases: manifests
#[tokio::test]
async fn aws_is_installed_from_a_registry() {
    let cloud = Aws::start(Behaviour::default()).await.unwrap();
    let cluster = cluster().await;
    let (vpc, region) = (aws::settings(&cloud)["vpc"].clone(), moto::REGION);
    let words = format!("REGION={region} VPC={} CLUSTER_ID={CLUSTER}", vpc.as_str().unwrap());
    let role = role_of_aws(&cluster, &cloud, &words).await;
    cloud.moto().order("token", &json!({ "token": IDENTITY, "role": role }));
    let words = format!("{words} ROLE_ARN={role}");
    let differences = || Differences {
        config: Box::new(|folder, url, config| {
            from_loopback(folder, config);
            let tls = config["endpoints"][0]["tls"].clone();
            config["credentials"][0]["sigv4"]["sts"] =
                json!({ "baseUrl": url, "tls": tls, "addresses": ["127.0.0.0/8"] });
        }),
        ..Differences::default()
    };
    play::<Aws>(&cluster, "aws", &cloud, &words, differences).await;
}

/// Cases: manifests
#[tokio::test]
async fn google_cloud_is_installed_from_a_registry() {
    let cloud = GoogleCloud::start(Behaviour::default()).await.unwrap();
    cloud.accounts().trust(IDENTITY, POOL_PROVIDER);
    let words = format!("PROJECT={PROJECT} REGION={REGION} POOL_PROVIDER={POOL_PROVIDER}");
    let differences = || Differences {
        config: Box::new(|folder, url, config| {
            from_loopback(folder, config);
            trusted(folder, url, config);
            let file = folder.path("google-federation.json");
            let mut federation: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            federation["token_url"] = json!(format!("{url}/v1/token"));
            fs::write(&file, federation.to_string()).unwrap();
        }),
        ..Differences::default()
    };
    play::<GoogleCloud>(&cluster().await, "gcp", &cloud, &words, differences).await;
}

/// Cases: manifests
#[tokio::test]
async fn azure_is_installed_from_a_registry() {
    let cloud = AzureCloud::start(Behaviour::default()).await.unwrap();
    let token = azure_page::projected(&cloud);
    let differences = || Differences {
        config: Box::new(|folder, url, config| {
            from_loopback(folder, config);
            azure_page::at_authority(folder, url, config);
        }),
        ..Differences::default()
    };
    play_with::<AzureCloud>(&cluster().await, "azure", &cloud, &azure_page::words(), differences, &token).await;
}

/// Cases: manifests
#[tokio::test]
async fn alibaba_cloud_is_installed_from_a_registry() {
    let Served { url, simulator: cloud } = served::alibaba::serve(0, Some(Duration::ZERO)).await.unwrap();
    let words = format!(
        "REGION={} VPC={} ROLE_ARN={} PROVIDER_ARN={}",
        alibaba::REGION,
        alibaba::VPC,
        alibaba::ROLE,
        alibaba::PROVIDER
    );
    let differences = || {
        let sts = url.clone();
        let config: ConfigChange = Box::new(move |folder, _, config| {
            from_loopback(folder, config);
            at_sts(&sts, config);
        });
        Differences { config, ..Differences::default() }
    };
    play::<AlibabaCloud>(&cluster().await, "alibaba", &cloud, &words, differences).await;
    cloud.assert_valid();
}

/// Cases: manifests
#[tokio::test]
async fn ibm_cloud_is_installed_from_a_registry() {
    let cloud = IbmCloud::start(Behaviour::default()).await.unwrap();
    let words = format!(
        "ACCOUNT={} CLUSTER_ID={} VPC={} SUBNETS='sub-10\\,sub-20' REGION={}",
        ibm::ACCOUNT,
        ibm::CLUSTER,
        ibm::VPC,
        ibm::REGION
    );
    let differences = || Differences {
        config: Box::new(|folder, url, config| {
            from_loopback(folder, config);
            at_iam(url, config);
        }),
        ..Differences::default()
    };
    play::<IbmCloud>(&cluster().await, "ibm", &cloud, &words, differences).await;
}

/// Cases: manifests
#[tokio::test]
async fn openstack_is_installed_from_a_registry() {
    let cloud = OpenStack::start(Behaviour::default()).await.unwrap();
    let words = format!(
        "KEYSTONE=https://keystone.cloud.test:5000 NOVA=https://nova.cloud.test NEUTRON=https://neutron.cloud.test
         OCTAVIA=https://octavia.cloud.test REGION={}\n{}",
        tests::clouds::openstack::REGION,
        credential_of_openstack()
    );
    let differences = || Differences {
        config: Box::new(|folder, url, config| {
            from_loopback(folder, config);
            let tls = config["endpoints"][0]["tls"].clone();
            for endpoint in config["endpoints"].as_array_mut().unwrap() {
                endpoint.as_object_mut().unwrap().remove("baseUrl");
                endpoint["origins"] = json!([url]);
            }
            let keystone = &mut config["credentials"][0]["keystone"];
            (keystone["baseUrl"], keystone["tls"]) = (json!(format!("{url}/identity/v3")), tls);
        }),
        ..Differences::default()
    };
    play::<OpenStack>(&cluster().await, "openstack", &cloud, &words, differences).await;
}
