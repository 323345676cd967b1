//! The artifact that is pushed for a module, in the form of the CNCF. Pure: the same module makes the same bytes.

use serde::Serialize;
use sha256::Digest;

use crate::manifest::{MANIFEST, WASM};

/// The type of the config.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// When every module was made, so that its digest does not depend on the clock.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// The imports and exports of a component, by the names of its interfaces.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Interfaces {
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
    component: &'a Interfaces,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushedManifest {
    schema_version: u8,
    media_type: &'static str,
    config: PushedDescriptor,
    layers: [PushedDescriptor; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushedDescriptor {
    media_type: &'static str,
    digest: String,
    size: usize,
}

impl PushedDescriptor {
    fn of(media_type: &'static str, bytes: &[u8]) -> Self {
        Self { media_type, digest: named(Digest::of(bytes)), size: bytes.len() }
    }
}

/// The config and the manifest of a module.
pub(crate) fn pushed(module: &[u8], component: &Interfaces) -> PushedArtifact {
    let config = PushedConfig {
        created: CREATED,
        architecture: "wasm",
        os: "wasip2",
        layer_digests: [named(Digest::of(module))],
        component,
    };
    let config = serde_json::to_vec(&config).expect("texts become JSON");
    let manifest = PushedManifest {
        schema_version: 2,
        media_type: MANIFEST,
        config: PushedDescriptor::of(CONFIG, &config),
        layers: [PushedDescriptor::of(WASM[0], module)],
    };
    let manifest = serde_json::to_vec(&manifest).expect("texts become JSON");
    PushedArtifact { config, manifest }
}

fn named(digest: Digest) -> String {
    format!("sha256:{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    #[test]
    fn a_module_is_pushed_in_the_form_of_the_cncf() {
        let component = Interfaces {
            exports: vec!["aerostat:cloud/provider@0.1.0".to_owned()],
            imports: vec!["aerostat:cloud/http@0.1.0".to_owned()],
        };
        let PushedArtifact { config, manifest } = pushed(b"a module", &component);
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
