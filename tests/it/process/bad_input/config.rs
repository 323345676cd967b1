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

/// Cases: bad-setting
#[tokio::test]
async fn bad_input_setting_that_selects_no_nodes() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::HOSTILE);
    let settings = json!({ "describe": "select", "node-selector": "pool in a" });
    let message = setup.edit(|it| it["provider"]["settings"] = settings).refused().await;
    says(&message, &["cannot use --cloud-config", "provider.settings.node-selector", "expected '('", "pool=web,!spot"]);
}

/// Cases: bad-config
#[tokio::test]
async fn bad_input_claims_of_an_earlier_controller_that_nobody_made() {
    let cluster = cluster().await;
    for (key, names, expected) in [
        ("finalizers", "example.com/other", "does not know; it knows hostile.example/earlier"),
        ("configMaps", "kube-system/other", "does not read; it reads kube-system/hostile"),
        ("configMaps", "other", "\"other\" is no ConfigMap; write its namespace and its name"),
    ] {
        let setup = Setup::guest(&cluster, tests::guests::HOSTILE);
        let message = setup.edit(|it| it["provider"][key] = json!([names])).refused().await;
        says(&message, &["cannot use --cloud-config", names, expected]);
    }
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

/// Dedicated servers as nodes, with these endpoints beside `hcloud`. Returns why that is refused.
async fn with_robot(robot: serde_json::Value) -> String {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::HETZNER);
    let token = setup.folder.write("token", "token\n");
    let hcloud = json!({ "name": "hcloud", "baseUrl": "https://hcloud.example", "credential": "token", "allow": [
        { "methods": ["GET"], "paths": ["/servers", "/servers/*", "/networks", "/networks/*"] },
    ] });
    let endpoints: Vec<_> = [hcloud, robot].into_iter().filter(|it| !it.is_null()).collect();
    let change = |config: &mut serde_json::Value| {
        config["provider"]["settings"] = json!({ "robot.enabled": "true" });
        config["endpoints"] = json!(endpoints);
        config["credentials"] = json!([{ "name": "token", "bearer": { "file": token } }]);
    };
    setup.edit(change).refused().await
}

/// Cases: bad-endpoint
#[tokio::test]
async fn bad_input_robot_endpoint_that_is_missing() {
    let message = with_robot(serde_json::Value::Null).await;
    says(&message, &["provider hcloud", "endpoint \"robot\"", "add it to endpoints"]);
}

/// Cases: bad-endpoint
#[tokio::test]
async fn bad_input_robot_credential_that_is_missing() {
    let endpoint = json!({ "name": "robot", "baseUrl": "https://robot.example", "credential": "robot", "allow": [
        { "methods": ["GET"], "paths": ["/server", "/server/*", "/reset/*"] },
    ] });
    let message = with_robot(endpoint).await;
    says(&message, &["endpoint robot names the credential robot", "add it there"]);
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
    let setup = Setup::guest(&cluster, tests::guests::ACME).flags(&["--permit-port-sharing"]);
    says(&setup.refused().await, &["--permit-port-sharing", "not supported yet", "Leave the flag out"]);
}
