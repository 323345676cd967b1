//! The last steps: a cloud drops a field of its API, and its modules follow without a restart.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams};
use serde_json::json;
use tests::control_plane::ControlPlane;
use tests::{guests, kubelet, versioned};

use crate::screen::Colour;
use crate::stage::Stage;
use crate::vendor::Shown;
use crate::{config, hostile};

/// How often `cloud.yaml` is looked at for another module: sooner than people need it.
const LOOK: &str = "--module-look=1s";

/// The node of a machine with the field, and that of one without.
const OLDER: &str = "older-1";
const NEWER: &str = "newer-1";
/// The nodes that join while a version crashes, so that it crashes often enough.
const LATER: [&str; 6] = ["later-1", "later-2", "later-3", "later-4", "later-5", "later-6"];

/// A small cloud, and the `cloud.yaml` that names a version of its provider.
struct Versions {
    cloud: versioned::Cloud,
    /// The account on aerostat's Lease. A provider of any other would be refused.
    account: String,
    folder: PathBuf,
}

impl Versions {
    async fn new(folder: &Path, account: String) -> Result<Self> {
        let folder = folder.join("versions");
        fs::create_dir_all(&folder)?;
        Ok(Self { cloud: versioned::Cloud::start().await, account, folder })
    }

    /// Puts the version with these words into the ConfigMap and its digest into `cloud.yaml`, and returns the digest's beginning.
    async fn serve<V: Shown>(&self, admin: &Client, version: &str, words: &str) -> Result<String> {
        let module = self.folder.join(format!("{version}.wasm"));
        fs::write(&module, versioned::version(&format!("version={version} {words} account={}", self.account)))?;
        let module = module.to_str().context("the folder's name is no text")?;
        config::publish::<V>(admin, module).await?;
        let config = json!({
            "apiVersion": "aerostat.dev/v1alpha1",
            "kind": "CloudConfig",
            "provider": config::provider::<V>(module, json!({})),
            "endpoints": [self.cloud.endpoint()],
        });
        // Every JSON document is a YAML document. The file is renamed, so that aerostat reads no half of it.
        let next = self.folder.join("next.yaml");
        fs::write(&next, serde_json::to_string_pretty(&config)?)?;
        fs::rename(next, self.config())?;
        Ok(guests::sha256(module)[..12].to_owned())
    }

    fn config(&self) -> PathBuf {
        self.folder.join("cloud.yaml")
    }
}

/// The old module fails on one node, another heals it, and one that crashes is rolled back.
pub(crate) async fn show<V: Shown>(
    mut stage: Stage<V>,
    control_plane: &ControlPlane,
    admin: &Client,
) -> Result<Stage<V>> {
    hostile::leave::<V>(admin).await?;
    let versions = Versions::new(control_plane.folder(), hostile::account(admin).await?).await?;

    stage
        .screen
        .step("A cloud drops a field of its API, and a module needs it: it crashes over the machine without")?;
    let kubeconfig = config::kubeconfig::<V>(control_plane, admin).await?;
    versions.serve::<V>(admin, "1.0.0", "fragile").await?;
    let mut stage = stage.restart(|| config::start::<V>(&kubeconfig, &versions.config(), &[LOOK])).await?;
    versions.cloud.add_machine(OLDER);
    kubelet::join(admin, OLDER).await?;
    stage.until("the older node", |it| it.nodes.is_initialised(OLDER)).await?;
    versions.cloud.add_new_machine(NEWER);
    kubelet::join(admin, NEWER).await?;
    stage.until("the crash", |it| it.events.count("ProviderCrashed") > 0).await?;
    stage.screen.note("A crash ends one call. The process goes on, and so does the node that was there before.")?;

    stage.screen.step("Another digest in cloud.yaml, and no restart: the node is healed")?;
    let digest = versions.serve::<V>(admin, "1.1.0", "").await?;
    stage.screen.happened(
        Colour::Bold,
        "operator",
        &format!("sets provider.module to sha256 {digest}…, version 1.1.0"),
    )?;
    stage.until("the healed node", |it| it.nodes.is_initialised(NEWER) && it.events.count("ModuleSwapped") > 0).await?;
    stage.screen.note(&format!(
        "Healed after {:.1} s (the file is looked at every second here, usually every ten).",
        stage.screen.elapsed()
    ))?;

    stage.screen.step("A version that needs the field again crashes, and is taken back")?;
    let digest = versions.serve::<V>(admin, "1.2.0", "fragile").await?;
    stage.screen.happened(
        Colour::Bold,
        "operator",
        &format!("sets provider.module to sha256 {digest}…, version 1.2.0"),
    )?;
    stage.until("the bad version", |it| it.events.count("ModuleSwapped") > 1).await?;
    // The older machines lose the field, too.
    versions.cloud.becomes_new();
    for name in LATER {
        versions.cloud.add_new_machine(name);
        kubelet::join(admin, name).await?;
    }
    let healed = |it: &Stage<V>| LATER.iter().all(|name| it.nodes.is_initialised(name));
    stage.until("the version before", |it| healed(it) && it.events.count("ModuleRolledBack") > 0).await?;
    stage
        .screen
        .note("No replica runs the bad digest again, until somebody removes the Lease's annotation that names it.")?;
    leave(admin).await?;
    Ok(stage)
}

/// Deletes the nodes of these steps.
async fn leave(admin: &Client) -> Result<()> {
    let nodes: Api<Node> = Api::all(admin.clone());
    for name in LATER.iter().chain(&[OLDER, NEWER]) {
        nodes.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
