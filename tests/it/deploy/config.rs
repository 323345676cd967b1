//! The config and the Secret: what the provider needs is allowed, nothing else is, and the token goes nowhere else.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use tests::guests;

use crate::setup::{allowed, cloud_config, container, describe, described, object, template, texts};

#[tokio::test]
async fn the_config_allows_all_that_is_described_and_no_more() {
    let config = cloud_config();
    let description = describe(guests::DIGITALOCEAN).await;
    assert_eq!(description.endpoints.len(), 1);
    assert_eq!(allowed(&config), described(&description), "no rule stands there twice");

    assert_eq!(config["endpoints"].as_array().unwrap().len(), 1);
    assert_eq!(config["endpoints"][0]["name"], description.endpoints[0].name);
    assert_eq!(config["endpoints"][0]["baseUrl"], description.endpoints[0].example_base_url);
    assert_eq!(texts(&config["provider"]["writesAnnotations"]), description.writes_annotations);
    let named = format!("--cloud-provider={}", description.name);
    assert!(container(&template()).args.unwrap().contains(&named), "{named}");
}

#[test]
fn the_pod_finds_its_files_where_the_flags_and_the_config_say() {
    let pod = template().spec.unwrap();
    let volumes = pod.volumes.as_ref().unwrap();
    let sources = volumes[0].projected.as_ref().unwrap().sources.as_ref().unwrap();
    let config_map = sources[0].config_map.as_ref().unwrap();
    let secret = sources[1].secret.as_ref().unwrap();
    assert_eq!((volumes.len(), sources.len()), (1, 2));
    assert_eq!(Some(&config_map.name), object::<ConfigMap>("config.yaml").metadata.name.as_ref());
    assert_eq!(Some(&secret.name), object::<Secret>("secret.yaml").metadata.name.as_ref());

    let container = container(&template());
    let mounts = container.volume_mounts.unwrap();
    assert_eq!(mounts.len(), 1);
    assert_eq!(mounts[0].name, volumes[0].name);
    let folder = &mounts[0].mount_path;
    assert!(container.args.unwrap().contains(&format!("--cloud-config={folder}/cloud.yaml")));
    assert_eq!(cloud_config()["credentials"][0]["bearer"]["file"], format!("{folder}/token"));
}

#[test]
fn the_token_goes_to_the_endpoint_and_nowhere_else() {
    let secret = object::<Secret>("secret.yaml").string_data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["token", "token.origins"]);
    assert_eq!(secret["token"], "REPLACE-WITH-YOUR-TOKEN");
    assert_eq!(
        secret["token.origins"].lines().collect::<Vec<_>>(),
        [cloud_config()["endpoints"][0]["baseUrl"].as_str().unwrap()]
    );
}
