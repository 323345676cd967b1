//! How much a hostile provider can change in an account while the binary runs for one Service.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::clouds::digitalocean::{LoadBalancer, Options, Recorded, Simulator};
use tests::clouds::hetzner;
use tests::control_plane::{Cluster, cluster};
use tests::operator::Process;
use tests::vendor::{Behaviour, Hetzner, Vendor as _};
use tests::{guests, wait};

use crate::setup::{Setup, admin_token, event};

const LEASE: &str = "cloud-controller-manager";
const APPROVAL: &str = "aerostat.dev/cloud-writes-approved";
/// Load balancers that are not the cluster's.
const STANDING: usize = 60;
/// The Lease's annotation with the counts of writes.
const WRITTEN: &str = "aerostat.dev/cloud-writes";

/// The hostile guest and a careless operator.
fn careless(setup: Setup) -> Setup {
    setup.module(guests::HOSTILE.as_ref()).edit(|config| {
        config["provider"]["writesAnnotations"] = json!([]);
        config["endpoints"][0]["limits"] = json!({ "requestsPerSecond": 1000 });
    })
}

/// The binary with the hostile guest, and one Service whose name says what the guest does.
async fn commit(cluster: &Cluster, cloud: &Simulator, crime: &str) -> Process {
    let process = careless(Setup::digitalocean(cluster, cloud)).started().await;
    ask_for(cluster, crime).await;
    process
}

async fn ask_for(cluster: &Cluster, crime: &str) {
    let service: Service = serde_json::from_value(json!({
        "metadata": { "name": crime },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    }))
    .unwrap();
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    services.create(&PostParams::default(), &service).await.unwrap();
}

/// Load balancers of others.
fn stand(cloud: &Simulator) {
    for id in 0..STANDING {
        let id = format!("892071a0-bb95-49bc-8021-3afd67a2{id:04}");
        cloud.load_balancers().insert(LoadBalancer::new(&id, &format!("foreign-{id}")));
    }
}

/// The guest goes on until so many of its deletions were withheld by this process.
async fn withheld(cluster: &Cluster, process: &Process, endpoint: &str, at_least: f64) {
    let metric =
        format!(r#"aerostat_cloud_writes_withheld_total{{credential="token",endpoint="{endpoint}",kind="deletion"}}"#);
    let token = admin_token(cluster).await;
    wait::until_after(TURNS, "more deletions were withheld", async || {
        let page = process.get("/metrics", Some(&token)).await.body;
        let line = page.lines().find_map(|it| it.strip_prefix(&metric))?;
        (line.trim().parse::<f64>().unwrap() >= at_least).then_some(())
    })
    .await;
}

fn accepted(cloud: &Simulator, method: &str) -> usize {
    let accepted = |it: &&Recorded| it.method.as_str() == method && it.status.is_some_and(|it| it / 100 == 2);
    cloud.requests().iter().filter(accepted).count()
}

/// A person approves what is withheld; the annotation is taken away again.
async fn approve(cluster: &Cluster) {
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let patch = json!({ "metadata": { "annotations": { APPROVAL: "true" } } });
    leases.patch(LEASE, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    wait::until("the approval counts once", async || {
        let lease = leases.get(LEASE).await.unwrap();
        (!lease.annotations().contains_key(APPROVAL)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn adv_104_one_service_deletes_twenty_load_balancers() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    stand(&cloud);
    let process = commit(&cluster, &cloud, "deletes-everything").await;
    let parts = ["credential token", "20 deletions", "no more than 20", APPROVAL];
    let warning = event(&cluster, LEASE, &parts).await;
    assert_eq!((warning.reason.as_deref(), warning.type_.as_deref()), (Some("CloudWritesWithheld"), Some("Warning")));

    // The guest goes on for a while, and gets nowhere.
    withheld(&cluster, &process, "api", 50.0).await;
    assert_eq!(accepted(&cloud, "DELETE"), 20);
    assert_eq!(cloud.load_balancers().all().len(), STANDING - 20);

    approve(&cluster).await;
    wait::until_after(TURNS, "the approval lets them leave", async || {
        cloud.load_balancers().all().is_empty().then_some(())
    })
    .await;
    event(&cluster, LEASE, &["writes to the cloud are not limited"]).await;
    process.stop().await;
}

#[tokio::test]
async fn adv_104_one_service_creates_fifty_load_balancers() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let process = commit(&cluster, &cloud, "creates-without-end").await;
    event(&cluster, LEASE, &["credential token", "50 creations", "no more than 50"]).await;
    let more = wait::within(Duration::from_secs(3), async || (accepted(&cloud, "POST") > 50).then_some(())).await;
    assert_eq!((more, accepted(&cloud, "POST")), (None, 50));
    process.stop().await;
}

/// As shipped: the config of Hetzner lets members come and go, and no more whole load balancers than every other.
#[tokio::test]
async fn adv_161_the_config_of_hetzner_frees_no_load_balancers() {
    let cluster = cluster().await;
    let cloud = Hetzner::start(Behaviour::default()).await.unwrap();
    for id in 1..=180 {
        cloud.load_balancers().insert(hetzner::LoadBalancer::new(id, &format!("foreign-{id}")));
    }
    let setup = careless(Hetzner::setup(&cluster, &cloud)).edit(|config| {
        config["provider"]["settings"] = json!({ "load-balancers": "hcloud/load_balancers" });
    });
    let process = setup.started().await;
    ask_for(&cluster, "deletes-everything").await;
    event(&cluster, LEASE, &["20 deletions of whole objects", "effect: delete", "no more than 20"]).await;
    withheld(&cluster, &process, "hcloud", 50.0).await;
    assert_eq!(cloud.load_balancers().all().len(), 160);
    process.stop().await;
}

/// The pauses of a Service whose guest goes on at each call: five calls, with five seconds between them.
const TURNS: Duration = Duration::from_secs(25);

#[tokio::test]
async fn adv_162_three_processes_delete_twenty_load_balancers() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    stand(&cloud);
    let process = commit(&cluster, &cloud, "deletes-everything").await;
    wait::until("some are deleted", async || (accepted(&cloud, "DELETE") >= 5).then_some(())).await;
    process.kill_and_shorten_its_lease(&cluster).await;
    let setup = careless(Setup::digitalocean(&cluster, &cloud));
    let second = setup.started().await;
    withheld(&cluster, &second, "api", 50.0).await;
    second.kill_and_shorten_its_lease(&cluster).await;
    let deleted = accepted(&cloud, "DELETE");
    assert!((5..=20).contains(&deleted), "{deleted}");
    let third = setup.started().await;
    withheld(&cluster, &third, "api", 50.0).await;
    assert_eq!(accepted(&cloud, "DELETE"), deleted, "what was reserved counts as written");
    approve(&cluster).await;
    wait::until_after(TURNS, "the approval lets them leave", async || {
        cloud.load_balancers().all().is_empty().then_some(())
    })
    .await;
    third.stop().await;
}

#[tokio::test]
async fn adv_162_a_record_that_cannot_be_read_lets_nothing_leave() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    stand(&cloud);
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let lease = json!({ "metadata": { "name": LEASE, "annotations": { WRITTEN: "{\"writes\":7}" } } });
    leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
    let process = commit(&cluster, &cloud, "deletes-everything").await;
    let warning = event(&cluster, LEASE, &[WRITTEN, "cannot be read", "Next step", APPROVAL]).await;
    assert_eq!((warning.reason.as_deref(), warning.type_.as_deref()), (Some("CloudWritesUnknown"), Some("Warning")));
    withheld(&cluster, &process, "api", 20.0).await;
    assert_eq!(accepted(&cloud, "DELETE"), 0);
    wait::until("the next renewal says that all is used", async || {
        leases.get(LEASE).await.unwrap().annotations()[WRITTEN].contains("deletion").then_some(())
    })
    .await;
    process.stop().await;
}

/// A Lease says nothing where nothing is written, and a process that ends well leaves nothing reserved.
#[tokio::test]
async fn adv_162_a_process_that_ends_well_reserves_nothing() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    let quiet = careless(Setup::digitalocean(&cluster, &cloud));
    quiet.started().await.stop().await;
    assert!(!leases.get(LEASE).await.unwrap().annotations().contains_key(WRITTEN));

    stand(&cloud);
    let process = commit(&cluster, &cloud, "deletes-everything").await;
    wait::until("some are deleted", async || (accepted(&cloud, "DELETE") >= 5).then_some(())).await;
    process.stop().await;
    let lease = leases.get(LEASE).await.unwrap();
    let text: serde_json::Value = serde_json::from_str(&lease.annotations()[WRITTEN]).unwrap();
    let minutes = text["writes"]["credential token"]["deletion"].as_object().unwrap().values();
    let sent: u64 = minutes.map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(sent, accepted(&cloud, "DELETE") as u64);
}
