//! The API server is not there.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::audit_log::Request;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::operator::{WATCH_BACK_OFF, initialized_after};
use tests::{kubelet, wait};

use crate::setup::{Setup, assert_waits, says};

/// Cases: api-server-at-start
#[tokio::test]
async fn bad_input_kubeconfig_missing() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::ACME).flags(&["--kubeconfig=/nowhere/kubeconfig"]);
    says(&setup.refused().await, &["--kubeconfig /nowhere/kubeconfig", "No such file"]);
}

/// Cases: api-server-at-start
#[tokio::test]
async fn bad_input_api_server_unreachable_at_start() {
    let cluster = cluster().await;
    // Nothing listens on port 1 of loopback.
    let setup = Setup::guest(&cluster, tests::guests::ACME).flags(&["--master=https://127.0.0.1:1"]);
    let begin = Instant::now();
    let message = setup.refused().await;
    says(&message, &["API server at https://127.0.0.1:1", "Connection refused", "Check its address in --kubeconfig"]);
    assert!(begin.elapsed() >= Duration::from_secs(8), "it is given ten seconds");
}

/// Cases: api-server-at-start
#[tokio::test]
async fn bad_input_api_server_silent_at_start() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::ACME);
    cluster.control_plane.pause_api_server().unwrap();
    let begin = Instant::now();
    let message = setup.refused().await;
    cluster.control_plane.resume_api_server().unwrap();
    says(&message, &["API server at https://", "is unreachable", "whether it is up"]);
    assert!(begin.elapsed() < Duration::from_secs(30), "one silent attempt does not take all time");
}

/// Cases: api-server-at-start
#[tokio::test]
async fn bad_input_api_server_that_does_not_know_us() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, tests::guests::ACME);
    let text = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    let mut kubeconfig: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    kubeconfig["users"][0]["user"] = json!({ "token": "expired" });
    let path = setup.folder.write("kubeconfig", kubeconfig.to_string());
    let flag = format!("--kubeconfig={}", path.display());
    says(&setup.flags(&[&flag]).refused().await, &["API server at https://", "401", "check the user of --kubeconfig"]);
}

/// Cases: api-server-later
#[tokio::test]
async fn bad_input_api_server_unreachable_for_a_moment() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    // Time enough for the API server to start again on a busy machine.
    let setup = Setup::digitalocean(&cluster, &cloud)
        .flags(&["--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=100s"]);
    let mut process = setup.started().await;

    cluster.control_plane.kill_api_server().await.unwrap();
    let warning = process.says("cannot renew lease kube-system/cloud-controller-manager").await;
    assert_eq!(warning["level"], "WARN");
    cluster.control_plane.start_api_server().await.unwrap();
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized_after(WATCH_BACK_OFF, &cluster, "worker-1").await;
    // An API server that has only just started refuses what it allows a moment later.
    wait::until_after(WATCH_BACK_OFF, "Services are watched", async || {
        let started = cluster.audit().started().unwrap();
        let watches = |it: &&Request| it.is_aerostats() && it.verb == "watch" && it.resource() == "services";
        started.iter().filter(watches).any(|it| it.response.code == 200).then_some(())
    })
    .await;
    process.stop().await;
}

/// Cases: api-server-later
#[tokio::test]
async fn bad_input_api_server_unreachable_later() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud).flags(&[
        "--leader-elect-lease-duration=12s",
        "--leader-elect-renew-deadline=10s",
        "--leader-elect-retry-period=500ms",
    ]);
    let process = setup.started().await;

    cluster.control_plane.kill_api_server().await.unwrap();
    let message = process.fails().await;
    says(&message, &["leaderelection lost", "lease kube-system/cloud-controller-manager", "could not be renewed"]);
    cluster.control_plane.start_api_server().await.unwrap();
    assert_waits(&cluster, "worker-1").await;
}
