//! The manifest of a module in a registry. Pure: the caller has compared the digest of the bytes.

use serde::Deserialize;

use crate::descriptor::{Blob, Descriptor};
use crate::error::foreign;

/// The largest manifest, and the largest index, in bytes.
pub(crate) const LIMIT: usize = 1 << 20;
/// The largest module, in bytes: as of a file.
pub(crate) const MODULE: usize = 4 << 20;

/// The type of a manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// The type of an index.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// The media types that are asked for: also those that are refused then, so that the refusal can say what it is.
pub(crate) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// A layer that is a module as it stands; the first is what is pushed.
pub(crate) const WASM: [&str; 3] = [
    "application/wasm",
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.module.wasm.content.layer.v1+wasm",
];

/// A manifest, an index, or what wants to be both.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) media_type: Option<String>,
    pub(crate) config: Option<Descriptor>,
    pub(crate) layers: Option<Vec<Descriptor>>,
    pub(crate) manifests: Option<Vec<Descriptor>>,
    pub(crate) subject: Option<Descriptor>,
    pub(crate) artifact_type: Option<String>,
    #[serde(default)]
    pub(crate) annotations: std::collections::BTreeMap<String, String>,
}

/// The module that a manifest names.
///
/// # Errors
///
/// As [`layer`].
pub(crate) fn module(bytes: &[u8]) -> Result<Blob, String> {
    layer(bytes).map(|it| it.0)
}

/// The one layer of the module's manifest, and its type.
///
/// # Errors
///
/// A clause that says what is wrong with the manifest, and what to do.
pub(crate) fn layer(bytes: &[u8]) -> Result<(Blob, &'static str), String> {
    let manifest: Manifest = serde_json::from_slice(bytes).map_err(|error| format!("is no manifest: {error}"))?;
    let names_layers = manifest.layers.is_some() || manifest.config.is_some();
    let is_index = matches!(manifest.media_type.as_deref(), Some(INDEX | DOCKER_LIST));
    if manifest.manifests.is_some() && names_layers {
        return Err("is a manifest and an index at once, so that two readers would load two things".to_owned());
    }
    if manifest.manifests.is_some() || is_index {
        let named: Vec<_> = manifest.manifests.iter().flatten().take(8).map(|it| foreign(&it.digest)).collect();
        let named = named.join(", ");
        return Err(format!("is an index and no manifest; write one of those that it names as digest: {named}"));
    }
    match manifest.media_type.as_deref() {
        None | Some(MANIFEST | DOCKER) => {}
        Some(other) => return Err(format!("is no manifest of an image but {}", foreign(other))),
    }
    let layers = manifest.layers.unwrap_or_default();
    let [layer] = layers.as_slice() else {
        return Err(format!(
            "has {} layers, and a module is one; push it as an artifact with the module alone",
            layers.len()
        ));
    };
    let Some(media_type) = WASM.into_iter().find(|it| *it == layer.media_type) else {
        return Err(format!("has a layer of the type {}, and a module has {}", foreign(&layer.media_type), WASM[0]));
    };
    let blob = layer.blob(MODULE).map_err(|because| match layer.size > MODULE as u64 {
        true => format!("has a module that {because}; build it with opt-level \"s\", lto and strip"),
        false => format!("has a module that {because}"),
    });
    Ok((blob?, media_type))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sha256::Digest;

    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn layer() -> Value {
        json!({ "mediaType": "application/wasm", "digest": format!("sha256:{HEX}"), "size": 7 })
    }

    fn of(change: impl FnOnce(&mut Value)) -> Result<Blob, String> {
        let mut manifest = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": layer(), "layers": [layer()] });
        change(&mut manifest);
        module(manifest.to_string().as_bytes())
    }

    #[track_caller]
    fn check_refused(part: &str, change: impl FnOnce(&mut Value)) {
        let error = of(change).expect_err(part);
        assert!(error.contains(part), "{part}: {error}");
    }

    #[test]
    fn a_module_is_the_one_layer() {
        let blob = Blob { digest: Digest::parse(HEX).unwrap(), size: 7 };
        assert_eq!(of(|_| ()), Ok(blob));
        assert_eq!(of(|it| it["layers"][0]["mediaType"] = json!(WASM[1])), Ok(blob));
        assert_eq!(of(|it| drop(it.as_object_mut().unwrap().remove("mediaType"))), Ok(blob));
    }

    #[test]
    fn everything_else_is_refused() {
        check_refused("has 2 layers", |it| it["layers"] = json!([layer(), layer()]));
        check_refused("has 0 layers", |it| it["layers"] = json!([]));
        check_refused("has 0 layers", |it| drop(it.as_object_mut().unwrap().remove("layers")));
        let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
        check_refused(tar, |it| it["layers"][0]["mediaType"] = json!(tar));
        check_refused("4194304 are the most; build it with", |it| it["layers"][0]["size"] = json!(5 << 20));
        check_refused("has 0 bytes", |it| it["layers"][0]["size"] = json!(0));
        check_refused("is no manifest", |it| it["layers"][0]["size"] = json!(-1));
        check_refused("no sha256", |it| it["layers"][0]["digest"] = json!(format!("sha512:{HEX}{HEX}")));
        check_refused("no sha256", |it| it["layers"][0]["digest"] = json!(format!("sha256:{}", HEX.to_uppercase())));
        check_refused("no sha256", |it| it["layers"][0]["digest"] = json!("sha256:../../../etc/passwd"));
        check_refused("at once", |it| it["manifests"] = json!([layer()]));
        check_refused(
            &format!("is an index and no manifest; write one of those that it names as digest: sha256:{HEX}"),
            |manifest| {
                *manifest = json!({ "mediaType": INDEX, "manifests": [layer()] });
            },
        );
        check_refused("is an index", |it| *it = json!({ "manifests": [layer()] }));
        check_refused("no manifest of an image but text/html", |it| it["mediaType"] = json!("text/html"));
        assert!(module(b"<html>").unwrap_err().contains("is no manifest"));
    }
}
