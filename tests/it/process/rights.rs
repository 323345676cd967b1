//! The rights of `deploy/rbac.yaml` are enough.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tests::audit_log::Request;
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::cluster;
use tests::{guests, kubelet, wait};

use crate::setup::{Setup, admin_token, event, initialized, write_config_map};

const FAST: [&str; 4] = [
    "--node-status-update-frequency=1s",
    "--node-monitor-period=1s",
    "--node-deletion-warm-up=1s",
    "--node-deletion-grace-period=1s",
];

#[tokio::test]
async fn case_258_nothing_that_aerostat_asks_is_forbidden() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    cloud.droplets().insert(Droplet::new(43, "worker-2"));
    write_config_map(&cluster.admin, "digitalocean-provider", "provider.wasm", guests::DIGITALOCEAN).await;
    let sha256 = guests::sha256(guests::DIGITALOCEAN);
    let setup = Setup::digitalocean(&cluster, &cloud).flags(&FAST).edit(|config| {
        config["provider"]["settings"] = json!({ "pollInterval": "1s" });
        config["provider"]["module"] =
            json!({ "configMap": { "name": "digitalocean-provider", "key": "provider.wasm", "sha256": sha256 } });
    });
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    kubelet::join(&cluster.admin, "worker-2").await.unwrap();
    initialized(&cluster, "worker-1").await;
    initialized(&cluster, "worker-2").await;
    event(&cluster, "worker-1", &["Node synced successfully"]).await;
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    let web = json!({
        "metadata": { "name": "web" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    services.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    event(&cluster, "web", &["Ensured load balancer"]).await;
    services.delete("web", &DeleteParams::default()).await.unwrap();
    wait::until("the Service is gone", async || services.get_opt("web").await.unwrap().is_none().then_some(())).await;
    cloud.droplets().remove(42);
    kubelet::post_ready(&cluster.admin, "worker-1", false).await.unwrap();
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    wait::until("the node is gone", async || nodes.get_opt("worker-1").await.unwrap().is_none().then_some(())).await;
    let token = admin_token(&cluster).await;
    process.get("/metrics", Some(&token)).await;
    process.stop().await;

    cluster.audit().settle(&cluster.admin).await.unwrap();
    let ours: Vec<_> = cluster.audit().everything().unwrap().into_iter().filter(|it| it.is_aerostats()).collect();
    let forbidden: Vec<_> = ours.iter().filter(|it| it.response.code == 403).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    let mut asked: BTreeSet<_> = ours.iter().map(|it| format!("{} {}", it.verb, it.resource())).collect();
    // An event that comes twice is counted on the first one.
    asked.insert("patch events".to_owned());
    let expected = [
        "create events",
        "create leases",
        "create selfsubjectaccessreviews",
        "create subjectaccessreviews",
        "create tokenreviews",
        "delete nodes",
        "get ",
        "get configmaps",
        "get endpointslices",
        "get leases",
        "get namespaces",
        "get services",
        "list servicecidrs",
        "patch events",
        "patch leases",
        "patch nodes",
        "patch nodes/status",
        "patch services/status",
        "update leases",
        "watch nodes",
        "watch services",
    ];
    // Kubernetes 1.33 refuses to stream lists, which are then asked for as pages.
    let is_refused_stream = |it: &Request| it.verb == "watch" && it.response.code == 422;
    let pages: &[&str] = if ours.iter().any(is_refused_stream) { &["list nodes", "list services"] } else { &[] };
    let expected: BTreeSet<_> = expected.iter().chain(pages).map(|it| (*it).to_owned()).collect();
    assert_eq!(asked, expected, "and nothing else is asked");
}
