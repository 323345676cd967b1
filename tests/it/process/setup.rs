//! Helpers for tests of the process alone, beside those of an operator.

use k8s_openapi::ByteString;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::aerostat::USER;
use tests::control_plane::Cluster;
use tests::wait;

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

/// Waits until the API server refuses aerostat the first right of a rule, in a namespace or, if this is empty, in all of them: roles are read
/// a moment after they are written.
pub(crate) async fn refuses(cluster: &Cluster, namespace: &str, rule: &PolicyRule) {
    let first = |of: &Option<Vec<String>>| of.as_ref().and_then(|it| it.first()).cloned().unwrap_or_default();
    let resource = first(&rule.resources);
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource.as_str(), ""));
    let review: SubjectAccessReview = serde_json::from_value(json!({ "spec": { "user": USER, "resourceAttributes": {
        "namespace": namespace,
        "group": first(&rule.api_groups),
        "resource": resource,
        "subresource": subresource,
        "name": first(&rule.resource_names),
        "verb": rule.verbs.first(),
    } } }))
    .unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(cluster.admin.clone());
    wait::until("the API server refuses what no role allows", async || {
        let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
        answer.status.is_some_and(|it| !it.allowed).then_some(())
    })
    .await;
}
