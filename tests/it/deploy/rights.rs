//! What the ServiceAccount may read beside what it works with: the module, and nothing next to it.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use serde_json::Value;
use tests::control_plane::cluster;

use crate::setup::{cloud_config, text};

/// Where the module is, by the shipped config.
fn module() -> String {
    let module: Value = cloud_config()["provider"]["module"]["configMap"].clone();
    assert!(matches!(module["namespace"].as_str(), None | Some("kube-system")), "{module}");
    module["name"].as_str().unwrap().to_owned()
}

/// The status of the API server's answer when a ConfigMap of kube-system is read.
async fn read(client: &Client, name: &str) -> u16 {
    match Api::<ConfigMap>::namespaced(client.clone(), "kube-system").get(name).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn adv_112_other_config_maps_are_not_readable() {
    let mut cluster = cluster().await;
    cluster.forbids();
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.admin.clone(), "kube-system");
    for name in [module(), "somebody-elses".to_owned()] {
        let config_map =
            ConfigMap { metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() }, ..ConfigMap::default() };
        config_maps.create(&PostParams::default(), &config_map).await.unwrap();
    }
    assert_eq!(read(&cluster.aerostat, &module()).await, 200);
    for foreign in ["somebody-elses", "extension-apiserver-authentication", "kube-root-ca.crt", "not-there"] {
        assert_eq!(read(&cluster.aerostat, foreign).await, 403, "{foreign}");
    }
    let ours: Api<ConfigMap> = Api::namespaced(cluster.aerostat.clone(), "kube-system");
    assert!(matches!(ours.list(&ListParams::default()).await, Err(kube::Error::Api(status)) if status.code == 403));
    let secrets: Api<Secret> = Api::namespaced(cluster.aerostat.clone(), "kube-system");
    assert!(matches!(secrets.get("aerostat").await, Err(kube::Error::Api(status)) if status.code == 403));
}

#[test]
fn the_readmes_commands_create_the_config_map_that_may_be_read() {
    for (page, text) in [("deploy/README.md", text("README.md")), ("README.md", text("../README.md"))] {
        let command = format!("create configmap {} --from-file=provider.wasm=", module());
        assert!(text.contains(&command), "{page} does not {command:?}");
    }
}
