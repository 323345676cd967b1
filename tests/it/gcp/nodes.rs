//! Nodes and routes with the provider, as the binary runs it, by the key of a service account.

use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, KEY, PROJECT, Place, REGION, Simulator};
use tests::operator::Setup;
use tests::{kubelet, wait};

use crate::ground::Ground;

/// The key's tokens are asked for at the token endpoint.
fn exchanging(setup: Setup, cloud: &Simulator) -> Setup {
    let mut key: Value = serde_json::from_str(KEY).unwrap();
    key["token_uri"] = json!(format!("{}/token", cloud.base_url()));
    setup.folder.write("key.json", key.to_string());
    setup.edit(|config| config["credentials"][0]["google"]["serviceAccountKey"]["exchange"] = json!(true))
}

#[tokio::test]
async fn nodes_of_google_join_and_a_dead_one_goes() {
    let flags = ["--node-monitor-period=1s", "--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s"];
    let ground = Ground::with(|_| {}, |setup, cloud| exchanging(setup, cloud).flags(&flags)).await;
    let node = ground.join(1, "b").await;
    assert_eq!(node.spec.as_ref().unwrap().provider_id.as_deref(), Some("gce://p1/europe-west1-b/node-1"));
    for (key, value) in [
        ("node.kubernetes.io/instance-type", "e2-standard-2"),
        ("topology.kubernetes.io/zone", "europe-west1-b"),
        ("topology.kubernetes.io/region", "europe-west1"),
    ] {
        assert_eq!(node.labels().get(key).map(String::as_str), Some(value), "{key}");
    }
    ground.join(2, "c").await;
    wait::until("node-2 has its addresses", async || {
        let node = ground.nodes().get("node-2").await.unwrap();
        let found = kubelet::addresses(&node).into_iter().map(|(_, it)| it.to_owned()).collect::<Vec<_>>();
        ["10.132.0.3", "198.51.100.3"].iter().all(|it| found.iter().any(|one| one == it)).then_some(())
    })
    .await;
    assert!(ground.cloud.requests_to("POST", "/token").iter().all(|it| it.status == Some(200)));
    assert!(!ground.cloud.requests_to("POST", "/token").is_empty());

    kubelet::post_ready(&ground.cluster.admin, "node-2", false).await.unwrap();
    ground.cloud.with(|world| {
        let place = Place::zone(PROJECT, &format!("{REGION}-c"));
        world.remove(&place.path(Collection::Instances, "node-2")).unwrap();
    });
    wait::until("the node of the machine that is gone goes", async || {
        ground.nodes().get_opt("node-2").await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(ground.nodes().get_opt("node-1").await.unwrap().is_some());
    ground.stop().await;
}

#[tokio::test]
async fn routes_of_google_lead_to_the_nodes() {
    let flags = ["--cluster-cidr=10.244.0.0/16", "--route-reconciliation-period=1s", "--route-deletion-warm-up=0s"];
    let ground = Ground::with(|_| {}, |setup, _| setup.flags(&flags)).await;
    for (number, zone) in [(1, "b"), (2, "c")] {
        ground.join(number, zone).await;
        let name = format!("node-{number}");
        let cidr = format!("10.244.{number}.0/24");
        let patch = json!({ "spec": { "podCIDR": cidr, "podCIDRs": [cidr] } });
        ground.nodes().patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    let routes = || {
        let of = |route: &Value| {
            let part = |key: &str| route[key].as_str().unwrap_or_default().rsplit('/').next().unwrap().to_owned();
            (route["destRange"].as_str().unwrap().to_owned(), part("nextHopInstance"))
        };
        let mut all: Vec<_> = ground.cloud.account().all(Collection::Routes).iter().map(of).collect();
        all.sort();
        all
    };
    let expected = [1, 2].map(|it| (format!("10.244.{it}.0/24"), format!("node-{it}")));
    wait::until("both nodes have their route", async || (routes() == expected).then_some(())).await;
    wait::until("the network of a node is available", async || {
        let node = ground.nodes().get("node-1").await.unwrap();
        let all = node.status?.conditions?;
        all.iter().any(|it| it.type_ == "NetworkUnavailable" && it.status == "False").then_some(())
    })
    .await;
    assert!(ground.cloud.requests_to("POST", "/token").is_empty(), "a key signs its own tokens");
    let before = ground.cloud.requests_to("POST", "/compute/v1/projects/p1/global/routes").len();
    let asked = ground.cloud.requests().len();
    let lists = |all: &[tests::clouds::gcp::Recorded]| {
        all[asked..].iter().filter(|it| it.is("GET", "/compute/v1/projects/p1/global/routes")).count() >= 3
    };
    ground.cloud.wait_for("three passes", lists).await;
    let after = ground.cloud.requests_to("POST", "/compute/v1/projects/p1/global/routes").len();
    assert_eq!((before, after), (2, 2), "nothing is written twice");
    ground.nodes().delete("node-2", &DeleteParams::default()).await.unwrap();
    wait::until("the route of a deleted node goes", async || (routes().len() == 1).then_some(())).await;
    ground.stop().await;
}
