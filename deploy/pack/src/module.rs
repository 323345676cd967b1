//! A module, and the description of it by `aerostat module inspect --output=json`.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use oci::PushedInterfaces;
use serde::Deserialize;
use sha256::Digest;

/// A part of what `aerostat module inspect` says.
#[derive(Deserialize)]
pub(crate) struct ModuleDescription {
    module: DescribedBytes,
    provider: DescribedProvider,
    endpoints: Vec<DescribedEndpoint>,
}

#[derive(Deserialize)]
struct DescribedBytes {
    sha256: String,
    interfaces: DescribedInterfaces,
}

#[derive(Deserialize)]
struct DescribedInterfaces {
    exports: Vec<String>,
    imports: Vec<String>,
}

#[derive(Deserialize)]
struct DescribedProvider {
    version: String,
    contract: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DescribedEndpoint {
    name: String,
    example_base_url: String,
}

impl ModuleDescription {
    /// Refuses the description of another module.
    pub(crate) fn check(&self, name: &str, module: &[u8]) -> Result<()> {
        if self.module.sha256 != Digest::of(module).to_string() {
            bail!("{name}.module.json describes another module than {name}.wasm; inspect it again");
        }
        Ok(())
    }

    pub(crate) fn interfaces(&self) -> PushedInterfaces {
        let DescribedInterfaces { exports, imports } = &self.module.interfaces;
        PushedInterfaces { exports: exports.clone(), imports: imports.clone() }
    }

    /// Its words for people and programs: the contract that it was built for, and the endpoints that it needs.
    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        let endpoints = self.endpoints.iter().map(|it| format!("{}={}", it.name, it.example_base_url));
        BTreeMap::from([
            ("dev.aerostat.contract".to_owned(), self.provider.contract.clone()),
            ("dev.aerostat.endpoints".to_owned(), endpoints.collect::<Vec<_>>().join(" ")),
            ("dev.aerostat.provider-version".to_owned(), self.provider.version.clone()),
        ])
    }
}
