//! The provider's bytes: where they are, and what they are.

use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::{component, costly, guests, kubelet};

use crate::setup::{Setup, assert_waits, says, write_config_map};

/// The only ConfigMap that `deploy/rbac.yaml` lets aerostat read.
const ALLOWED: &str = "digitalocean-provider";

/// A setup whose module is these bytes, in a file.
fn with_bytes(cluster: &Cluster, bytes: &[u8]) -> Setup {
    let setup = Setup::guest(cluster, guests::ACME);
    let path = setup.folder.write("module.wasm", bytes);
    setup.module(&path)
}

/// A setup whose module is in a ConfigMap.
fn in_config_map(cluster: &Cluster, name: &str, key: &str) -> Setup {
    let sha256 = guests::sha256(guests::ACME);
    Setup::guest(cluster, guests::ACME).edit(|config| {
        config["provider"]["module"] = json!({ "configMap": { "name": name, "key": key, "sha256": sha256 } });
    })
}

/// Cases: no-module
#[tokio::test]
async fn bad_input_module_file_missing() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::ACME);
    let path = setup.folder.path("gone.wasm");
    let message = setup.edit(|it| it["provider"]["module"]["file"]["path"] = json!(path)).refused().await;
    says(&message, &["module file", "gone.wasm", "No such file", "provider.module.file.path"]);
}

/// Cases: wrong-digest
#[tokio::test]
async fn bad_input_module_with_a_wrong_digest() {
    let cluster = cluster().await;
    let wrong = "0".repeat(64);
    let setup =
        Setup::guest(&cluster, guests::ACME).edit(|it| it["provider"]["module"]["file"]["sha256"] = json!(wrong));
    says(&setup.refused().await, &[guests::ACME, &guests::sha256(guests::ACME), &wrong, "write their sha256"]);
}

/// Cases: no-component
#[tokio::test]
async fn bad_input_module_that_is_no_component() {
    let cluster = cluster().await;
    let core_module = b"\0asm\x01\0\0\0";
    says(
        &with_bytes(&cluster, core_module).refused().await,
        &["module.wasm", "not a WebAssembly component", "build it"],
    );
    says(&with_bytes(&cluster, b"<html>").refused().await, &["module.wasm", "not a WebAssembly component", "build it"]);
}

/// Cases: bad-import
#[tokio::test]
async fn bad_input_module_with_an_import_that_is_not_offered() {
    let cluster = cluster().await;
    let world = "package test:guest;
        interface door { open: func(); }
        world guest { import door; export aerostat:cloud/provider@0.1.0; }";
    let bytes = component::component(world, &imports_door());
    says(
        &with_bytes(&cluster, &bytes).refused().await,
        &["module.wasm", "test:guest/door", "does not offer", "remove"],
    );
}

/// A provider that also imports `test:guest/door`.
fn imports_door() -> String {
    format!(
        r#"(module
            (import "test:guest/door" "open" (func))
            (memory (export "memory") 1)
            (func (export "{provider}#identity") (result i32) (i32.const 0))
            (func (export "{provider}#describe") (result i32) (i32.const 0)))"#,
        provider = "aerostat:cloud/provider@0.1.0",
    )
}

/// Cases: no-provider
#[tokio::test]
async fn bad_input_module_without_provider() {
    let cluster = cluster().await;
    let bytes = component::component("package test:guest; world guest { }", "(module)");
    says(&with_bytes(&cluster, &bytes).refused().await, &["module.wasm", "aerostat:cloud/provider", "export it"]);
}

/// Cases: only-provider, case 33
#[tokio::test]
async fn bad_input_module_with_only_provider_warns_and_idles() {
    let cluster = cluster().await;
    let setup = with_bytes(&cluster, &component::only_provider());
    let mut process = setup.start();
    let warning = process.says("cloud-node-controller is skipped").await;
    assert_eq!(warning["level"], "WARN");
    says(warning["message"].as_str().unwrap(), &["provider minimal", "does not export aerostat:cloud/instances"]);

    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    assert_eq!(process.checks().await, ["leaderElection"], "it lives, and no controller runs");
    assert_waits(&cluster, "worker-1").await;
    process.stop().await;
}

/// Cases: bad-config-map
#[tokio::test]
async fn bad_input_config_map_missing() {
    let cluster = cluster().await;
    let message = in_config_map(&cluster, ALLOWED, "provider.wasm").refused().await;
    says(
        &message,
        &["ConfigMap kube-system/digitalocean-provider", "no such ConfigMap", "kubectl -n kube-system create"],
    );
}

/// Cases: bad-config-map
#[tokio::test]
async fn bad_input_config_map_that_may_not_be_read() {
    let mut cluster = cluster().await;
    cluster.forbids();
    write_config_map(&cluster.admin, "acme-provider", "provider.wasm", guests::ACME).await;
    let message = in_config_map(&cluster, "acme-provider", "provider.wasm").refused().await;
    says(&message, &["ConfigMap kube-system/acme-provider", "forbidden", "add acme-provider to the resourceNames"]);
}

/// Cases: bad-config-map
#[tokio::test]
async fn bad_input_config_map_without_the_key() {
    let cluster = cluster().await;
    write_config_map(&cluster.admin, ALLOWED, "acme.wasm", guests::ACME).await;
    let message = in_config_map(&cluster, ALLOWED, "provider.wasm").refused().await;
    says(
        &message,
        &["ConfigMap kube-system/digitalocean-provider", "no key provider.wasm", "it has acme.wasm", "kubectl"],
    );
}

#[tokio::test]
async fn adv_59_a_config_map_that_unpacks_to_1_gib_is_not_unpacked() {
    let cluster = cluster().await;
    let bomb = costly::zstd_of_zeros(1 << 30);
    let setup = in_config_map(&cluster, ALLOWED, "provider.wasm");
    let file = setup.folder.write("bomb", &bomb);
    write_config_map(&cluster.admin, ALLOWED, "provider.wasm", file.to_str().unwrap()).await;
    let sha256 = guests::sha256(&file);
    let setup = setup.edit(|it| it["provider"]["module"]["configMap"]["sha256"] = json!(sha256));
    let parts = ["module in ConfigMap kube-system/digitalocean-provider", "not a WebAssembly component", "build it"];
    says(&setup.refused_within_memory(512 << 20).await, &parts);
}
