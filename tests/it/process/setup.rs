//! Helpers for tests of the process alone, beside those of an operator.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams};
use serde_json::Value;
use tests::control_plane::Cluster;

pub(crate) use tests::operator::{Setup, admin_token, ask, assert_waits, event, initialized, node, says};

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

/// The kubeconfig of aerostat.
pub(crate) fn kubeconfig(cluster: &Cluster) -> Value {
    let text = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// The token in aerostat's kubeconfig.
pub(crate) fn own_token(cluster: &Cluster) -> String {
    kubeconfig(cluster)["users"][0]["user"]["token"].as_str().unwrap().to_owned()
}
