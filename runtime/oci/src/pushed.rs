//! Manifests that are made here. Pure: the same artifact makes the same bytes.

use std::collections::BTreeMap;

use serde::Serialize;
use sha256::Digest;

use crate::descriptor::Descriptor;
use crate::manifest::{INDEX, MANIFEST, WASM};

/// The type of a module's config.
pub(crate) const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// When every module was made, so that its digest does not depend on the clock.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// The imports and exports of a component, by the names of its interfaces.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct PushedInterfaces {
    /// `aerostat:cloud/provider@0.1.0`.
    pub exports: Vec<String>,
    /// `aerostat:cloud/http@0.1.0`.
    pub imports: Vec<String>,
}

/// The blobs and the manifest that are pushed beside the module.
pub(crate) struct PushedArtifact {
    pub(crate) config: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushedConfig<'a> {
    created: &'static str,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [String; 1],
    component: &'a PushedInterfaces,
}

/// The manifest of an image, a chart, a module, or of what refers to one of them.
#[derive(Clone, Debug)]
pub struct NewManifest {
    /// The type of an artifact that has no config.
    pub artifact_type: Option<String>,
    /// The config.
    pub config: Descriptor,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
    /// The manifest that it refers to.
    pub subject: Option<Descriptor>,
    /// Words for people and programs.
    pub annotations: BTreeMap<String, String>,
}

impl NewManifest {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { artifact_type, config, layers, subject, annotations } = self;
        let manifest = PushedManifest {
            schema_version: 2,
            media_type: MANIFEST,
            artifact_type: artifact_type.as_deref(),
            config: Some(config),
            layers: Some(layers),
            manifests: None,
            subject: subject.as_ref(),
            annotations,
        };
        serde_json::to_vec(&manifest).expect("texts become JSON")
    }
}

/// The index that names these manifests.
pub(crate) fn index(manifests: &[Descriptor], annotations: &BTreeMap<String, String>) -> Vec<u8> {
    let index = PushedManifest {
        schema_version: 2,
        media_type: INDEX,
        artifact_type: None,
        config: None,
        layers: None,
        manifests: Some(manifests),
        subject: None,
        annotations,
    };
    serde_json::to_vec(&index).expect("texts become JSON")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushedManifest<'a> {
    schema_version: u8,
    media_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a Descriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<&'a [Descriptor]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifests: Option<&'a [Descriptor]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a Descriptor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
}

/// The config and the manifest of a module, in the form of the CNCF.
pub(crate) fn pushed(
    module: &[u8],
    component: &PushedInterfaces,
    annotations: BTreeMap<String, String>,
) -> PushedArtifact {
    let config = PushedConfig {
        created: CREATED,
        architecture: "wasm",
        os: "wasip2",
        layer_digests: [format!("sha256:{}", Digest::of(module))],
        component,
    };
    let config = serde_json::to_vec(&config).expect("texts become JSON");
    let manifest = NewManifest {
        artifact_type: None,
        config: Descriptor::of(CONFIG, &config),
        layers: vec![Descriptor::of(WASM[0], module)],
        subject: None,
        annotations,
    };
    PushedArtifact { config, manifest: manifest.bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    #[test]
    fn a_module_is_pushed_in_the_form_of_the_cncf() {
        let component = PushedInterfaces {
            exports: vec!["aerostat:cloud/provider@0.1.0".to_owned()],
            imports: vec!["aerostat:cloud/http@0.1.0".to_owned()],
        };
        let PushedArtifact { config, manifest } = pushed(b"a module", &component, BTreeMap::new());
        assert_eq!(
            String::from_utf8(config).unwrap(),
            r#"{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":["sha256:f6c0d945dc8a9e01854484f4e9b123945919e553778d4386d1d939451c038a0c"],"component":{"exports":["aerostat:cloud/provider@0.1.0"],"imports":["aerostat:cloud/http@0.1.0"]}}"#
        );
        let (blob, media_type) = manifest::layer(&manifest).unwrap();
        assert_eq!((blob.digest, blob.size, media_type), (Digest::of(b"a module"), 8, "application/wasm"));
        // A digest that changes is another artifact for the same module.
        assert_eq!(
            Digest::of(&manifest).to_string(),
            "6aaa148e7e0cd0fd07db5af64420b12e5697597bf329b3fbb99a076f96aa4f58"
        );
    }
}
