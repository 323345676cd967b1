//! The config for Hetzner: what the provider needs is allowed, and nothing else is.

use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;
use tests::control_plane::cluster;
use tests::guests;

use crate::setup::{Folder, allowed, cloud_config_in, describe, described, object, text, texts};

fn config() -> Value {
    cloud_config_in("hetzner/config.yaml")
}

#[tokio::test]
async fn the_config_of_hetzner_allows_all_described_and_no_more() {
    let (config, description) = (config(), describe(guests::HETZNER).await);
    assert_eq!(allowed(&config), described(&description));
    assert_eq!(config["endpoints"][0]["name"], description.endpoints[0].name);
    assert_eq!(config["endpoints"][0]["baseUrl"], description.endpoints[0].example_base_url);
    assert_eq!(texts(&config["provider"]["providerIDPrefixes"]), description.provider_id_prefixes);
    assert_eq!(description.name, "hcloud");
}

#[test]
fn hetzners_token_goes_to_its_api_and_nowhere_else() {
    let secret = object::<Secret>("hetzner/secret.yaml").string_data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["token", "token.origins"]);
    let base_url = config()["endpoints"][0]["baseUrl"].as_str().unwrap().to_owned();
    assert_eq!(secret["token.origins"].trim_end(), base_url.strip_suffix("/v1").unwrap());
}

#[tokio::test]
async fn hetzners_manifests_are_accepted_by_the_api_server() {
    let cluster = cluster().await;
    let both = ["hetzner/config.yaml", "hetzner/secret.yaml"].map(text).join("---\n");
    let said = Folder::new().run(&cluster, "kubectl apply --server-side --dry-run=server -f -", &both);
    assert!(said.success, "{said:#?}");
    assert_eq!((said.error.as_str(), said.out.lines().count()), ("", 2));
}
