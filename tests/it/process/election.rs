//! One of several replicas works: the Lease, as upstream holds it, and where ours is better.

use std::time::{Duration, Instant};

use aerostat::{Overrides, RunSettings};
use http::Method;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::faults::{Fault, Faults};
use tests::{guests, kubelet, wait};

use crate::setup::{Setup, assert_waits, event, initialized, says};

const LEASE: &str = "cloud-controller-manager";

/// Sooner than upstream's fifteen seconds.
const FAST: [&str; 3] =
    ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"];

fn leases(cluster: &Cluster) -> Api<Lease> {
    Api::namespaced(cluster.admin.clone(), "kube-system")
}

async fn lease(cluster: &Cluster) -> LeaseSpec {
    leases(cluster).get(LEASE).await.unwrap().spec.unwrap()
}

async fn holder(cluster: &Cluster) -> String {
    lease(cluster).await.holder_identity.unwrap_or_default()
}

#[tokio::test]
async fn case_236_after_a_leader_was_killed_the_other_replica_leads() {
    let cluster = cluster().await;
    let first = Setup::guest(&cluster, guests::HOSTILE);
    let leader = first.started().await;
    let second = Setup::guest(&cluster, guests::HOSTILE);
    let mut standby = second.start();
    let first_holder = holder(&cluster).await;
    standby.says(&format!("standing by: {first_holder} holds lease")).await;
    let checks = leader.checks().await;
    let expected =
        ["leaderElection", "cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller"];
    assert_eq!(checks, expected);
    assert_eq!(standby.checks().await, ["leaderElection"], "a standby is healthy, and runs no controller");

    leader.kill();
    let begin = Instant::now();
    standby.says("started cloud-node-controller").await;
    // The last renewal is seen up to 3.2 s after it, 15 s are waited, and the Lease is read again up to 3.2 s later: 21.4 s, and the start
    // of the controllers. A second wait would end after 36 s.
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(30), "it led after {took:?}");
    let lease = lease(&cluster).await;
    assert_ne!(lease.holder_identity.as_deref(), Some(first_holder.as_str()));
    assert_eq!(lease.lease_transitions, Some(1));
    let second_holder = lease.holder_identity.unwrap();
    for identity in [&first_holder, &second_holder] {
        let event = event(&cluster, LEASE, &[&format!("{identity} became leader")]).await;
        assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
        assert_eq!(event.type_.as_deref(), Some("Normal"));
        assert_eq!(event.source.and_then(|it| it.component).as_deref(), Some(LEASE));
        assert_eq!(event.involved_object.kind.as_deref(), Some("Lease"));
        assert_eq!(event.involved_object.api_version.as_deref(), Some("coordination.k8s.io/v1"));
        assert!(event.involved_object.uid.is_some() && event.involved_object.resource_version.is_some());
    }
    standby.stop().await;
    event(&cluster, LEASE, &[&format!("{second_holder} stopped leading")]).await;
}

#[tokio::test]
async fn case_237_without_renewal_the_process_ends() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let faults = Faults::new();
    let overrides = Overrides { client: Some(cluster.faulty(&faults)), ..Overrides::default() };
    let settings = RunSettings::parse(setup.arguments()).unwrap();
    let (ended, failure) = tokio::join!(
        async {
            let failure = aerostat::run(settings, overrides, std::future::pending()).await.unwrap_err();
            (Instant::now(), failure.to_string())
        },
        async {
            wait::until("the Lease is held", async || {
                leases(&cluster).get_opt(LEASE).await.unwrap().and_then(|it| it.spec?.holder_identity)
            })
            .await;
            for method in [Method::GET, Method::PUT] {
                faults.set(Fault::status(method, "/leases/", 500, "InternalError", "injected failure"));
            }
            Instant::now()
        },
    );
    let ((ended, message), begin) = (ended, failure);
    says(&message, &["leaderelection lost", "lease kube-system/cloud-controller-manager", "for 10s"]);
    let after = ended - begin;
    // A renewal that was on its way counts from its own beginning.
    assert!((Duration::from_secs(9)..Duration::from_secs(16)).contains(&after), "it ended after {after:?}");
}

#[tokio::test]
async fn case_237_a_stolen_lease_ends_the_process_at_once() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    let theft = json!({ "spec": { "holderIdentity": "thief", "renewTime": "2030-01-01T00:00:00.000000Z" } });
    leases(&cluster).patch(LEASE, &PatchParams::default(), &Patch::Merge(theft)).await.unwrap();
    let begin = Instant::now();
    says(&process.fails().await, &["leaderelection lost", "thief holds lease"]);
    assert!(begin.elapsed() < Duration::from_secs(8), "it does not try until its deadline");
    assert_eq!(holder(&cluster).await, "thief", "what is not ours is not released");
}

#[tokio::test]
async fn case_238_the_lease_names_host_and_process() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    let first = lease(&cluster).await;
    let identity = first.holder_identity.clone().unwrap();
    let (host, id) = identity.rsplit_once('_').unwrap();
    assert_eq!(host, rustix::system::uname().nodename().to_str().unwrap());
    assert!(uuid::Uuid::parse_str(id).is_ok(), "{identity}");
    assert_eq!((first.lease_duration_seconds, first.lease_transitions), (Some(15), Some(0)));
    let renewed = wait::until("the Lease is renewed", async || {
        Some(lease(&cluster).await).filter(|it| it.renew_time != first.renew_time)
    })
    .await;
    assert_eq!(renewed.acquire_time, first.acquire_time);
    assert_eq!(leases(&cluster).get(LEASE).await.unwrap().name_any(), LEASE);
    process.stop().await;
}

#[tokio::test]
async fn case_238_the_lease_may_be_another() {
    let cluster = cluster().await;
    let flags = ["--leader-elect-resource-name=other", "--leader-elect-resource-namespace=kube-system"];
    // What deploy/rbac.yaml says to do for another name.
    let role = json!({ "rules": [
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update", "patch"],
          "resourceNames": ["other"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] },
        { "apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"] },
    ] });
    let roles: Api<k8s_openapi::api::rbac::v1::Role> = Api::namespaced(cluster.admin.clone(), "kube-system");
    roles.patch(LEASE, &PatchParams::default(), &Patch::Merge(role)).await.unwrap();
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&flags);
    let process = setup.started().await;
    assert!(leases(&cluster).get_opt("other").await.unwrap().is_some());
    assert!(leases(&cluster).get_opt(LEASE).await.unwrap().is_none());
    process.stop().await;
}

#[tokio::test]
async fn case_252_asked_to_end_a_leader_finishes_and_hands_over() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    let first = Setup::digitalocean(&cluster, &cloud);
    let leader = first.started().await;
    let second = Setup::digitalocean(&cluster, &cloud);
    let mut standby = second.start();
    standby.says("standing by").await;

    cloud.set_latency(Duration::from_secs(1));
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    cloud.wait_for("a question about the node", |requests| !requests.is_empty()).await;
    assert!(kubelet::is_uninitialized(&crate::setup::node(&cluster, "worker-1").await));
    leader.stop().await;
    let released = Instant::now();
    let node = crate::setup::node(&cluster, "worker-1").await;
    assert!(!kubelet::is_uninitialized(&node), "what was in flight is finished");
    standby.says("started cloud-node-controller").await;
    assert!(released.elapsed() < Duration::from_secs(10), "a Lease that was not given back lasts fifteen seconds");
    standby.stop().await;
    assert_eq!(holder(&cluster).await, "");
}

#[tokio::test]
async fn case_252_draining_has_a_deadline() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options { latency: Duration::from_secs(60), ..Options::default() }).await.unwrap();
    let setup = Setup::digitalocean(&cluster, &cloud);
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    cloud.wait_for("a question about the node", |requests| !requests.is_empty()).await;
    let begin = Instant::now();
    process.stop().await;
    let took = begin.elapsed();
    assert!((Duration::from_secs(9)..Duration::from_secs(15)).contains(&took), "{took:?}");
    assert_waits(&cluster, "worker-1").await;
    assert_eq!(holder(&cluster).await, "");
}

#[tokio::test]
async fn without_election_there_is_no_lease() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--leader-elect=false"]);
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    initialized(&cluster, "honest-1").await;
    let checks = process.checks().await;
    assert_eq!(checks, ["cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller"]);
    process.stop().await;
    assert!(leases(&cluster).get_opt(LEASE).await.unwrap().is_none());
}

#[tokio::test]
async fn the_lease_is_not_sought_by_a_provider_that_does_not_start() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&FAST);
    let setup = setup.edit(|it| it["provider"]["settings"] = json!({ "describe": "panic" }));
    setup.refused().await;
    assert!(leases(&cluster).get_opt(LEASE).await.unwrap().is_none());
}
