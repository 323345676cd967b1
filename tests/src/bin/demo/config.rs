//! The configuration of aerostat: the config of `deploy/`, for the cloud that the demo simulates.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use tests::aerostat::Aerostat;
use tests::guests;
use tests::simulator::Simulator;
use tests::vendor::manifest;

use crate::ground::Ground;
use crate::vendor::{DiskRelease, Shown};

/// In the place of the defaults, with which the demo would take minutes.
const FAST: [&str; 3] = ["--node-monitor-period=1s", "--node-deletion-warm-up=0s", "--node-deletion-grace-period=0s"];

/// A free port for `/healthz`.
const ANY_PORT: &str = "--secure-port=0";
/// The controllers of volumes, which run only where they are named.
const OF_VOLUMES: &str = "--controllers=*,volume-provisioner,volume-attacher";
/// The setting of a provider that works on volumes of claims.
const VOLUMES: &str = "volumes";

/// The key of modules in ConfigMaps.
const KEY: &str = "provider.wasm";

/// Puts a module into the ConfigMap, in the place of what was there.
pub(crate) async fn publish<V: Shown>(ground: &Ground, path: &str) -> Result<()> {
    let config_map = ConfigMap {
        metadata: ObjectMeta { name: Some(V::CONFIG_MAP.to_owned()), ..ObjectMeta::default() },
        binary_data: Some([(KEY.to_owned(), ByteString(fs::read(path)?))].into()),
        ..ConfigMap::default()
    };
    let config_maps: Api<ConfigMap> = Api::namespaced(ground.admin.clone(), ground.namespace());
    config_maps.patch(V::CONFIG_MAP, &PatchParams::apply("demo").force(), &Patch::Apply(config_map)).await?;
    Ok(())
}

/// The keys of a cloud configuration in the ConfigMap about a provider. `further` are those beside the module.
pub(crate) fn provider<V: Shown>(ground: &Ground, path: &str, further: Value) -> Value {
    let mut provider = further;
    provider["module"] = json!({ "configMap": ground.config_map(V::CONFIG_MAP, KEY, &guests::sha256(path)) });
    provider
}

/// The keys about the provider that is shown.
pub(crate) fn shown<V: Shown>(ground: &Ground, cloud: &Simulator<V::Cloud>) -> Value {
    let mut provider = provider::<V>(ground, V::MODULE, V::provider(cloud));
    if makes_volumes::<V>(ground) {
        provider["settings"][VOLUMES] = json!("true");
    }
    provider
}

/// Whether the provider that is shown makes the volumes of claims itself.
fn makes_volumes<V: Shown>(ground: &Ground) -> bool {
    ground.volumes::<V>().is_some_and(|it| it.page().is_some())
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
    let page = V::VOLUMES.and_then(|it| it.page());
    if let Some(page) = page.filter(|_| provider["settings"][VOLUMES] == "true") {
        let shipped = config["endpoints"][0]["allow"].as_array_mut().context("config.yaml has no rules")?;
        let further: Vec<_> = manifest::volume_rules(page).into_iter().filter(|it| !shipped.contains(it)).collect();
        shipped.extend(further);
    }
    V::lead(&mut config, cloud, folder)?;
    if let Some(name) = endpoint {
        config["endpoints"][0]["name"] = json!(name);
    }
    saved(folder, &config)
}

/// Writes the shipped `cloud.yaml` of a release that makes disks, for the cloud and the settings that the provider of the cloud has, with its
/// module in a file. It lies in a folder of its own, with the credential.
pub(crate) fn write_beside<V: Shown>(
    folder: &Path,
    cloud: &Simulator<V::Cloud>,
    release: &DiskRelease,
) -> Result<PathBuf> {
    let folder = folder.join(release.provider);
    fs::create_dir_all(&folder)?;
    let mut config = manifest::installed_config(release.manifests);
    let known = V::provider(cloud)["settings"].take();
    for (name, value) in config["provider"]["settings"].as_object_mut().into_iter().flatten() {
        *value = known.get(name).with_context(|| format!("{} has no setting {name}", V::CONFIG_MAP))?.clone();
    }
    let module = json!({ "path": release.module, "sha256": guests::sha256(release.module) });
    config["provider"]["module"] = json!({ "file": module });
    V::lead_beside(&mut config, cloud, &folder)?;
    saved(&folder, &config)
}

/// Every JSON document is a YAML document.
fn saved(folder: &Path, config: &Value) -> Result<PathBuf> {
    let path = folder.join("cloud.yaml");
    fs::write(&path, serde_json::to_string_pretty(config)?)?;
    Ok(path)
}

/// Starts aerostat for the provider that is shown.
pub(crate) fn start_shown<V: Shown>(ground: &Ground, config: &Path) -> Result<Aerostat> {
    start::<V>(ground, config, if makes_volumes::<V>(ground) { &[OF_VOLUMES] } else { &[] })
}

/// Starts the aerostat of a release that makes disks, with the controllers and the Lease of its file in `deploy/`.
pub(crate) fn start_beside(release: &DiskRelease, kubeconfig: &Path, config: &Path) -> Result<Aerostat> {
    let mut flags = manifest::own_flags(release.manifests);
    flags.push(format!("--kubeconfig={}", kubeconfig.display()));
    flags.push(format!("--cloud-config={}", config.display()));
    flags.push(ANY_PORT.to_owned());
    Aerostat::start(flags)
}

/// Starts aerostat, with these flags beside those of the demo, of the cloud and of the cluster.
pub(crate) fn start<V: Shown>(ground: &Ground, config: &Path, further: &[&str]) -> Result<Aerostat> {
    let mut own = ground.flags();
    own.push(format!("--kubeconfig={}", ground.kubeconfig.display()));
    own.push(format!("--cloud-config={}", config.display()));
    let flags = V::FLAGS.iter().copied().chain(FAST).chain([ANY_PORT]).chain(further.iter().copied());
    Aerostat::start(own.iter().map(String::as_str).chain(flags))
}
