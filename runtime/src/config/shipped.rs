//! Every config that is shipped: the product's parser takes it, and none lets more whole objects go than the default.

use std::fs;
use std::path::{Path, PathBuf};

use egress::{Effect, WriteLimits};
use serde_json::Value;

use super::*;

/// All manifests under `deploy/`, but for the templates that they are made of.
fn manifests() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|it| it.to_str()) {
                _ if path.ends_with("deploy/chart") => {}
                _ if path.is_dir() => folders.push(path),
                Some("yaml" | "yml") => files.push(path),
                Some(_) | None => {}
            }
        }
    }
    files.sort();
    files
}

/// All texts in a document that are a config themselves.
fn configs(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.contains("kind: CloudConfig") => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(configs).collect(),
        Value::Object(all) => all.values().flat_map(configs).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// The texts of a manifest that are configs, as they stand there.
fn texts(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut texts = Vec::new();
    for document in text.split("\n---") {
        let value: Value =
            serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        texts.extend(configs(&value));
        if value["kind"] == "CloudConfig" {
            texts.push(document.to_owned());
        }
    }
    texts
}

/// The texts of all manifests.
pub(super) fn all_texts() -> Vec<String> {
    manifests().iter().flat_map(|it| texts(it)).collect()
}

/// The configs of a manifest, with something where an operator writes what is his own.
fn shipped(path: &Path) -> Vec<CloudConfig> {
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let config = |text: &String| {
        let text = text
            .replace("SHA256-OF-THE-MODULE", digest)
            .replace("DIGEST-OF-THE-MANIFEST", digest)
            .replace("ACCOUNT-ID", "1234567890123456")
            .replace("ARN-OF-THE-ROLE", "arn:aws:iam::123456789012:role/ccm");
        CloudConfig::parse(&text).unwrap_or_else(|because| panic!("{}: {because}", path.display()))
    };
    texts(path).iter().map(config).collect()
}

#[test]
fn adv_163_no_shipped_config_frees_whole_objects() {
    let default = WriteLimits::default();
    let mut found = 0;
    for path in manifests() {
        for config in shipped(&path) {
            found += 1;
            let (limits, name) = (CallLimits::default(), path.display());
            assert!(config.provider.limits.deletes_per_ensure <= limits.deletes_per_ensure, "{name}");
            assert!(config.provider.limits.deletes_per_delete <= limits.deletes_per_delete, "{name}");
            for CredentialSettings { name: credential, limits, .. } in config.credentials {
                let whole =
                    |it: WriteLimits| [it.deletions, it.creations, it.deletions_per_change, it.creations_per_change];
                let raised = whole(limits).iter().zip(whole(default)).any(|(own, usual)| *own > usual);
                assert!(!raised && limits.window >= default.window, "{name}: credential {credential}: {limits:?}");
            }
        }
    }
    assert_eq!(
        found, 21,
        "two for each cloud of the chart, one for each provider of volumes alone, and for two clouds one with a registry and a login"
    );
}

/// The effect that a method does not tell, the rule tells: the providers' descriptions decide which words fit.
#[test]
fn adv_163_every_shipped_write_says_what_it_does() {
    for path in manifests() {
        for config in shipped(&path) {
            for rule in config.endpoints.iter().flat_map(|it| &it.allow) {
                let writes = rule.methods.iter().any(|it| Effect::of(*it).writes());
                let says = rule.effect.is_some() && rule.methods.len() == 1;
                assert!(!writes || says, "{}: {rule:?}", path.display());
            }
        }
    }
}
