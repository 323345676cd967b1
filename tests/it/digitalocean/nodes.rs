//! Nodes of a real cluster, initialised from droplets: what of the DO cases only a whole cluster shows.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::time::Duration;

use controllers::{Account, Context, Events, Metrics, Nodes, RequestedChanges, node};
use k8s_openapi::api::core::v1::{Event, Node};
use kube::api::{Api, ListParams};
use prometheus::Registry;
use tests::clouds::digitalocean::Droplet;
use tests::control_plane::{Cluster, cluster};
use tests::{kubelet, wait};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::setup::{Rig, with};

/// A cluster in which the cloud-node-controller runs.
struct House {
    cluster: Cluster,
    /// End with the test.
    _tasks: JoinSet<Infallible>,
    _stop: watch::Sender<bool>,
}

impl House {
    async fn of(rig: &Rig) -> Self {
        let cluster = cluster().await;
        let client = cluster.aerostat.clone();
        let (nodes, watching) = Nodes::watch(client.clone(), cluster.control_plane.url());
        let (events, send) = Events::new(client.clone());
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let (stop, shutdown) = watch::channel(false);
        let (account, requested) = (Account::any(), RequestedChanges::default());
        let context = Context::new(client, nodes, account, requested, metrics, events, shutdown);
        let minutes = Duration::from_secs(300);
        let options = node::Options { syncs: 1, status_updates: 1, status_update_frequency: minutes };
        let controller = node::new(&context, &rig.provider.cloud(), options).expect("the cloud has instances");
        let mut tasks = JoinSet::new();
        tasks.spawn(watching);
        tasks.spawn(forever(send));
        tasks.spawn(forever(controller));
        Self { cluster, _tasks: tasks, _stop: stop }
    }

    /// Lets a node join, and waits until it is initialised and has addresses.
    async fn joined(&self, name: &str) -> Node {
        kubelet::join(&self.cluster.admin, name).await.unwrap();
        let nodes: Api<Node> = Api::all(self.cluster.admin.clone());
        wait::until("the node is initialised", async || {
            let node = nodes.get(name).await.unwrap();
            (!kubelet::is_uninitialized(&node) && !kubelet::addresses(&node).is_empty()).then_some(node)
        })
        .await
    }

    async fn event(&self, reason: &str) -> Event {
        let events: Api<Event> = Api::default_namespaced(self.cluster.admin.clone());
        wait::until(reason, async || {
            let all = events.list(&ListParams::default()).await.unwrap();
            all.items.into_iter().find(|it| it.reason.as_deref() == Some(reason))
        })
        .await
    }
}

async fn forever<T>(task: impl Future<Output = T>) -> Infallible {
    task.await;
    std::future::pending().await
}

fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref()
}

#[tokio::test]
async fn do_07_a_node_is_initialised_from_the_droplet_with_its_name() {
    let rig = with([Droplet::new(42, "web-1").size("s-4vcpu-8gb").region("nyc3")]).await;
    let node = House::of(&rig).await.joined("web-1").await;
    assert_eq!(provider_id(&node), Some("digitalocean://42"));
    let labels = node.metadata.labels.unwrap_or_default();
    assert_eq!(labels["node.kubernetes.io/instance-type"], "s-4vcpu-8gb");
    assert_eq!(labels["topology.kubernetes.io/region"], "nyc3");
    assert_eq!(labels.get("topology.kubernetes.io/zone"), None);
}

#[tokio::test]
async fn do_08_a_node_named_by_its_address_is_initialised() {
    let droplet = Droplet::new(42, "web-1").private_v4([Ipv4Addr::new(10, 1, 2, 3)]);
    let rig = with([droplet, Droplet::new(43, "web-2")]).await;
    let node = House::of(&rig).await.joined("10.1.2.3").await;
    assert_eq!(provider_id(&node), Some("digitalocean://42"));
    assert!(kubelet::addresses(&node).contains(&("InternalIP", "10.1.2.3")));
}

#[tokio::test]
async fn do_11_a_missing_private_address_is_an_event_on_the_node() {
    let droplet = Droplet::new(42, "web-1").private_v4([]).public_v4([Ipv4Addr::new(203, 0, 113, 5)]);
    let rig = with([droplet]).await;
    let house = House::of(&rig).await;
    let node = house.joined("web-1").await;
    assert_eq!(kubelet::addresses(&node), [("Hostname", "web-1"), ("ExternalIP", "203.0.113.5")]);
    let event = house.event("NoPrivateAddress").await;
    assert_eq!((event.type_.as_deref(), event.involved_object.name.as_deref()), (Some("Warning"), Some("web-1")));
    assert!(event.message.unwrap_or_default().starts_with("droplet 42 (web-1) has no private IPv4 address"));
}
