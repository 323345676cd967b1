//! A provider that misbehaves: only the node that it misbehaves for waits.
//!
//! Cases: bad-provider

use tests::aerostat::message;
use tests::control_plane::cluster;
use tests::{guests, kubelet};

use crate::setup::{Setup, assert_waits, initialized, says};

/// The crime of the hostile guest for the node of this name is in the log, and another node is initialised.
async fn check(crime: &str, cause: &[&str]) {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let mut process = setup.started().await;
    kubelet::join(&cluster.admin, crime).await.unwrap();
    let line = process.says(&format!("error syncing '{crime}'")).await;
    says(message(&line), &["hostile"]);
    says(message(&line), cause);
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    initialized(&cluster, "honest-1").await;
    assert_waits(&cluster, crime).await;
    process.stop().await;
}

#[tokio::test]
async fn bad_input_provider_that_traps() {
    check("panic", &["trap"]).await;
}

#[tokio::test]
async fn bad_input_provider_that_never_ends() {
    check("spin", &["CPU"]).await;
}

#[tokio::test]
async fn bad_input_provider_that_eats_memory() {
    check("eat-memory", &["memory"]).await;
}
