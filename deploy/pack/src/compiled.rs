//! A release as it was compiled.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use oci::LayoutName;

/// A release that was compiled and is to be packed.
pub struct CompiledRelease {
    /// Its version.
    pub version: String,
    /// The architectures, as images call them.
    pub architectures: Vec<String>,
    /// The commit that was compiled.
    pub commit: Option<String>,
    /// Where the sources are, for people.
    pub source: Option<String>,
    /// The lock file that was compiled with.
    pub lock: PathBuf,
    /// The folder of the chart.
    pub chart: Option<PathBuf>,
    /// The folder of the manifests, with `install-MODULE.yaml` for each module.
    pub manifests: Option<PathBuf>,
    /// The folder of the contract.
    pub contract: Option<PathBuf>,
    /// Where the compiled files are.
    pub folder: PathBuf,
}

impl CompiledRelease {
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(name);
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    pub(crate) fn name(&self, repository: &str) -> Result<LayoutName> {
        LayoutName::parse(&format!("{repository}:{}", self.version)).map_err(anyhow::Error::msg)
    }

    /// The words that every artifact has.
    pub(crate) fn annotations(&self, title: &str) -> BTreeMap<String, String> {
        let mut words = vec![
            ("title", title.to_owned()),
            ("version", self.version.clone()),
            ("licenses", env!("CARGO_PKG_LICENSE").to_owned()),
        ];
        words.extend(self.commit.clone().map(|it| ("revision", it)));
        words.extend(self.source.clone().map(|it| ("source", it)));
        words.into_iter().map(|(key, value)| (format!("org.opencontainers.image.{key}"), value)).collect()
    }
}
