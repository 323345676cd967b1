//! The tasks that send events belong to the process like all others.

use aerostat::{Overrides, RunSettings};
use http::Method;
use tests::control_plane::cluster;
use tests::faults::{Fault, Faults, Reply};
use tests::operator::PATIENCE;
use tests::{guests, kubelet};

use crate::setup::{Setup, says};

/// How the process ends after the sender of events about objects of this namespace has panicked.
async fn check_panic(namespace: &str) {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let faults = Faults::new();
    faults.set(Fault::new(Method::POST, &format!("/namespaces/{namespace}/events"), Reply::Panic));
    let overrides = Overrides { client: Some(cluster.faulty(&faults)), ..Overrides::default() };
    let settings = RunSettings::parse(setup.arguments()).unwrap();
    // One event is about the Lease, in kube-system, and one about the node, in default.
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, aerostat::run(settings, overrides, std::future::pending())).await;
    let failure = ended.expect("a panic ends the process").unwrap_err();
    says(&failure.to_string(), &["a task panicked", "that is a bug in aerostat", "a fault of this test"]);
}

#[tokio::test]
async fn a_panic_in_the_sender_of_node_events_ends_the_process() {
    check_panic("default").await;
}

#[tokio::test]
async fn a_panic_in_the_sender_of_lease_events_ends_the_process() {
    check_panic("kube-system").await;
}
