//! The statement about where the files of a release come from (in-toto, SLSA 1). Unsigned: whoever makes a release signs it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha256::Digest;

use crate::compiled::CompiledRelease;

/// The names of the forms, as their authors have them.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "https://slsa.dev/provenance/v1";
/// `make release`, as this repository has it.
const BUILD: &str = "https://aerostat.dev/make-release/v1";

/// The statement about these things. `tools` has a line for each tool, as in `rustc 1.95.0 (…)`.
pub(crate) fn statement(
    release: &CompiledRelease,
    subjects: &BTreeMap<String, Digest>,
    lock: &[u8],
    tools: &str,
) -> serde_json::Result<Vec<u8>> {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|(name, digest)| json!({ "name": name, "digest": { "sha256": digest.to_string() } }))
        .collect();
    let mut dependencies = vec![json!({ "name": "Cargo.lock", "digest": { "sha256": Digest::of(lock).to_string() } })];
    if let Some(commit) = &release.commit {
        let mut sources = json!({ "name": "sources", "digest": { "gitCommit": commit } });
        if let Some(source) = &release.source {
            sources["uri"] = json!(format!("git+{source}@{commit}"));
        }
        dependencies.push(sources);
    }
    let statement = json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": { "version": release.version, "architectures": release.architectures },
                "internalParameters": { "tools": tools.lines().collect::<Vec<_>>() },
                "resolvedDependencies": dependencies,
            },
            "runDetails": { "builder": { "id": BUILD } },
        },
    });
    let mut bytes = serde_json::to_vec_pretty(&statement)?;
    bytes.push(b'\n');
    Ok(bytes)
}
