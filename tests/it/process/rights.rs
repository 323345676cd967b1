//! The rights of `deploy/rbac.yaml` are enough.

use std::collections::BTreeSet;

use serde_json::json;
use tests::control_plane::cluster;
use tests::digitalocean::{Droplet, Options, Simulator};
use tests::{guests, kubelet};

use crate::setup::{Setup, admin_token, event, initialized, write_config_map};

#[tokio::test]
async fn case_258_nothing_that_aerostat_asks_is_forbidden() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.droplets().insert(Droplet::new(42, "worker-1"));
    write_config_map(&cluster.admin, "digitalocean-provider", "provider.wasm", guests::DIGITALOCEAN).await;
    let sha256 = guests::sha256(guests::DIGITALOCEAN);
    let setup = Setup::digitalocean(&cluster, &cloud).flags(&["--node-status-update-frequency=1s"]).edit(|it| {
        it["provider"]["module"] =
            json!({ "configMap": { "name": "digitalocean-provider", "key": "provider.wasm", "sha256": sha256 } });
    });
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "worker-1").await.unwrap();
    initialized(&cluster, "worker-1").await;
    event(&cluster, "worker-1", &["Node synced successfully"]).await;
    let token = admin_token(&cluster).await;
    process.get("/metrics", Some(&token)).await;
    process.stop().await;

    cluster.audit().settle(&cluster.admin).await.unwrap();
    let ours: Vec<_> = cluster.audit().everything().unwrap().into_iter().filter(|it| it.is_aerostats()).collect();
    let forbidden: Vec<_> = ours.iter().filter(|it| it.response.code == 403).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    let asked: BTreeSet<_> = ours.iter().map(|it| format!("{} {}", it.verb, it.resource())).collect();
    let expected = [
        "create events",
        "create leases",
        "create subjectaccessreviews",
        "create tokenreviews",
        "get ",
        "get configmaps",
        "get leases",
        "get services",
        "list servicecidrs",
        "patch nodes",
        "patch nodes/status",
        "update leases",
        "watch nodes",
    ];
    assert_eq!(asked, expected.into_iter().map(str::to_owned).collect(), "and nothing else is asked");
}
