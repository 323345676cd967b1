//! The chart, as Helm packs it and as registries hold it, with the digests of its release.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use oci::{Descriptor, Layout, NewManifest};
use serde_json::Value;

use crate::archive::{ArchivedFile, gzip, tar};

const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const CONTENT: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A chart.
pub(crate) struct Chart {
    pub(crate) name: String,
    /// The whole folder below the chart's name, compressed.
    pub(crate) tgz: Vec<u8>,
    /// `Chart.yaml`, as JSON.
    metadata: Vec<u8>,
}

impl Chart {
    /// Reads the folder of a chart of this version, and writes these digests into its values: `sha256:…` by the name below `digests`.
    pub(crate) fn read(folder: &Path, version: &str, digests: &BTreeMap<String, String>) -> Result<Self> {
        let path = folder.join("Chart.yaml");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let metadata: Value =
            serde_saphyr::from_str(&text).with_context(|| format!("{} is no YAML", path.display()))?;
        let word = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let name = word("name");
        for key in ["version", "appVersion"] {
            let found = word(key);
            if found != version {
                bail!("{} has the {key} {found:?}, and this is release {version}; correct it", path.display());
            }
        }
        let mut files = BTreeMap::new();
        collect(folder, &name, &mut files)?;
        let values = files.get_mut(&format!("{name}/values.yaml")).context("the chart has no values.yaml")?;
        values.bytes = filled(std::str::from_utf8(&values.bytes)?, digests)?.into_bytes();
        Ok(Self { tgz: gzip(&tar(&files, false)?)?, metadata: serde_json::to_vec(&metadata)?, name })
    }

    /// Adds the chart.
    pub(crate) fn add(&self, layout: &mut Layout, annotations: BTreeMap<String, String>) -> Descriptor {
        let manifest = NewManifest {
            artifact_type: None,
            config: layout.add_blob(CONFIG, self.metadata.clone()),
            layers: vec![layout.add_blob(CONTENT, self.tgz.clone())],
            subject: None,
            annotations,
        };
        layout.add_manifest(&manifest)
    }
}

/// The values, with a digest in each place below `digests` whose artifact is in the release. Comments and order stay.
fn filled(values: &str, digests: &BTreeMap<String, String>) -> Result<String> {
    let (mut text, mut places, mut is_inside) = (String::new(), Vec::new(), false);
    for line in values.lines() {
        let name = line.strip_prefix("  ").and_then(|it| it.strip_suffix(": \"\"")).filter(|_| is_inside);
        match name.and_then(|it| digests.get_key_value(it)) {
            Some((name, digest)) => {
                places.push(name);
                text += &format!("  {name}: \"{digest}\"\n");
            }
            None => text += &format!("{line}\n"),
        }
        is_inside = line == "digests:" || (is_inside && line.starts_with(' '));
    }
    if let Some(missing) = digests.keys().find(|it| !places.contains(it)) {
        bail!("values.yaml has no place for the digest of {missing}; add {missing}: \"\" below digests");
    }
    Ok(text)
}

/// All files of a folder, by their paths below `prefix`.
fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, ArchivedFile>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot look into {}", folder.display()))? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &path, files)?;
        } else if kind.is_file() {
            files.insert(path, ArchivedFile { mode: 0o644, bytes: std::fs::read(entry.path())? });
        } else {
            bail!("{path} is neither a file nor a folder; a chart has nothing else");
        }
    }
    Ok(())
}
