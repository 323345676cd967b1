//! A provider that crashes again and again.

use tests::control_plane::cluster;
use tests::{guests, kubelet};

use crate::setup::{Setup, assert_waits, event};

#[tokio::test]
async fn a_quarantine_is_an_event_on_the_lease() {
    let cluster = cluster().await;
    let process = Setup::guest(&cluster, guests::HOSTILE).started().await;
    // The hostile guest takes the name as an order.
    kubelet::join(&cluster.admin, "panic").await.unwrap();
    let told = ["provider hostile is in quarantine", "get crashed: wasm trap"];
    let event = event(&cluster, "cloud-controller-manager", &told).await;
    assert_eq!((event.reason.as_deref(), event.type_.as_deref()), (Some("ProviderQuarantined"), Some("Warning")));
    assert_eq!(event.involved_object.kind.as_deref(), Some("Lease"));
    assert_waits(&cluster, "panic").await;
    process.stop().await;
}
