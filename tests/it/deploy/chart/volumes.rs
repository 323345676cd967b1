//! The config for volumes of claims: with one of the controllers that work on them, and not without.

use serde_json::json;
use tests::guests;

use super::{cloud_config, rendered, with};
use crate::setup::{allowed, describe_with, described};

/// The providers that export volumes.
const PROVIDERS: [(&str, &str); 2] = [("digitalocean", guests::DIGITALOCEAN), ("hetzner", guests::HETZNER)];

#[tokio::test]
async fn rules_and_setting_of_volumes_come_with_their_controllers() {
    for (cloud, module) in PROVIDERS {
        let set = describe_with(module, &[("volumes", "true")]).await;
        let bare = describe_with(module, &[]).await;
        assert_ne!(described(&set), described(&bare), "{cloud}");
        for (more, is_set) in [
            (json!({}), false),
            (json!({ "controllers": { "volume-provisioner": true } }), true),
            (json!({ "controllers": { "volume-attacher": true } }), true),
            (json!({ "controllers": { "volume-expander": true } }), true),
            (json!({ "controllers": { "volume-provisioner": true, "volume-attacher": true } }), true),
            (json!({ "controllers": { "volume-provisioner": false, "volume-attacher": false } }), false),
            (json!({ "settings": { "volumes": "true" } }), true),
        ] {
            let config = cloud_config(&rendered(&with(cloud, more.clone())));
            assert_eq!(allowed(&config), described(if is_set { &set } else { &bare }), "{cloud}: {more}");
            assert_eq!(config["provider"]["settings"]["volumes"] == "true", is_set, "{cloud}: {more}");
        }
    }
}
