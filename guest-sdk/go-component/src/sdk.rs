//! The SDK for Go, as this program was built with it: a provider's folder gets a copy, and needs no other place to take it from.

/// Every file of `guest-sdk/go` but its tests: its path there, and its text.
pub const FILES: [(&str, &str); 58] = [
    ("README.md", include_str!("../../go/README.md")),
    ("annotations/annotations.go", include_str!("../../go/annotations/annotations.go")),
    ("backend/backend.go", include_str!("../../go/backend/backend.go")),
    ("backend/delete.go", include_str!("../../go/backend/delete.go")),
    ("backend/ensure.go", include_str!("../../go/backend/ensure.go")),
    ("backend/memo.go", include_str!("../../go/backend/memo.go")),
    ("cloudtest/cloud.go", include_str!("../../go/cloudtest/cloud.go")),
    ("cloudtest/converge.go", include_str!("../../go/cloudtest/converge.go")),
    ("cloudtest/serve.go", include_str!("../../go/cloudtest/serve.go")),
    ("cloudtest/simulated.go", include_str!("../../go/cloudtest/simulated.go")),
    ("cloudtest/warnings.go", include_str!("../../go/cloudtest/warnings.go")),
    ("config/cluster.go", include_str!("../../go/config/cluster.go")),
    ("config/config.go", include_str!("../../go/config/config.go")),
    ("config/config_native.go", include_str!("../../go/config/config_native.go")),
    ("config/config_wasm.go", include_str!("../../go/config/config_wasm.go")),
    ("events/events.go", include_str!("../../go/events/events.go")),
    ("events/events_native.go", include_str!("../../go/events/events_native.go")),
    ("events/events_wasm.go", include_str!("../../go/events/events_wasm.go")),
    ("go.mod", include_str!("../../go/go.mod")),
    ("http/change.go", include_str!("../../go/http/change.go")),
    ("http/client.go", include_str!("../../go/http/client.go")),
    ("http/errors.go", include_str!("../../go/http/errors.go")),
    ("http/http.go", include_str!("../../go/http/http.go")),
    ("http/http_native.go", include_str!("../../go/http/http_native.go")),
    ("http/http_wasm.go", include_str!("../../go/http/http_wasm.go")),
    ("http/pages.go", include_str!("../../go/http/pages.go")),
    ("http/request.go", include_str!("../../go/http/request.go")),
    ("http/words.go", include_str!("../../go/http/words.go")),
    ("instances/each.go", include_str!("../../go/instances/each.go")),
    ("instances/instances.go", include_str!("../../go/instances/instances.go")),
    ("instances/instances_wasm.go", include_str!("../../go/instances/instances_wasm.go")),
    ("instances/position.go", include_str!("../../go/instances/position.go")),
    ("internal/abi/abi_wasm.go", include_str!("../../go/internal/abi/abi_wasm.go")),
    ("internal/memory/types_wasm.go", include_str!("../../go/internal/memory/types_wasm.go")),
    ("loadbalancerbatches/loadbalancerbatches.go", include_str!("../../go/loadbalancerbatches/loadbalancerbatches.go")),
    (
        "loadbalancerbatches/loadbalancerbatches_wasm.go",
        include_str!("../../go/loadbalancerbatches/loadbalancerbatches_wasm.go"),
    ),
    (
        "loadbalancerinventory/loadbalancerinventory.go",
        include_str!("../../go/loadbalancerinventory/loadbalancerinventory.go"),
    ),
    (
        "loadbalancerinventory/loadbalancerinventory_wasm.go",
        include_str!("../../go/loadbalancerinventory/loadbalancerinventory_wasm.go"),
    ),
    ("loadbalancers/loadbalancers.go", include_str!("../../go/loadbalancers/loadbalancers.go")),
    ("loadbalancers/loadbalancers_wasm.go", include_str!("../../go/loadbalancers/loadbalancers_wasm.go")),
    ("loadbalancers/steps.go", include_str!("../../go/loadbalancers/steps.go")),
    ("log/log.go", include_str!("../../go/log/log.go")),
    ("log/log_native.go", include_str!("../../go/log/log_native.go")),
    ("log/log_wasm.go", include_str!("../../go/log/log_wasm.go")),
    ("persistentvolumes/persistentvolumes.go", include_str!("../../go/persistentvolumes/persistentvolumes.go")),
    (
        "persistentvolumes/persistentvolumes_wasm.go",
        include_str!("../../go/persistentvolumes/persistentvolumes_wasm.go"),
    ),
    ("provider/permissions.go", include_str!("../../go/provider/permissions.go")),
    ("provider/provider.go", include_str!("../../go/provider/provider.go")),
    ("provider/provider_wasm.go", include_str!("../../go/provider/provider_wasm.go")),
    ("routes/routes.go", include_str!("../../go/routes/routes.go")),
    ("routes/routes_wasm.go", include_str!("../../go/routes/routes_wasm.go")),
    ("settings/settings.go", include_str!("../../go/settings/settings.go")),
    ("types/errors.go", include_str!("../../go/types/errors.go")),
    ("types/mark.go", include_str!("../../go/types/mark.go")),
    ("types/provider_id.go", include_str!("../../go/types/provider_id.go")),
    ("types/types.go", include_str!("../../go/types/types.go")),
    ("volumes/volumes.go", include_str!("../../go/volumes/volumes.go")),
    ("volumes/volumes_wasm.go", include_str!("../../go/volumes/volumes_wasm.go")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    /// The files below a folder.
    fn below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        entries.flat_map(|it| if it.is_dir() { below(&it) } else { vec![it] }).collect()
    }

    #[test]
    fn no_file_of_the_sdk_is_missing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../go");
        let all: BTreeSet<_> =
            below(&root).iter().map(|it| it.strip_prefix(&root).unwrap().display().to_string()).collect();
        let wanted: BTreeSet<_> = all.into_iter().filter(|it| !it.ends_with("_test.go")).collect();
        assert_eq!(FILES.map(|(path, _)| path.to_owned()).into_iter().collect::<BTreeSet<_>>(), wanted);
    }
}
