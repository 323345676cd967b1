//! How much a hostile provider can change in an account while the binary runs for one Service.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::clouds::digitalocean::{LoadBalancer, Options, Recorded, Simulator};
use tests::control_plane::{Cluster, any_cluster};
use tests::operator::Process;
use tests::{guests, wait};

use crate::setup::{Setup, admin_token, event};

const LEASE: &str = "cloud-controller-manager";
const APPROVAL: &str = "aerostat.dev/cloud-writes-approved";
/// Load balancers that are not the cluster's.
const STANDING: usize = 60;

/// The binary with the hostile guest and a careless operator, and one Service whose name says what the guest does.
async fn commit(cluster: &Cluster, cloud: &Simulator, crime: &str) -> Process {
    let setup = Setup::digitalocean(cluster, cloud).module(guests::HOSTILE.as_ref()).edit(|config| {
        config["provider"]["writesAnnotations"] = json!([]);
        config["endpoints"][0]["limits"] = json!({ "requestsPerSecond": 1000 });
    });
    let process = setup.started().await;
    let service: Service = serde_json::from_value(json!({
        "metadata": { "name": crime },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    }))
    .unwrap();
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    services.create(&PostParams::default(), &service).await.unwrap();
    process
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
    let cluster = any_cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    for id in 0..STANDING {
        let id = format!("892071a0-bb95-49bc-8021-3afd67a2{id:04}");
        cloud.load_balancers().insert(LoadBalancer::new(&id, &format!("foreign-{id}")));
    }
    let process = commit(&cluster, &cloud, "deletes-everything").await;
    let parts = ["credential token", "20 deletions", "no more than 20", APPROVAL];
    let warning = event(&cluster, LEASE, &parts).await;
    assert_eq!((warning.reason.as_deref(), warning.type_.as_deref()), (Some("CloudWritesWithheld"), Some("Warning")));

    let metric = r#"aerostat_cloud_writes_withheld_total{credential="token",endpoint="api",kind="deletion"}"#;
    let token = admin_token(&cluster).await;
    // The guest goes on for a while, and gets nowhere.
    wait::until("five more calls were refused", async || {
        let page = process.get("/metrics", Some(&token)).await.body;
        let line = page.lines().find_map(|it| it.strip_prefix(metric))?;
        (line.trim().parse::<f64>().unwrap() >= 50.0).then_some(())
    })
    .await;
    assert_eq!(accepted(&cloud, "DELETE"), 20);
    assert_eq!(cloud.load_balancers().all().len(), STANDING - 20);

    approve(&cluster).await;
    wait::until("the approval lets them leave", async || cloud.load_balancers().all().is_empty().then_some(())).await;
    event(&cluster, LEASE, &["writes to the cloud are not limited"]).await;
    process.stop().await;
}

#[tokio::test]
async fn adv_104_one_service_creates_fifty_load_balancers() {
    let cluster = any_cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let process = commit(&cluster, &cloud, "creates-without-end").await;
    event(&cluster, LEASE, &["credential token", "50 creations", "no more than 50"]).await;
    let more = wait::within(Duration::from_secs(3), async || (accepted(&cloud, "POST") > 50).then_some(())).await;
    assert_eq!((more, accepted(&cloud, "POST")), (None, 50));
    process.stop().await;
}
