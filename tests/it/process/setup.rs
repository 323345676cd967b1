//! What only the tests of the process need beside what an operator does.

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;

pub(crate) use tests::operator::{Setup, ask, assert_waits, event, initialized, node, says};

/// Puts a file into a ConfigMap of kube-system.
pub(crate) async fn write_config_map(admin: &Client, name: &str, key: &str, file: &str) {
    let bytes = ByteString(std::fs::read(file).unwrap());
    let config_map = ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        binary_data: Some([(key.to_owned(), bytes)].into()),
        ..ConfigMap::default()
    };
    Api::<ConfigMap>::namespaced(admin.clone(), "kube-system")
        .patch(name, &PatchParams::apply("tests").force(), &Patch::Apply(config_map))
        .await
        .unwrap();
}

/// The token in aerostat's kubeconfig.
pub(crate) fn own_token(cluster: &Cluster) -> String {
    let text = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    let kubeconfig: Value = serde_saphyr::from_str(&text).unwrap();
    kubeconfig["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}

/// The token of a user who may do everything.
pub(crate) async fn admin_token(cluster: &Cluster) -> String {
    let name = "process-tests-admin";
    let apply = PatchParams::apply("tests").force();
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": name },
    });
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.admin.clone(), "kube-system");
    accounts.patch(name, &apply, &Patch::Apply(account)).await.unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "kube-system" }],
    });
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.admin.clone());
    bindings.patch(name, &apply, &Patch::Apply(binding)).await.unwrap();
    let request = accounts.create_token_request(name, &PostParams::default(), &TokenRequest::default()).await.unwrap();
    request.status.unwrap().token.unwrap()
}
