//! The operator's file and flags.

use serde_json::json;
use tests::clouds::digitalocean::{Options, Simulator};
use tests::control_plane::cluster;

use crate::setup::{Setup, says};

/// Cases: bad-config
#[tokio::test]
async fn bad_input_unknown_key_in_the_config() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud);
    let file = setup.folder.path("cloud.yaml").display().to_string();
    let message = setup.edit(|it| it["endpoints"][0]["credentials"] = json!("token")).refused().await;
    says(&message, &["cannot use --cloud-config", &file, "unknown field `credentials`", "credential", "line "]);
}

/// Cases: bad-setting
#[tokio::test]
async fn bad_input_setting_that_the_provider_does_not_describe() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud);
    let message = setup.edit(|it| it["provider"]["settings"] = json!({ "regoin": "nyc3" })).refused().await;
    says(&message, &["digitalocean", "regoin", "clusterId"]);
}

/// Cases: bad-setting
#[tokio::test]
async fn bad_input_setting_that_is_missing() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::HOSTILE);
    let message = setup.edit(|it| it["provider"]["settings"] = json!({ "requires": "project" })).refused().await;
    says(&message, &["hostile", "project", "provider.settings"]);
}

/// Cases: bad-endpoint
#[tokio::test]
async fn bad_input_endpoint_that_the_provider_needs_is_missing() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud);
    let message = setup.edit(|it| it["endpoints"][0]["name"] = json!("cloud")).refused().await;
    says(&message, &["provider digitalocean", "endpoint \"api\"", "add it to endpoints"]);
}

/// Cases: bad-cloud-provider, case 230
#[tokio::test]
async fn bad_input_cloud_provider_that_is_not_the_modules() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud).flags(&["--cloud-provider=hetzner"]);
    let message = setup.refused().await;
    says(&message, &["--cloud-provider is hetzner", "module file", "provider digitalocean", "correct the flag"]);
}

/// Cases: bad-flag
#[tokio::test]
async fn bad_input_flag_that_is_not_supported() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::ACME).flags(&["--contention-profiling"]);
    says(&setup.refused().await, &["--contention-profiling", "not supported yet", "Leave the flag out"]);
}
