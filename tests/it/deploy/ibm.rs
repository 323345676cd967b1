//! The config for IBM Cloud: what the provider needs is allowed, and nothing else is.

use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;
use tests::control_plane::cluster;
use tests::guests;

use crate::setup::{Folder, allowed, cloud_config_in, describe, described, object, text, texts};

fn config() -> Value {
    cloud_config_in("ibm/config.yaml")
}

#[tokio::test]
async fn the_config_of_ibm_allows_all_described_and_no_more() {
    let (config, description) = (config(), describe(guests::IBM).await);
    assert_eq!(allowed(&config), described(&description));
    assert_eq!(config["endpoints"][0]["name"], description.endpoints[0].name);
    assert_eq!(config["endpoints"][0]["baseUrl"], description.endpoints[0].example_base_url);
    assert_eq!(texts(&config["provider"]["providerIDPrefixes"]), description.provider_id_prefixes);
    let mut labels = description.node_labels.clone();
    labels.sort();
    assert_eq!(texts(&config["provider"]["nodeLabels"]), labels);
    assert_eq!(description.name, "ibm");
}

#[test]
fn the_key_for_ibm_goes_to_iam_and_to_the_vpc_alone() {
    let secret = object::<Secret>("ibm/secret.yaml").string_data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["api-key", "api-key.origins"]);
    let config = config();
    let iam = config["credentials"][0]["ibmIam"]["baseUrl"].as_str().unwrap();
    let vpc = config["endpoints"][0]["baseUrl"].as_str().unwrap().strip_suffix("/v1").unwrap();
    assert_eq!(secret["api-key.origins"].lines().collect::<Vec<_>>(), [iam, vpc]);
}

#[tokio::test]
async fn the_manifests_for_ibm_are_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let both = ["ibm/config.yaml", "ibm/secret.yaml"].map(text).join("---\n");
    let said = Folder::new().run(&cluster, "kubectl apply --server-side --dry-run=server -f -", &both);
    assert!(said.success, "{said:#?}");
    assert_eq!((said.error.as_str(), said.out.lines().count()), ("", 2));
}
