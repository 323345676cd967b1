//! A provider that crashes again and again.

use std::time::Duration;

use serde_json::{Value, json};
use tests::control_plane::cluster;
use tests::registry::{Access, Artifact, RealRegistry};
use tests::{guests, kubelet};

use crate::setup::{Setup, admin_token, assert_waits, event};

/// How long it is counted how often a provider in quarantine runs. Its first pause is 30 s, and a probe is three calls.
const COUNTED: Duration = Duration::from_secs(10);
const CALLS: u64 = 3;

/// Settings of the hostile guest that let it crash when it is asked for the account or for machines. It crashes over nodes
/// whose names begin with `panic`, too: enough of them that join at once are looked up in the list of machines.
fn always_panics() -> Value {
    json!({ "identity": "panic", "list": "panic" })
}

#[tokio::test]
async fn a_quarantine_is_an_event_on_the_lease() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).edit(|it| it["provider"]["settings"] = always_panics());
    let process = setup.started().await;
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

#[tokio::test]
async fn adv_67_a_module_of_a_registry_that_always_traps_rests() {
    let cluster = cluster().await;
    let registry = RealRegistry::distribution(Access::Anyone).await;
    let module = Artifact::new(&std::fs::read(guests::HOSTILE).unwrap());
    registry.push(&module, None).await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--concurrent-node-syncs=5"]).edit(|config| {
        config["provider"]["settings"] = always_panics();
        config["provider"]["module"] = registry.module(&module.digest());
    });
    let process = setup.started().await;
    for nth in 1..=20 {
        kubelet::join(&cluster.admin, &format!("panic.{nth}")).await.unwrap();
    }
    event(&cluster, "cloud-controller-manager", &["provider hostile is in quarantine"]).await;
    let admin = admin_token(&cluster).await;
    let traps = async || {
        let page = process.get("/metrics", Some(&admin)).await.body;
        let calls = page.lines().filter(|it| it.starts_with("aerostat_provider_calls_total{"));
        let traps = calls.filter(|it| it.contains("outcome=\"trap\""));
        traps.map(|it| it.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    let before = traps().await;
    assert!(before >= 5, "{before}");
    // That time passes is the point: twenty nodes wait for the provider, and five workers.
    tokio::time::sleep(COUNTED).await;
    let after = traps().await;
    assert!(after <= before + CALLS, "{before} crashes, and {after} after {COUNTED:?}");
    assert_eq!(process.get("/healthz", None).await.code, 200, "no restart would help");
    process.stop().await;
}
