//! A provider that hides what its requests came to, with the binary: what stands in Kubernetes stays, and people are told.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tests::clouds::digitalocean::{Options, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::operator::Process;
use tests::simulator::Fault;
use tests::{guests, kubelet, wait};

use crate::setup::{Setup, event, initialized};

/// Its machine is asked for, and whatever is answered, the provider says that there is none.
const HIDDEN: &str = "hides-a-failure";
const MACHINE: &str = "/v2/droplets/1001";
const BALANCERS: &str = "/v2/load_balancers";
/// Many periods of the controller.
const WINDOW: Duration = Duration::from_secs(8);

async fn started(cluster: &Cluster, cloud: &Simulator) -> Process {
    let flags = ["--node-monitor-period=1s", "--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s"];
    let setup = Setup::digitalocean(cluster, cloud).flags(&flags).module(guests::HOSTILE.as_ref()).edit(|config| {
        config["provider"]["writesAnnotations"] = json!([]);
    });
    setup.started().await
}

async fn gone(nodes: &Api<Node>) -> Option<()> {
    nodes.get_opt(HIDDEN).await.unwrap().is_none().then_some(())
}

#[tokio::test]
async fn adv_156_no_node_is_lost_because_a_provider_hides_a_500() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let process = started(&cluster, &cloud).await;
    // A list that holds no machine of the cluster would prove nothing.
    kubelet::join(&cluster.admin, "honest-1").await.unwrap();
    initialized(&cluster, "honest-1").await;
    let mut node = kubelet::node(HIDDEN);
    let spec = node.spec.get_or_insert_default();
    (spec.provider_id, spec.taints) = (Some(format!("hostile://{HIDDEN}")), None);
    cloud.inject(Fault::status("GET", MACHINE, 500));
    kubelet::join_as(&cluster.admin, node).await.unwrap();
    kubelet::post_ready(&cluster.admin, HIDDEN, false).await.unwrap();

    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    wait::until("it was asked about twice", async || (cloud.requests_to("GET", MACHINE).len() >= 2).then_some(()))
        .await;
    assert_eq!(wait::within(WINDOW, async || gone(&nodes).await).await, None, "the node is gone");
    cloud.clear_faults();
    // It was asked about with pauses that double, and two answers in a row count.
    wait::until_after(WINDOW * 2, "the cloud says 404, and the node goes", async || gone(&nodes).await).await;
    process.stop().await;
}

#[tokio::test]
async fn adv_157_a_lost_creation_is_told_whatever_the_provider_says() {
    let cluster = cluster().await;
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.inject(Fault::nothing("POST", BALANCERS).times(1));
    let process = started(&cluster, &cloud).await;
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    let service = json!({
        "metadata": { "name": "hides-its-writes" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    event(&cluster, "hides-its-writes", &["Ensured load balancer"]).await;
    let told = event(&cluster, "hides-its-writes", &["POST", BALANCERS, "may be there or not"]).await;
    let (reason, kind) = (told.reason.as_deref(), told.type_.as_deref());
    assert_eq!((reason, kind), (Some("LoadBalancerCreationUnclear"), Some("Warning")));
    assert_eq!(cloud.load_balancers().all().len(), 1, "it was carried out");

    // What it finds is to be deleted, which fails; it says that all is done.
    cloud.inject(Fault::status("DELETE", &format!("{BALANCERS}/*"), 500));
    services.delete("hides-its-writes", &DeleteParams::default()).await.unwrap();
    event(&cluster, "hides-its-writes", &["DELETE", "answered with 500", "that is not believed"]).await;
    let kept = services.get("hides-its-writes").await.unwrap();
    assert_eq!(kept.finalizers(), ["service.kubernetes.io/load-balancer-cleanup"]);
    cloud.clear_faults();
    wait::until("the Service goes once its load balancer has gone", async || {
        services.get_opt("hides-its-writes").await.unwrap().is_none().then_some(())
    })
    .await;
    assert_eq!(cloud.load_balancers().all().len(), 0);
    process.stop().await;
}
