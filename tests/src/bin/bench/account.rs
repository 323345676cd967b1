//! Contenders' access to a simulated cloud.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tests::clouds::digitalocean;
use tests::control_plane::FIRST_PAGE;
use tests::guests;

/// A cloud that contenders can serve.
pub(crate) trait Account {
    /// The token that it accepts.
    fn token(&self) -> &str;

    /// The arguments of the baseline that name the cloud and where it is, but for the token.
    ///
    /// # Errors
    ///
    /// If the baseline does not know this cloud.
    fn arguments(&self) -> Result<Vec<String>>;

    /// The vendor's own manager for this cloud, with what it is told of the cloud. Its files go into `folder`.
    ///
    /// # Errors
    ///
    /// If there is none.
    fn vendor(&self, _folder: &Path) -> Result<Command> {
        bail!("there is no manager of this cloud's vendor")
    }

    /// The page of `deploy/` that an operator of this cloud follows, by its path in that folder.
    fn page(&self) -> &'static str {
        FIRST_PAGE
    }

    /// The flags that the manifests of this cloud give to aerostat beside those that lead it to files and ports.
    ///
    /// # Errors
    ///
    /// If the manifests have others than expected.
    fn shipped_flags(&self) -> Result<Vec<&'static str>> {
        Ok(Vec::new())
    }

    /// Aerostat's config of the provider, its endpoints and the credential, whose file goes into `folder`.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    fn config(&self, folder: &Path) -> Result<Config>;

    /// The credential `token`, whose file goes into `folder`.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    fn bearer(&self, folder: &Path) -> Result<Value> {
        let path = folder.join("token");
        fs::write(&path, self.token())?;
        Ok(json!({ "name": "token", "bearer": { "file": path } }))
    }
}

/// A part of aerostat's config.
pub(crate) struct Config {
    pub(crate) provider: Value,
    pub(crate) endpoints: Vec<Value>,
    pub(crate) credential: Value,
}

impl Account for digitalocean::Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn arguments(&self) -> Result<Vec<String>> {
        Ok(vec![format!("--base-url={}", self.base_url()), format!("--ca-file={}", self.ca_file().display())])
    }

    fn config(&self, folder: &Path) -> Result<Config> {
        Ok(Config {
            provider: json!({
                "module": { "file": { "path": guests::DIGITALOCEAN, "sha256": guests::sha256(guests::DIGITALOCEAN) } },
                "writesAnnotations": [
                    "kubernetes.digitalocean.com/load-balancer-id",
                    "service.beta.kubernetes.io/do-loadbalancer-type",
                ],
            }),
            endpoints: vec![json!({
                "name": "api",
                "baseUrl": self.base_url(),
                "credential": "token",
                "tls": { "caFile": self.ca_file() },
                "allow": [
                    { "methods": ["GET"], "paths": ["/v2/account", "/v2/droplets", "/v2/droplets/*"] },
                    { "methods": ["GET", "POST"], "paths": ["/v2/load_balancers"] },
                    { "methods": ["GET", "PUT", "DELETE"], "paths": ["/v2/load_balancers/*"] },
                    { "methods": ["POST", "DELETE"], "paths": ["/v2/load_balancers/*/droplets"] },
                ],
            })],
            credential: self.bearer(folder)?,
        })
    }
}
