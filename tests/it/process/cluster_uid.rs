//! The UID that names the cluster: read before the provider is asked anything about it.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::aerostat::message;
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};
use tests::{guests, kubelet};

use crate::setup::{Setup, initialized, says};

#[tokio::test]
async fn a_provider_knows_the_cluster_by_flags_and_namespace() {
    let cluster = cluster().await;
    let namespace = Api::<Namespace>::all(cluster.admin.clone()).get("kube-system").await.unwrap();
    let uid = namespace.metadata.uid.unwrap();
    kubelet::join(&cluster.admin, "see-cluster").await.unwrap();
    let flags = ["--cluster-name=prod", "--cluster-cidr=10.244.1.0/16,fd00:10::/56"];
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&flags);
    let mut process = setup.start();
    process.says(&format!("the cluster is {uid}")).await;
    let line = process.says("10.244.0.0/16").await;
    let text = serde_json::to_string(&line).unwrap();
    for part in [uid.as_str(), "prod", "fd00:10::/56"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    process.stop().await;
}

#[tokio::test]
async fn a_provider_is_told_values_of_config_maps_that_may_be_read() {
    let cluster = cluster().await;
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let data = json!({ "metadata": { "name": "hostile" }, "data": { "id": "0f0e", "token": "a secret" } });
    config_maps.create(&PostParams::default(), &serde_json::from_value(data).unwrap()).await.unwrap();
    kubelet::join(&cluster.admin, "see-config-maps").await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE)
        .edit(|config| config["provider"]["configMaps"] = json!(["kube-system/hostile"]));
    let mut process = setup.start();
    let line = process.says("cannot read the ConfigMap kube-system/hostile, which provider.configMaps names").await;
    says(message(&line), &["aerostat's identity needs the right to get it"]);
    allow(&cluster, "get", Some("hostile")).await;
    let text = serde_json::to_string(&process.says("config-map.").await).unwrap();
    assert!(text.contains("kube-system/hostile/id") && text.contains("0f0e") && !text.contains("secret"), "{text}");
    process.stop().await;
}

#[tokio::test]
async fn an_id_of_the_cluster_is_made_once_where_it_may_be() {
    let mut cluster = cluster().await;
    cluster.forbids();
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    kubelet::join(&cluster.admin, "see-config-maps").await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE).edit(|config| {
        config["provider"]["configMaps"] = json!(["kube-system/hostile-id"]);
        config["provider"]["createsConfigMaps"] = json!(["kube-system/hostile-id"]);
    });
    allow(&cluster, "get", Some("hostile-id")).await;
    let mut process = setup.start();
    let line = process.says("cannot make the ConfigMap kube-system/hostile-id, which provider.createsConfigMaps").await;
    says(message(&line), &["aerostat's identity needs the right to create ConfigMaps in that namespace"]);
    allow(&cluster, "create", None).await;
    let text = serde_json::to_string(&process.says("config-map.").await).unwrap();
    let made = config_maps.get("hostile-id").await.unwrap().data.unwrap();
    let id = &made["uid"];
    assert!(id.len() == 16 && id.bytes().all(|it| it.is_ascii_hexdigit()) && made["provider-uid"] == *id, "{made:?}");
    assert!(text.contains("kube-system/hostile-id/uid") && text.contains(id.as_str()), "{text}");
    process.stop().await;
    // One that is there is never changed.
    let other = Patch::Merge(json!({ "data": { "uid": "0f0e", "provider-uid": null } }));
    config_maps.patch("hostile-id", &PatchParams::default(), &other).await.unwrap();
    let mut process = setup.start();
    let text = serde_json::to_string(&process.says("config-map.").await).unwrap();
    assert!(text.contains("0f0e") && !text.contains("provider-uid") && !text.contains(id.as_str()), "{text}");
    process.stop().await;
}

/// Adds a right on ConfigMaps to aerostat's Role.
async fn allow(cluster: &Cluster, verb: &str, name: Option<&str>) {
    let roles: Api<Role> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let mut rules = roles.get("cloud-controller-manager").await.unwrap().rules.unwrap();
    rules.push(PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        resource_names: name.map(|it| vec![it.to_owned()]),
        verbs: vec![verb.to_owned()],
        ..PolicyRule::default()
    });
    let patch = Patch::Merge(json!({ "rules": rules }));
    roles.patch("cloud-controller-manager", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn the_clusters_uid_is_read_again_until_it_comes() {
    let cluster = cluster().await;
    let faults = Faults::new();
    let path = "/api/v1/namespaces/kube-system$";
    faults.set(Fault::status(http::Method::GET, path, 403, "Forbidden", "injected refusal").times(1));
    let overrides = aerostat::Overrides { client: Some(cluster.faulty(&faults)), ..aerostat::Overrides::default() };
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let settings = aerostat::RunSettings::parse(setup.arguments()).unwrap();
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    let asked_to_end = async {
        initialized(&cluster, "honest-1").await;
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), aerostat::run(settings, overrides, asked_to_end)).await;
    ended.expect("it ends in time").unwrap();
    assert_eq!(faults.answered().len(), 1);
}
