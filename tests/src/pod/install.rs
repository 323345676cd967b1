//! An installation of the chart, by helm, as its page has it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::site::Site;
use crate::control_plane::{helm, kubectl};

/// The name of the release that helm installs.
const NAME: &str = "aerostat";

/// aerostat, as helm has installed it.
pub struct Installation<'a> {
    site: &'a Site,
}

impl<'a> Installation<'a> {
    /// Stores the token, and lets helm install the chart. Nobody waits for Pods.
    ///
    /// # Errors
    ///
    /// Fails with what helm or the API server says.
    pub async fn new(site: &'a Site) -> Result<Self> {
        let installation = Self { site };
        installation.store_token().await?;
        let first = site.folder.write("values.json", values(site)?.to_string());
        // The rules are those of the chart, for a cloud that is elsewhere.
        let rendered = installation.helm(&["template", NAME, &chart(site), "--values", &text(&first)])?;
        let mut values = values(site)?;
        values["config"]["endpoints"] = endpoints(&rendered, site)?;
        let file = site.folder.write("values.json", values.to_string());
        installation.helm(&["install", NAME, &chart(site), "--values", &text(&file)])?;
        Ok(installation)
    }

    /// Upgrades it with one value more, as in `podAnnotations.example=one`.
    ///
    /// # Errors
    ///
    /// Fails with what helm says.
    pub fn upgrade(&self, set: &str) -> Result<String> {
        self.helm(&["upgrade", NAME, &chart(self.site), "--reset-then-reuse-values", "--set", set])
    }

    /// Removes it, and waits until its objects are gone.
    ///
    /// # Errors
    ///
    /// Fails with what helm says.
    pub fn uninstall(&self) -> Result<String> {
        self.helm(&["uninstall", NAME, "--wait"])
    }

    /// Runs kubectl. Returns what it prints.
    ///
    /// # Errors
    ///
    /// Fails with what it says where it does not succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        run(Command::new(kubectl()?).args(arguments), self.site)
    }

    fn helm(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(helm("helm")?);
        for (name, folder) in
            [("HELM_CACHE_HOME", "helm-cache"), ("HELM_CONFIG_HOME", "helm-config"), ("HELM_DATA_HOME", "helm-data")]
        {
            command.env(name, self.site.folder.path(folder));
        }
        run(command.args(["--namespace", "kube-system"]).args(arguments), self.site)
    }

    async fn store_token(&self) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.site.admin.clone(), "kube-system");
        let secret = json!({ "metadata": { "name": NAME }, "stringData": {
            "token": format!("{}\n", self.site.cloud.token),
            "token.origins": format!("{}\n", self.site.cloud.base_url()),
            // Beside the token, the file that tls.caFile names.
            "cloud-ca.pem": std::fs::read_to_string(self.site.cloud.ca_file())?,
        } });
        secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
        Ok(())
    }
}

fn run(command: &mut Command, site: &Site) -> Result<String> {
    let output = command.env("KUBECONFIG", site.control_plane.admin_kubeconfig()).output()?;
    if !output.status.success() {
        let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        bail!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn chart(site: &Site) -> String {
    text(&site.release.chart)
}

/// The values of a person who has a private registry on loopback, and no kube-proxy yet.
fn values(site: &Site) -> Result<Value> {
    Ok(json!({
        "provider": "digitalocean",
        "registry": site.release.place,
        "digests": { "image": site.release.image, "digitalocean": site.release.module },
        "module": { "oci": {
            "addresses": ["127.0.0.0/8"],
            "ca": std::fs::read_to_string(site.registry.ca_file())?,
        } },
        "apiServer": site.control_plane.url().trim_start_matches("https://"),
    }))
}

/// The endpoints of the rendered config, at the simulated cloud.
fn endpoints(rendered: &str, site: &Site) -> Result<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(rendered).context("helm renders YAML")?;
    let config = objects.iter().find_map(|it| it["data"]["cloud.yaml"].as_str()).context("the chart has a config")?;
    let mut config: Value = serde_saphyr::from_str(config)?;
    let endpoint = config["endpoints"].get_mut(0).context("the config has an endpoint")?;
    endpoint["baseUrl"] = json!(site.cloud.base_url());
    endpoint["tls"] = json!({ "caFile": "/etc/aerostat/cloud-ca.pem" });
    Ok(config["endpoints"].take())
}
