//! The manifests allow enough, in the cloud and in the cluster: from a node's first minute to a Service's last.

use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};
use tests::clouds::digitalocean::{Certificate, Droplet, Options, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::kubelet;
use tests::operator::{Process, Setup, initialized};
use tests::wait::until;

use crate::setup::cloud_config;

const CLUSTER: &str = "d4b2c5a0-7f4e-4d0e-9d4a-6c2b5a1f0e3d";
const CERTIFICATE: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";

fn droplet(id: u64) -> Droplet {
    Droplet::new(id, &format!("worker-{id}")).tag("k8s").tag(&format!("k8s:{CLUSTER}"))
}

/// The binary with the config of `deploy/` and every setting that makes it ask for more.
async fn started(cluster: &Cluster, cloud: &Simulator) -> Process {
    let deployed = cloud_config();
    let hurry = ["--node-monitor-period=1s", "--node-deletion-warm-up=0s", "--node-deletion-grace-period=0s"];
    let setup = Setup::digitalocean(cluster, cloud).flags(&hurry).edit(|config| {
        config["endpoints"][0]["allow"] = deployed["endpoints"][0]["allow"].clone();
        config["provider"]["writesAnnotations"] = deployed["provider"]["writesAnnotations"].clone();
        config["provider"]["settings"] =
            json!({ "clusterId": CLUSTER, "pollInterval": "1s", "allowedCertificates": "shop" });
    });
    setup.started().await
}

/// Cases: manifests
#[tokio::test]
async fn with_the_manifests_nodes_and_load_balancers_are_served() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.certificates().insert(Certificate::new(CERTIFICATE, "shop").lets_encrypt());
    for id in [1, 2] {
        cloud.droplets().insert(droplet(id));
    }
    let mut process = started(&cluster, &cloud).await;
    for id in [1, 2] {
        kubelet::join(&cluster.admin, &format!("worker-{id}")).await.unwrap();
    }
    for id in [1, 2] {
        initialized(&cluster, &format!("worker-{id}")).await;
    }

    let services: Api<Service> = Api::default_namespaced(cluster.admin.clone());
    let service = json!({
        "metadata": { "name": "shop", "annotations": {
            "service.beta.kubernetes.io/do-loadbalancer-type": "REGIONAL",
            "service.beta.kubernetes.io/do-loadbalancer-certificate-name": "shop",
            "service.beta.kubernetes.io/do-loadbalancer-name": "shop.example.com",
        } },
        "spec": { "type": "LoadBalancer", "ports": [{ "name": "https", "port": 443 }] },
    });
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    until("an address", async || {
        let status = services.get_status("shop").await.unwrap().status?;
        status.load_balancer?.ingress.filter(|it| !it.is_empty())
    })
    .await;
    let ports = json!({ "spec": { "ports": [{ "name": "http", "port": 80 }] } });
    services.patch("shop", &PatchParams::default(), &Patch::Strategic(ports)).await.unwrap();
    let only = || cloud.load_balancers().all().pop().unwrap().attributes;
    until("the second port and the name", async || {
        (only().forwarding_rules.len() == 2 && only().name == "shop.example.com").then_some(())
    })
    .await;

    cloud.droplets().remove(2);
    kubelet::post_ready(&cluster.admin, "worker-2", false).await.unwrap();
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    until("the dead node's end", async || nodes.get_opt("worker-2").await.unwrap().is_none().then_some(())).await;
    until("one target", async || (only().droplet_ids == [1]).then_some(())).await;
    cloud.droplets().insert(droplet(3));
    kubelet::join(&cluster.admin, "worker-3").await.unwrap();
    until("two targets", async || (only().droplet_ids == [1, 3]).then_some(())).await;
    let label = json!({ "metadata": { "labels": { "node.kubernetes.io/exclude-from-external-load-balancers": "" } } });
    nodes.patch("worker-3", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    until("one target again", async || (only().droplet_ids == [1]).then_some(())).await;

    services.delete("shop", &DeleteParams::default()).await.unwrap();
    until("the Service's end", async || services.get_opt("shop").await.unwrap().is_none().then_some(())).await;
    assert!(cloud.load_balancers().all().is_empty());

    let said: Vec<_> = std::iter::from_fn(|| process.aerostat.log.try_recv().ok()).filter(is_audit).collect();
    let refused: Vec<_> = said.iter().filter(|it| it["decision"] != "allow").collect();
    assert!(refused.is_empty(), "{refused:#?}");
    process.stop().await;
    cluster.audit().settle(&cluster.admin).await.unwrap();
    let everything = cluster.audit().everything().unwrap();
    let forbidden: Vec<_> = everything.iter().filter(|it| it.is_aerostats() && it.response.code == 403).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
}

fn is_audit(entry: &Map<String, Value>) -> bool {
    entry.get("target").is_some_and(|it| it == "audit")
}
