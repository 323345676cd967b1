//! A module as registries store it.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The repository of most tests.
pub const REPOSITORY: &str = "acme/provider";

/// A manifest and its two blobs.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The manifest's bytes.
    pub manifest: Vec<u8>,
    /// The module.
    pub module: Vec<u8>,
}

/// The content of a config that says nothing.
const CONFIG: &[u8] = b"{}";

impl Artifact {
    /// A module in the form of the CNCF.
    #[must_use]
    pub fn new(module: &[u8]) -> Self {
        Self::edited(module, |_| ())
    }

    /// With another manifest.
    #[must_use]
    pub fn edited(module: &[u8], change: impl FnOnce(&mut Value)) -> Self {
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("application/vnd.wasm.config.v0+json", CONFIG),
            "layers": [descriptor("application/wasm", module)],
        });
        change(&mut manifest);
        Self { manifest: manifest.to_string().into_bytes(), module: module.to_vec() }
    }

    /// The manifest's digest in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        hex_of(&self.manifest)
    }

    /// Config and module.
    #[must_use]
    pub fn blobs(&self) -> Vec<Vec<u8>> {
        vec![CONFIG.to_vec(), self.module.clone()]
    }

    /// A referrer of `subject`, with one blob.
    #[must_use]
    pub fn referrer(subject: &str, media_type: &str, blob: &[u8]) -> Self {
        Self::edited(blob, |manifest| {
            manifest["artifactType"] = json!(media_type);
            manifest["config"] = descriptor("application/vnd.oci.empty.v1+json", CONFIG);
            manifest["layers"][0]["mediaType"] = json!(media_type);
            manifest["subject"] = json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "size": 7,
                "digest": format!("sha256:{subject}"),
            });
        })
    }

    /// How an index names the manifest.
    #[must_use]
    pub fn entry(&self) -> Value {
        let manifest: Value = serde_json::from_slice(&self.manifest).expect("a manifest is JSON");
        let mut entry = descriptor("application/vnd.oci.image.manifest.v1+json", &self.manifest);
        entry["artifactType"] = manifest["artifactType"].clone();
        entry
    }
}

/// The operator's `provider.module` for the manifest with this digest, in the registry at this address.
#[must_use]
pub fn provider_module(address: &str, ca_file: &Path, digest: &str) -> Value {
    let image = format!("{address}/{REPOSITORY}:1.2.0");
    json!({ "oci": { "image": image, "digest": format!("sha256:{digest}"), "tls": { "caFile": ca_file } } })
}

/// How a manifest names a blob.
pub(super) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": format!("sha256:{}", hex_of(bytes)), "size": bytes.len() })
}

pub(super) fn hex_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
