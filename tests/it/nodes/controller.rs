//! A running controller, nodes for it, and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use controllers::node::{self, COMPONENT, Options};
use controllers::{Inventory, Liveness, Metrics, Nodes, Recorder, node_lifecycle};
use k8s_openapi::api::core::v1::{Event, Node, NodeAddress, NodeCondition};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use prometheus::Registry;
use serde_json::Value;
use tests::audit_log::Request;
use tests::control_plane::Cluster;
use tests::{kubelet, wait};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::cloud::{Cloud, machine};

/// The annotation with the node IP that a kubelet was given.
pub(crate) const NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";
/// One worker, and an address loop that makes one pass in a test.
pub(crate) const OPTIONS: Options =
    Options { syncs: 1, status_updates: 0, status_update_frequency: Duration::from_secs(3600) };
/// One worker, and an address loop that never rests for long.
pub(crate) const BUSY_LOOP: Options = Options { status_update_frequency: Duration::from_millis(100), ..OPTIONS };

/// A running controller; dropping it ends it.
pub(crate) struct Controller {
    pub(crate) registry: Registry,
    run: JoinSet<()>,
    /// Ends with its source: the watch never does, and the sender when nobody can record any more.
    beside: JoinSet<()>,
    stop: oneshot::Sender<()>,
}

impl Controller {
    /// Starts a controller that asks `cloud`, and writes as aerostat.
    pub(crate) fn start(cluster: &Cluster, cloud: &Arc<Cloud>, options: Options) -> Controller {
        Controller::start_as(cluster.aerostat.clone(), cloud, options)
    }

    /// Starts a controller with a client of the test's making.
    pub(crate) fn start_as(client: Client, cloud: &Arc<Cloud>, options: Options) -> Controller {
        Controller::start_beside(client, cloud, options, None)
    }

    /// Starts a controller, and beside it the node-lifecycle controller, which looks at nodes that are not ready every
    /// `monitor_period`: both ask through one inventory, as in the binary.
    pub(crate) fn start_with_lifecycle(
        cluster: &Cluster,
        cloud: &Arc<Cloud>,
        options: Options,
        monitor_period: Duration,
    ) -> Controller {
        let lifecycle = node_lifecycle::Options { monitor_period, ..node_lifecycle::Options::default() };
        Controller::start_beside(cluster.aerostat.clone(), cloud, options, Some(lifecycle))
    }

    fn start_beside(
        client: Client,
        cloud: &Arc<Cloud>,
        options: Options,
        lifecycle: Option<node_lifecycle::Options>,
    ) -> Controller {
        let description = cloud_provider::Description {
            name: "fake".to_owned(),
            provider_id_prefixes: vec!["fake://".to_owned()],
            get_batch_size: 1,
            list_page_size: 500,
            ..cloud_provider::Description::default()
        };
        let cloud = cloud_provider::Cloud {
            description: Arc::new(description),
            identity: cloud.clone(),
            instances: Some(cloud.clone()),
            load_balancers: None,
        };
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).expect("nothing is registered yet");
        let (nodes, watch) = Nodes::watch(client.clone(), "the API server".to_owned());
        let (recorder, sender) = Recorder::new(client.clone(), COMPONENT);
        let inventory = Inventory::new(&cloud, nodes.clone(), recorder.clone()).expect("the cloud has instances");
        let inventory = Arc::new(inventory);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let mut beside = JoinSet::new();
        beside.spawn(async {
            watch.await;
        });
        beside.spawn(sender);
        if let Some(options) = lifecycle {
            let (client, nodes, inventory) = (client.clone(), nodes.clone(), inventory.clone());
            let (recorder, metrics, liveness) = (recorder.clone(), metrics.clone(), Liveness::default());
            let never = std::future::pending();
            beside.spawn(node_lifecycle::run(client, nodes, inventory, recorder, metrics, options, liveness, never));
        }
        let mut run = JoinSet::new();
        let liveness = Liveness::default();
        run.spawn(node::run(client, nodes, inventory, recorder, metrics, options, liveness, shutdown));
        Controller { registry, run, beside, stop }
    }

    /// Asks the controller to end.
    pub(crate) fn stop(self) -> Stopping {
        let _ = self.stop.send(());
        Stopping { run: self.run, _beside: self.beside }
    }

    /// The value of a gauge of the only work queue.
    pub(crate) fn gauge(&self, name: &str) -> f64 {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == name).expect("there is such a family");
        family.get_metric()[0].get_gauge().get_value()
    }

    /// The sum and the number of samples of a histogram.
    pub(crate) fn histogram(&self, name: &str) -> (f64, u64) {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == name).expect("there is such a family");
        let histogram = family.get_metric()[0].get_histogram();
        (histogram.get_sample_sum(), histogram.get_sample_count())
    }
}

/// A controller that was asked to end.
pub(crate) struct Stopping {
    run: JoinSet<()>,
    _beside: JoinSet<()>,
}

impl Stopping {
    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.run.try_join_next().is_some()
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(mut self) {
        let ended = tokio::time::timeout(wait::DEADLINE, self.run.join_next()).await;
        ended.expect("in time").expect("there was a task").expect("no panic");
    }
}

/// A node as its kubelet registers it, with changes.
pub(crate) fn waiting(name: &str, change: impl FnOnce(&mut Node)) -> Node {
    let mut node = kubelet::node(name);
    change(&mut node);
    node
}

/// A node that was initialised before, with the addresses that its status has.
pub(crate) fn standing(name: &str, addresses: &[(&str, &str)]) -> Node {
    waiting(name, |it| {
        it.spec = None;
        set_addresses(it, addresses);
    })
}

/// The node, whose kubelet says that it is ready: the node-lifecycle controller has nothing to do with it.
pub(crate) fn ready(mut node: Node) -> Node {
    let ready = NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    node.status.get_or_insert_default().conditions = Some(vec![ready]);
    node
}

/// Gives a node addresses.
pub(crate) fn set_addresses(node: &mut Node, addresses: &[(&str, &str)]) {
    let address =
        |(kind, value): &(&str, &str)| NodeAddress { type_: (*kind).to_owned(), address: (*value).to_owned() };
    node.status.get_or_insert_default().addresses = Some(addresses.iter().map(address).collect());
}

/// Gives a node an annotation.
pub(crate) fn annotate(node: &mut Node, key: &str, value: &str) {
    node.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// Gives a node a label.
pub(crate) fn label(node: &mut Node, key: &str, value: &str) {
    node.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

/// All nodes, with every right.
pub(crate) fn nodes(cluster: &Cluster) -> Api<Node> {
    Api::all(cluster.admin.clone())
}

/// Creates a node in one request, status included: nobody but the controller writes to it afterwards.
pub(crate) async fn create(cluster: &Cluster, node: &Node) -> Node {
    nodes(cluster).create(&PostParams::default(), node).await.expect("the node is created")
}

/// Changes a node as a person would.
pub(crate) async fn patch(cluster: &Cluster, name: &str, patch: Value) {
    let params = PatchParams::default();
    nodes(cluster).patch(name, &params, &Patch::Merge(patch)).await.expect("the node is patched");
}

/// The node, as soon as it fulfils a condition.
pub(crate) async fn node_when(cluster: &Cluster, name: &str, condition: impl Fn(&Node) -> bool) -> Node {
    let (nodes, condition) = (nodes(cluster), &condition);
    let what = format!("node {name} as expected");
    wait::until(&what, async || nodes.get_opt(name).await.ok().flatten().filter(|it| condition(it))).await
}

/// The node, as soon as it has lost its taint.
pub(crate) async fn initialised(cluster: &Cluster, name: &str) -> Node {
    node_when(cluster, name, |it| !kubelet::is_uninitialized(it)).await
}

/// The node, as soon as its status has these addresses.
pub(crate) async fn addressed(cluster: &Cluster, name: &str, addresses: &[(&str, &str)]) -> Node {
    node_when(cluster, name, |it| kubelet::addresses(it) == addresses).await
}

/// Waits until a single worker has dealt with everything that happened before: a last node comes, and is initialised.
pub(crate) async fn settled(cluster: &Cluster, cloud: &Cloud) {
    cloud.has([machine(999)]);
    create(cluster, &kubelet::node("n999")).await;
    synced(cluster, "n999").await;
}

/// Waits until the event that ends a node's initialisation is there.
pub(crate) async fn synced(cluster: &Cluster, name: &str) -> Event {
    let name = name.to_owned();
    wait::until("the event Synced", async || {
        let events = events(cluster, &name).await;
        events.into_iter().find(|it| it.reason.as_deref() == Some("Synced"))
    })
    .await
}

/// All events about a node.
pub(crate) async fn events(cluster: &Cluster, name: &str) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(cluster.admin.clone(), "default");
    let about = ListParams::default().fields(&format!("involvedObject.name={name}"));
    events.list(&about).await.expect("events are listed").items
}

/// What aerostat wrote until now about one node, without events.
pub(crate) async fn writes(cluster: &Cluster, name: &str) -> Vec<Request> {
    cluster.audit().settle(&cluster.admin).await.expect("the audit log grows");
    let mut writes = cluster.audit().writes().expect("the audit log can be read");
    writes.retain(|it| it.object.name == name);
    writes
}

/// The same, as `patch nodes 200`.
pub(crate) async fn written(cluster: &Cluster, name: &str) -> Vec<String> {
    let writes = writes(cluster, name).await;
    writes.iter().map(|it| format!("{} {} {}", it.verb, it.resource(), it.response.code)).collect()
}
