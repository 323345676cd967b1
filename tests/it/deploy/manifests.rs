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
        "install-alibaba.yaml",
        "install-aws-ebs.yaml",
        "install-aws.yaml",
        "install-azure.yaml",
        "install-digitalocean.yaml",
        "install-gcp-pd.yaml",
        "install-gcp.yaml",
        "install-hetzner.yaml",
        "install-ibm.yaml",
        "install-openstack-cinder.yaml",
        "install-openstack.yaml",
        "kustomization.yaml",
        "leader-migration.yaml",
        "poddisruptionbudget.yaml",
        "rbac.yaml",
        "secret.yaml",
    ];
    assert_eq!(manifests(), all);
    // Each by itself: the files of single clouds, which chart/manifests.rs applies, have the same objects, and the kustomization has none.
    for name in manifests().into_iter().filter(|it| it != "kustomization.yaml" && !it.starts_with("install-")) {
        let script = format!("kubectl apply --server-side --dry-run=server -f deploy/{name}");
        let said = folder.run(&cluster, &script, "");
        assert!(said.success, "{name}: {said:#?}");
        assert_eq!(said.error, "", "{name}: nothing to warn of");
        assert!(said.out.contains("serverside-applied (server dry run)"), "{name}: {said:#?}");
    }
}
