//! The configuration of aerostat: the config of `deploy/`, for the cloud of the demo.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use tests::aerostat::Aerostat;
use tests::clouds::digitalocean::Simulator;
use tests::guests;

/// In the place of the defaults, with which the demo would take minutes.
const FAST: [&str; 3] = ["--node-monitor-period=1s", "--node-deletion-warm-up=0s", "--node-deletion-grace-period=0s"];

/// The ConfigMap of the provider that runs: the only one that `deploy/rbac.yaml` lets aerostat read.
const CONFIG_MAP: &str = "digitalocean-provider";
/// The key of modules in ConfigMaps.
const KEY: &str = "provider.wasm";

/// Puts a module into the ConfigMap, in the place of what was there.
pub(crate) async fn publish(admin: &Client, path: &str) -> Result<()> {
    let config_map = ConfigMap {
        metadata: ObjectMeta { name: Some(CONFIG_MAP.to_owned()), ..ObjectMeta::default() },
        binary_data: Some([(KEY.to_owned(), ByteString(fs::read(path)?))].into()),
        ..ConfigMap::default()
    };
    let config_maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "kube-system");
    config_maps.patch(CONFIG_MAP, &PatchParams::apply("demo").force(), &Patch::Apply(config_map)).await?;
    Ok(())
}

/// What a cloud configuration says of a provider.
pub(crate) fn provider(path: &str, settings: &Value) -> Value {
    let module = json!({ "configMap": { "name": CONFIG_MAP, "key": KEY, "sha256": guests::sha256(path) } });
    json!({ "module": module, "settings": settings })
}

/// What it says of the provider that is shown.
pub(crate) fn digitalocean() -> Value {
    let mut provider = provider(guests::DIGITALOCEAN, &json!({ "pollInterval": "1s" }));
    provider["writesAnnotations"] =
        json!(["kubernetes.digitalocean.com/load-balancer-id", "service.beta.kubernetes.io/do-loadbalancer-type"]);
    provider
}

/// Writes `cloud.yaml` of `deploy/config.yaml` with another provider, cloud and token file.
pub(crate) fn write(folder: &Path, cloud: &Simulator, provider: &Value) -> Result<PathBuf> {
    let manifest: ConfigMap = serde_saphyr::from_str(include_str!("../../../../deploy/config.yaml"))?;
    let text = manifest.data.as_ref().and_then(|it| it.get("cloud.yaml")).context("config.yaml holds no cloud.yaml")?;
    let mut config: Value = serde_saphyr::from_str(text)?;
    let token = folder.join("token");
    fs::write(&token, &cloud.token)?;
    config["provider"] = provider.clone();
    config["endpoints"][0]["baseUrl"] = json!(cloud.base_url());
    config["endpoints"][0]["tls"] = json!({ "caFile": cloud.ca_file() });
    config["credentials"][0]["bearer"]["file"] = json!(token);
    // Every JSON document is a YAML document.
    let path = folder.join("cloud.yaml");
    fs::write(&path, serde_json::to_string_pretty(&config)?)?;
    Ok(path)
}

/// Starts aerostat.
pub(crate) fn start(kubeconfig: &Path, config: &Path) -> Result<Aerostat> {
    let flags = [format!("--kubeconfig={}", kubeconfig.display()), format!("--cloud-config={}", config.display())];
    Aerostat::start(flags.iter().map(String::as_str).chain(FAST).chain(["--secure-port=0"]))
}
