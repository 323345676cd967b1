//! From the flags to an initialised node.

use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::{guests, kubelet};

use crate::setup::{Setup, initialized, write_config_map};

#[tokio::test]
async fn a_provider_from_a_config_map_initialises_a_node() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    write_config_map(&cluster.admin, "digitalocean-provider", "provider.wasm", guests::DIGITALOCEAN).await;
    let sha256 = guests::sha256(guests::DIGITALOCEAN);
    let setup = Setup::digitalocean(&cluster, &cloud).edit(|config| {
        config["provider"]["module"] =
            json!({ "configMap": { "name": "digitalocean-provider", "key": "provider.wasm", "sha256": sha256 } });
    });

    let mut process = setup.start();
    process.says("calls of the provider take at most 752 MiB of memory").await;
    process.says("provider digitalocean").await;
    process.says("with credential token").await;
    let request = process.says("GET /v2/droplets/*").await;
    assert!(request["message"].as_str().unwrap().ends_with("  yes"), "{request:?}");
    process.says("is on this machine").await;
    process.says("successfully acquired lease kube-system/cloud-controller-manager").await;
    process.says("started cloud-node-controller").await;

    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    let node = initialized(&cluster, "worker-1").await;
    assert_eq!(node.spec.unwrap().provider_id.as_deref(), Some("digitalocean://42"));
    process.stop().await;
}
