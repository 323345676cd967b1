//! Nodes that claim networks for the cluster: no kubelet can cut the cluster off from its cloud.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use aerostat::{Overrides, RunSettings};
use async_trait::async_trait;
use egress::Resolve;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::{kubelet, wait};
use tokio::sync::oneshot;

use crate::setup::{Setup, event, initialized};

/// Where the cloud's API is, as the world sees it.
const CLOUD: &str = "104.16.1.1";

/// The cloud's name, wherever it is asked for.
struct Names;

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![CLOUD.parse().unwrap()])
    }
}

/// Where the cloud's address leads in this process. One test has the cluster at a time.
static SIMULATOR: OnceLock<SocketAddr> = OnceLock::new();

fn to_simulator(address: SocketAddr) -> SocketAddr {
    match (address.ip().to_string().as_str(), SIMULATOR.get()) {
        (CLOUD, Some(simulator)) => *simulator,
        _ => address,
    }
}

/// DigitalOcean behind its real name and a public address.
fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
    Setup::digitalocean(cluster, cloud)
        .edit(|config| config["endpoints"][0]["baseUrl"] = json!("https://api.digitalocean.com"))
}

/// Runs aerostat while `test` goes on. It must end well.
async fn run(setup: &Setup, test: impl Future<Output = ()>) {
    let settings = RunSettings::parse(setup.arguments()).unwrap();
    let overrides = Overrides { route: to_simulator, names: Some(Arc::new(Names)), ..Overrides::default() };
    let (stop, stopped) = oneshot::channel::<()>();
    let test = async {
        test.await;
        stop.send(()).unwrap();
    };
    let (ended, ()) = tokio::join!(aerostat::run(settings, overrides, async { stopped.await.unwrap() }), test);
    ended.unwrap_or_else(|error| panic!("{error}"));
}

/// A Node as its kubelet creates it, with these fields besides.
fn hostile_node(name: &str, pod_network: Option<&str>, address: Option<&str>) -> Node {
    let mut node: Value = serde_json::to_value(kubelet::node(name)).unwrap();
    if let Some(network) = pod_network {
        node["spec"]["podCIDR"] = json!(network);
        node["spec"]["podCIDRs"] = json!([network]);
    }
    if let Some(address) = address {
        node["status"]["addresses"] = json!([{ "type": "ExternalIP", "address": address }]);
    }
    serde_json::from_value(node).unwrap()
}

#[tokio::test]
async fn adv_101_one_kubelet_does_not_cut_the_cluster_off() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    SIMULATOR.set(cloud.address()).unwrap();
    let setup = setup(&cluster, &cloud);
    let evil = cluster.control_plane.kubelet("evil").await.unwrap();
    let theirs: Api<Node> = Api::all(evil);
    let forbidden = theirs.create(&PostParams::default(), &kubelet::node("another")).await;
    assert!(matches!(forbidden, Err(kube::Error::Api(status)) if status.code == 403), "a kubelet has one Node");
    let everything = ["0.0.0.0/0", "104.16.0.0/16", "104.16.1.1/32", "::/0"];
    let pods = everything.map(|it| (Some(it), None));
    let others = [(None, Some(CLOUD)), (None, Some("::ffff:104.16.1.1")), (Some("0.0.0.0/0"), Some(CLOUD))];
    for (index, (network, address)) in pods.into_iter().chain(others).enumerate() {
        theirs.create(&PostParams::default(), &hostile_node("evil", network, address)).await.unwrap();
        // A process that starts knows every Node before it asks the cloud, and has no connection to it yet.
        run(&setup, async {
            let worker = format!("worker-{index}");
            cloud.droplets().insert(Droplet::new(index as u64 + 1, &worker));
            kubelet::join(&cluster.admin, &worker).await.unwrap();
            initialized(&cluster, &worker).await;
        })
        .await;
        let nodes: Api<Node> = Api::all(cluster.admin.clone());
        nodes.delete("evil", &DeleteParams::default()).await.unwrap();
        wait::until("the hostile Node is gone", async || nodes.get_opt("evil").await.unwrap().is_none().then_some(()))
            .await;
    }
    // The operator's word counts, without any Node.
    let setup = setup.edit(|config| config["clusterNetworks"] = json!({ "pods": ["104.16.0.0/16"] }));
    run(&setup, async {
        cloud.droplets().insert(Droplet::new(100, "worker-100"));
        kubelet::join(&cluster.admin, "worker-100").await.unwrap();
        event(&cluster, "worker-100", &["E-EGRESS-IP", CLOUD, "`clusterNetworks`"]).await;
    })
    .await;
}
