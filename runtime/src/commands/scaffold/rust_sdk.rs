//! The SDK for Rust, as this program was built with it: a provider's folder gets a copy, and needs no other place to take it from.

/// The manifest of the SDK, and the one of its workspace, from which it takes versions.
const MANIFEST: &str = include_str!("../../../../guest-sdk/Cargo.toml");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

macro_rules! sdk {
    ($($file:literal)+) => {
        [$(($file, include_bytes!(concat!("../../../../guest-sdk/", $file)).as_slice())),+]
    };
}

/// Every file of `guest-sdk` that a provider is compiled with: its path there, and its bytes.
pub(super) const FILES: [(&str, &[u8]); 105] = sdk! {
    "README.md" "src/allowed.rs" "src/annotations.rs" "src/annotations/fixed.rs" "src/annotations/reading.rs"
    "src/annotations/values.rs" "src/backend.rs" "src/backend/cloud.rs" "src/backend/creation.rs"
    "src/backend/delete.rs" "src/backend/ensure.rs" "src/backend/found.rs" "src/backend/memo.rs"
    "src/backend/targets.rs" "src/bindings.rs" "src/bindings/load_balancer_batches.world" "src/change.rs" "src/clock.rs"
    "src/cluster.rs" "src/description.rs" "src/desired.rs" "src/error.rs" "src/events.rs" "src/events/warnings.rs"
    "src/form.rs" "src/form/custom.rs" "src/form/integer.rs" "src/form/list.rs" "src/form/seconds.rs" "src/form/span.rs"
    "src/form/traits.rs" "src/form/words.rs" "src/go_duration.rs" "src/go_duration/read.rs" "src/halves.rs" "src/host.rs" "src/http.rs"
    "src/http/client.rs" "src/http/numbered.rs" "src/http/refusal.rs" "src/http/request.rs" "src/http/response.rs"
    "src/http/sorted.rs" "src/instances.rs" "src/json.rs" "src/json/edit.rs" "src/json/error.rs" "src/json/read.rs" "src/json/read/parts.rs" "src/json/revision.rs"
    "src/json/sparse.rs" "src/json/tree.rs" "src/key.rs" "src/lib.rs" "src/load_balancer_batches.rs"
    "src/load_balancer_inventory.rs" "src/load_balancers.rs" "src/log.rs" "src/nodes.rs" "src/pages.rs"
    "src/parameters.rs" "src/persistent_volumes.rs" "src/provider_id.rs" "src/readme.rs" "src/routes.rs"
    "src/settings.rs" "src/short_mark.rs" "src/sorted.rs" "src/sorted/map.rs" "src/sorted/set.rs" "src/sorted/sort.rs"
    "src/testing.rs" "src/testing/converge.rs" "src/testing/converge_volumes.rs" "src/testing/fake_cloud.rs"
    "src/testing/fake_objects.rs" "src/testing/host.rs" "src/testing/imports.rs" "src/testing/lint.rs"
    "src/testing/protocol.rs" "src/testing/served_cloud.rs" "src/testing/simulated_cloud.rs" "src/testing/trouble.rs" "src/time.rs"
    "src/volume_backend.rs" "src/volume_backend/attach.rs" "src/volume_backend/cloud.rs" "src/volume_backend/create.rs"
    "src/volume_backend/delete.rs" "src/volume_backend/failure.rs" "src/volume_backend/memo.rs" "src/volumes.rs" "wit/README.md" "wit/host.wit"
    "wit/http.wit" "wit/instances.wit" "wit/load-balancer-batches.wit" "wit/load-balancer-inventory.wit"
    "wit/load-balancers.wit" "wit/persistent-volumes.wit" "wit/provider.wit" "wit/routes.wit" "wit/types.wit"
    "wit/volumes.wit" "wit/worlds.wit"
};

/// The manifest of the copy, which is of no workspace: without lints, and without examples, which are not copied.
pub(super) fn manifest() -> String {
    let package =
        MANIFEST.split("\n[[example]]").next().unwrap_or(MANIFEST).replace("[lints]\nworkspace = true\n\n", "");
    let mut text = String::new();
    for line in package.lines() {
        let key = line.strip_suffix(".workspace = true");
        let found = key.and_then(|key| WORKSPACE.lines().find(|it| it.starts_with(&format!("{key} = "))));
        text.push_str(found.unwrap_or(line));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    /// The files below a folder, also where a link leads.
    fn below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        entries.flat_map(|it| if it.is_dir() { below(&it) } else { vec![it] }).collect()
    }

    #[test]
    fn no_file_that_the_sdk_is_compiled_from_is_missing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk");
        let all = ["src", "wit"].iter().flat_map(|it| below(&root.join(it))).chain([root.join("README.md")]);
        let all = all.map(|it| it.strip_prefix(&root).unwrap().display().to_string());
        let wanted: BTreeSet<_> = all.filter(|it| !it.ends_with("/tests.rs") && !it.contains("/tests/")).collect();
        assert_eq!(FILES.map(|(path, _)| path.to_owned()).into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    #[test]
    fn manifest_of_the_copy_needs_no_workspace() {
        let text = manifest();
        assert!(!text.contains("workspace") && !text.contains("example"), "{text}");
        for line in ["name = \"aerostat-sdk\"", "edition = \"2024\"", "[dependencies]", "serde_json = \"1\""] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        assert!(text.contains("\nwit-bindgen = { version = "), "{text}");
    }
}
