//! Services and nodes over which a provider crashes, or would: others are not affected.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::operator::{Setup, initialized};
use tests::{guests, kubelet};

use crate::setup::{FINALIZER, Rig, key, service, worker};

/// Names that the hostile guest takes as an order to crash.
const CRIMES: [&str; 6] = ["spin", "panic", "exit", "recurse", "eat-memory", "recurse-and-log"];

/// A Service with more ports than any cloud has, and as long an annotation as the API server takes.
fn huge(name: &str, ports: u16) -> Service {
    let listed: Vec<_> = (1..=45_000_u16).map(|it| it.to_string()).collect();
    let annotations = [(key("type"), "REGIONAL".to_owned()), (key("http-ports"), listed.join(","))];
    let annotations: Vec<_> = annotations.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let numbers: Vec<_> = (1..=ports).collect();
    let mut service = service(name, &numbers, &annotations);
    service.spec.as_mut().unwrap().allocate_load_balancer_node_ports = Some(false);
    service
}

impl Rig {
    /// Asserts that the provider was never in quarantine, and that each of these Services has one event about its failure.
    async fn assert_nobody_else_noticed(&self, bad: &[&str]) {
        let events = self.all_events().await;
        let quarantined = events.iter().find(|it| it.reason.as_deref() == Some("ProviderQuarantined"));
        assert!(quarantined.is_none(), "{quarantined:?}");
        for name in bad {
            let about = events.iter().filter(|it| it.involved_object.name.as_deref() == Some(name));
            let failed: Vec<_> = about
                .filter(|it| it.involved_object.kind.as_deref() == Some("Service"))
                .filter(|it| it.reason.as_deref() == Some("SyncLoadBalancerFailed"))
                .collect();
            assert_eq!(failed.len(), 1, "{name}: {failed:#?}");
        }
    }
}

#[tokio::test]
async fn adv_103_six_huge_services_stop_no_joining_node() {
    let rig = Rig::new(Options::default()).await;
    let process = rig.start().await;
    rig.workers(1).await;
    let names: Vec<_> = (1..=6).map(|it| format!("huge-{it}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for (nth, name) in names.iter().enumerate() {
        // The annotation alone is too long, or there are too many ports as well.
        rig.create(&huge(name, if nth % 2 == 0 { 2_000 } else { 1 })).await;
        let id = 2 + nth as u64;
        rig.cloud.droplets().insert(Droplet::new(id, &worker(id)));
        kubelet::join(&rig.cluster.admin, &worker(id)).await.unwrap();
        initialized(&rig.cluster, &worker(id)).await;
    }
    rig.create(&service("healthy", &[80], &[])).await;
    rig.served("healthy").await;
    for (nth, name) in names.iter().enumerate() {
        let expected = if nth % 2 == 0 { "2000 ports, and a provider is given 1500" } else { "given 65536 at most" };
        rig.warned(name, "SyncLoadBalancerFailed", &[expected, "What exists in the cloud stays"]).await;
    }
    rig.assert_nobody_else_noticed(&names).await;
    rig.delete(names[0]).await;
    rig.gone(names[0]).await;

    // What stands stays when its Service grows beyond a limit, and goes with its Service.
    let listed = huge("healthy", 1).metadata.annotations.unwrap();
    rig.patch("healthy", &json!({ "metadata": { "annotations": listed } })).await;
    rig.warned("healthy", "SyncLoadBalancerFailed", &["given 65536 at most"]).await;
    let written = rig.writes();
    rig.never(Duration::from_secs(3), async || Some(rig.writes()).filter(|it| *it != written)).await;
    rig.delete("healthy").await;
    rig.gone("healthy").await;
    assert!(rig.cloud.load_balancers().all().is_empty());
    process.stop().await;
}

#[tokio::test]
async fn adv_103_crashing_services_and_nodes_stop_no_other() {
    let cluster = cluster().await;
    // Not asked by anybody: its place is taken by a provider that needs no cloud.
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--service-retry-base-delay=500ms"]);
    let rig = Rig { cluster, cloud, setup };
    let process = rig.start().await;
    for name in CRIMES {
        rig.create(&service(name, &[80], &[])).await;
    }
    for name in CRIMES {
        let expected =
            ["provider hostile: ensure", "Only Service default/", name, "set aside", "Next step: change the Service"];
        rig.warned(name, "SyncLoadBalancerFailed", &expected).await;
    }
    kubelet::join(&rig.cluster.admin, "spin").await.unwrap();
    rig.warned("spin", "ProviderCrashed", &["get was stopped after 500ms of CPU time", "Only node spin", "Next step"])
        .await;
    rig.warned("panic", "SyncLoadBalancerFailed", &["panicked at", "Next step"]).await;
    kubelet::join(&rig.cluster.admin, "panic").await.unwrap();
    rig.warned("panic", "ProviderCrashed", &["get crashed", "panicked at", "Only node panic", "Next step"]).await;
    for name in ["honest-1", "honest-2"] {
        kubelet::join(&rig.cluster.admin, name).await.unwrap();
        initialized(&rig.cluster, name).await;
    }
    rig.create(&service("honest", &[80], &[])).await;
    rig.served("honest").await;
    rig.assert_nobody_else_noticed(&CRIMES).await;

    // It crashes in its deletion too: that is tried again, and nothing is lost meanwhile.
    rig.delete("panic").await;
    rig.warned("panic", "SyncLoadBalancerFailed", &["failed to delete load balancer", "delete crashed"]).await;
    let kept = rig.services().get("panic").await.unwrap();
    assert_eq!(kept.metadata.finalizers, Some(vec![FINALIZER.to_owned()]));
    process.stop().await;
}
