//! The last steps: a cloud drops a field of its API, and its modules follow without a restart.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use serde_json::json;
use tests::{guests, versioned};

use crate::ground::Ground;
use crate::names::{self, LATER, NEWER, OLDER};
use crate::screen::Colour;
use crate::stage::Stage;
use crate::vendor::Shown;
use crate::{config, hostile};

/// How often `cloud.yaml` is looked at for another module: sooner than people need it.
const LOOK: &str = "--module-look=1s";

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
    async fn serve<V: Shown>(&self, ground: &Ground, version: &str, words: &str) -> Result<String> {
        let module = self.folder.join(format!("{version}.wasm"));
        // Words have no spaces.
        let account = self.account.replace(' ', "%20");
        fs::write(&module, versioned::version(&format!("version={version} {words} account={account}")))?;
        let module = module.to_str().context("the folder's name is no text")?;
        config::publish::<V>(ground, module).await?;
        let config = json!({
            "apiVersion": "aerostat.dev/v1alpha1",
            "kind": "CloudConfig",
            "provider": config::provider::<V>(ground, module, json!({})),
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
pub(crate) async fn show<V: Shown>(mut stage: Stage<V>, ground: &Ground) -> Result<Stage<V>> {
    hostile::leave::<V>(ground).await?;
    let versions = Versions::new(&ground.folder(), hostile::account(ground).await?).await?;

    stage
        .screen
        .step("A cloud drops a field of its API, and a module needs it: it crashes over the machine without")?;
    versions.serve::<V>(ground, "1.0.0", "fragile").await?;
    let mut stage = stage.restart(|| config::start::<V>(ground, &versions.config(), &[LOOK])).await?;
    versions.cloud.add_machine(OLDER);
    ground.join(OLDER).await?;
    stage.until("the older node", |it| it.nodes.is_initialised(OLDER)).await?;
    versions.cloud.add_new_machine(NEWER);
    ground.join(NEWER).await?;
    stage.until("the crash", |it| it.events.count("ProviderCrashed") > 0).await?;
    stage.screen.note("A crash ends one call. The process goes on, and so does the node that was there before.")?;

    stage.screen.step("Another digest in cloud.yaml, and no restart: the node is healed")?;
    let digest = versions.serve::<V>(ground, "1.1.0", "").await?;
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
    let digest = versions.serve::<V>(ground, "1.2.0", "fragile").await?;
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
        ground.join(name).await?;
    }
    let healed = |it: &Stage<V>| LATER.iter().all(|name| it.nodes.is_initialised(name));
    stage.until("the version before", |it| healed(it) && it.events.count("ModuleRolledBack") > 0).await?;
    stage
        .screen
        .note("No replica runs the bad digest again, until somebody removes the Lease's annotation that names it.")?;
    leave(ground).await?;
    Ok(stage)
}

/// Deletes the nodes of these steps.
async fn leave(ground: &Ground) -> Result<()> {
    let nodes: Api<Node> = Api::all(ground.admin.clone());
    for name in names::of_versions() {
        nodes.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
