//! The file with the cloud's token.
//!
//! Cases: bad-token

use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::kubelet;

use crate::setup::{Setup, initialized, says};

#[tokio::test]
async fn bad_input_token_file_unreadable_at_start() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud);
    let path = setup.folder.path("no-token");
    let setup = setup.edit(|it| it["credentials"][0]["bearer"]["file"] = json!(path));
    says(&setup.refused().await, &["credential token", "no-token", "No such file", "--cloud-config"]);
}

#[tokio::test]
async fn bad_input_token_file_without_a_token() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud);
    setup.folder.write("token", "\n");
    says(&setup.refused().await, &["credential token", "token", "empty"]);
}

#[tokio::test]
async fn bad_input_token_file_unreadable_later() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    let setup = Setup::digitalocean(&cluster, &cloud);
    let mut process = setup.started().await;

    std::fs::remove_file(setup.folder.path("token")).unwrap();
    let warning = process.says("credential token").await;
    assert_eq!(warning["level"], "WARN", "{warning:?}");
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized(&cluster, "worker-1").await;
    process.stop().await;
}
