//! From the flags to an initialised node.

use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::tinyproxy::Tinyproxy;
use tests::{guests, kubelet};

use crate::setup::{Setup, initialized, kubeconfig, write_config_map};

/// Cases: proxies
#[tokio::test]
async fn an_api_server_is_reached_through_the_proxy_of_the_kubeconfig() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    let proxy = Tinyproxy::start(&[], "").await;
    let mut through = kubeconfig(&cluster);
    let of_cluster = &mut through["clusters"][0]["cluster"];
    of_cluster["proxy-url"] = json!(proxy.url());
    let server = of_cluster["server"].as_str().unwrap().strip_prefix("https://").unwrap().to_owned();
    let setup = Setup::digitalocean(&cluster, &cloud).kubeconfig(&through);
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized(&cluster, "worker-1").await;
    process.stop().await;
    let targets = proxy.targets();
    assert!(!targets.is_empty() && targets.iter().all(|it| *it == server), "{targets:?} and not {server}");
}

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
