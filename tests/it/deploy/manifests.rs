//! The API server accepts every manifest.

use tests::control_plane::cluster;

use crate::setup::{Folder, manifests};

#[tokio::test]
async fn every_manifest_is_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let folder = Folder::new();
    let all = [
        "config.yaml",
        "deployment.yaml",
        "leader-migration.yaml",
        "poddisruptionbudget.yaml",
        "rbac.yaml",
        "secret.yaml",
    ];
    assert_eq!(manifests(), all);
    // Each by itself, and the folder as a whole.
    for name in manifests().into_iter().chain([String::new()]) {
        let script = format!("kubectl apply --server-side --dry-run=server -f deploy/{name}");
        let said = folder.run(&cluster, &script, "");
        assert!(said.success, "{name}: {said:#?}");
        assert_eq!(said.error, "", "{name}: nothing to warn of");
        assert!(said.out.contains("serverside-applied (server dry run)"), "{name}: {said:#?}");
    }
}
