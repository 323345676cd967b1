//! A provider that crashes again and again.

use serde_json::json;
use tests::control_plane::cluster;
use tests::{guests, kubelet};

use crate::setup::{Setup, assert_waits, event};

#[tokio::test]
async fn a_quarantine_is_an_event_on_the_lease() {
    let cluster = cluster().await;
    // What it does when it is asked for the account.
    let setup =
        Setup::guest(&cluster, guests::HOSTILE).edit(|it| it["provider"]["settings"] = json!({ "identity": "panic" }));
    let process = setup.started().await;
    // And it crashes over each of these: the hostile guest takes the name as an order.
    for nth in 1..=5 {
        kubelet::join(&cluster.admin, &format!("panic.{nth}")).await.unwrap();
    }
    let expected = ["provider hostile is in quarantine", "identity crashed: wasm trap"];
    let event = event(&cluster, "cloud-controller-manager", &expected).await;
    assert_eq!((event.reason.as_deref(), event.type_.as_deref()), (Some("ProviderQuarantined"), Some("Warning")));
    assert_eq!(event.involved_object.kind.as_deref(), Some("Lease"));
    assert_waits(&cluster, "panic.1").await;
    process.stop().await;
}
