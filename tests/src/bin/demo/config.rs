//! The configuration of aerostat: the config of `deploy/`, for the cloud that the demo simulates.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::aerostat::Aerostat;
use tests::control_plane::{ControlPlane, apply_roles};
use tests::guests;
use tests::simulator::Simulator;

use crate::vendor::Shown;

/// In the place of the defaults, with which the demo would take minutes.
const FAST: [&str; 3] = ["--node-monitor-period=1s", "--node-deletion-warm-up=0s", "--node-deletion-grace-period=0s"];

/// The key of modules in ConfigMaps.
const KEY: &str = "provider.wasm";

/// Puts a module into the ConfigMap, in the place of what was there.
pub(crate) async fn publish<V: Shown>(admin: &Client, path: &str) -> Result<()> {
    let config_map = ConfigMap {
        metadata: ObjectMeta { name: Some(V::CONFIG_MAP.to_owned()), ..ObjectMeta::default() },
        binary_data: Some([(KEY.to_owned(), ByteString(fs::read(path)?))].into()),
        ..ConfigMap::default()
    };
    let config_maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "kube-system");
    config_maps.patch(V::CONFIG_MAP, &PatchParams::apply("demo").force(), &Patch::Apply(config_map)).await?;
    Ok(())
}

/// The keys of a cloud configuration in the ConfigMap about a provider. `further` are those beside the module.
pub(crate) fn provider<V: Shown>(path: &str, further: Value) -> Value {
    let mut provider = further;
    provider["module"] = json!({ "configMap": { "name": V::CONFIG_MAP, "key": KEY, "sha256": guests::sha256(path) } });
    provider
}

/// The keys about the provider that is shown.
pub(crate) fn shown<V: Shown>(cloud: &Simulator<V::Cloud>) -> Value {
    provider::<V>(V::MODULE, V::provider(cloud))
}

/// Writes the shipped `cloud.yaml` with another provider, cloud and credential. `endpoint` is how the provider calls the
/// cloud's API, if not as the file does: the first, if there are several.
pub(crate) fn write<V: Shown>(
    folder: &Path,
    cloud: &Simulator<V::Cloud>,
    provider: &Value,
    endpoint: Option<&str>,
) -> Result<PathBuf> {
    let manifest: ConfigMap = serde_saphyr::from_str(V::MANIFEST)?;
    let text = manifest.data.as_ref().and_then(|it| it.get("cloud.yaml")).context("config.yaml holds no cloud.yaml")?;
    let mut config: Value = serde_saphyr::from_str(text)?;
    config["provider"] = provider.clone();
    V::lead(&mut config, cloud, folder)?;
    if let Some(name) = endpoint {
        config["endpoints"][0]["name"] = json!(name);
    }
    // Every JSON document is a YAML document.
    let path = folder.join("cloud.yaml");
    fs::write(&path, serde_json::to_string_pretty(&config)?)?;
    Ok(path)
}

/// Starts aerostat, with these flags beside those of the demo and of the cloud.
pub(crate) fn start<V: Shown>(kubeconfig: &Path, config: &Path, further: &[&str]) -> Result<Aerostat> {
    let files = [format!("--kubeconfig={}", kubeconfig.display()), format!("--cloud-config={}", config.display())];
    let flags = V::FLAGS.iter().copied().chain(FAST).chain(["--secure-port=0"]).chain(further.iter().copied());
    Aerostat::start(files.iter().map(String::as_str).chain(flags))
}

/// The kubeconfig of the ServiceAccount with the roles that the cloud's page applies, which may read the ConfigMap that the configuration names.
pub(crate) async fn kubeconfig<V: Shown>(control_plane: &ControlPlane, admin: &Client) -> Result<PathBuf> {
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    apply_roles(admin, V::PAGE).await?;
    let roles: Api<Role> = Api::namespaced(admin.clone(), "kube-system");
    let mut role = roles.get("cloud-controller-manager").await?;
    let of_config_maps = |it: &&mut PolicyRule| it.resources.iter().flatten().any(|it| it == "configmaps");
    let rule = role.rules.iter_mut().flatten().find(of_config_maps).context("rbac.yaml lets it read no ConfigMap")?;
    rule.resource_names = Some(vec![V::CONFIG_MAP.to_owned()]);
    roles.replace("cloud-controller-manager", &PostParams::default(), &role).await?;
    Ok(kubeconfig)
}
