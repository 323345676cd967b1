//! A running controller, nodes for it, and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use controllers::node_lifecycle::{self, Budget, COMPONENT, Options};
use controllers::{Account, Inventory, Liveness, Metrics, Nodes, Recorder};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Event, Node, NodeCondition, NodeSpec, NodeStatus, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use prometheus::Registry;
use serde_json::{Value, json};
use tests::audit_log::Request;
use tests::control_plane::Cluster;
use tests::wait;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::cloud::{Cloud, machine};

/// The taint of a stopped machine.
pub(crate) const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// Passes that come fast, and nothing that asks for patience.
pub(crate) const OPTIONS: Options = Options {
    monitor_period: Duration::from_millis(100),
    apart: Duration::ZERO,
    warm_up: Duration::ZERO,
    grace: Duration::ZERO,
    budget: Budget { percent: 100, window: Duration::from_secs(600) },
};
/// The node that lives beside those that a test is about.
pub(crate) const LIVING: usize = 9999;
/// The node that shows that a pass was made.
const MARKER: usize = 9998;

/// A running controller; dropping it ends it.
pub(crate) struct Controller {
    registry: Registry,
    run: JoinSet<()>,
    /// Ends with its source: the watch never does, and the sender when nobody can record any more.
    _beside: JoinSet<()>,
    stop: oneshot::Sender<()>,
}

impl Controller {
    /// Starts a controller that asks `cloud`, and writes as aerostat.
    pub(crate) fn start(cluster: &Cluster, cloud: &Arc<Cloud>, options: Options) -> Controller {
        Controller::start_as(cluster.aerostat.clone(), cloud, options)
    }

    /// Starts a controller with a client of the test's making.
    pub(crate) fn start_as(client: Client, cloud: &Arc<Cloud>, options: Options) -> Controller {
        let description = cloud_provider::Description {
            name: "fake".to_owned(),
            provider_id_prefixes: vec!["fake://".to_owned()],
            get_batch_size: 1,
            list_page_size: 500,
            ..cloud_provider::Description::default()
        };
        let account = Account::new(cloud.clone(), None);
        let cloud = account.guard(cloud_provider::Cloud {
            description: Arc::new(description),
            identity: cloud.clone(),
            instances: Some(cloud.clone()),
            load_balancers: None,
        });
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).expect("nothing is registered yet");
        let (nodes, watch) = Nodes::watch(client.clone(), "the API server".to_owned());
        let (recorder, sender) = Recorder::new(client.clone(), COMPONENT);
        let inventory = Inventory::new(&cloud, nodes.clone(), recorder.clone()).expect("the cloud has instances");
        let inventory = inventory.within(account);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let mut beside = JoinSet::new();
        beside.spawn(async {
            watch.await;
        });
        beside.spawn(sender);
        let mut run = JoinSet::new();
        let inventory = Arc::new(inventory);
        run.spawn(node_lifecycle::run(
            client,
            nodes,
            inventory,
            recorder,
            metrics,
            options,
            Liveness::default(),
            shutdown,
        ));
        Controller { registry, run, _beside: beside, stop }
    }

    /// Asks the controller to end, and waits until it has.
    pub(crate) async fn stop(mut self) {
        let _ = self.stop.send(());
        let ended = tokio::time::timeout(wait::DEADLINE, self.run.join_next()).await;
        ended.expect("in time").expect("there was a task").expect("no panic");
    }

    /// How many deletions were withheld for this reason.
    pub(crate) fn withheld(&self, reason: &str) -> usize {
        let families = self.registry.gather();
        // There is none before the controller knows the nodes.
        let family = families.iter().find(|it| it.name() == "aerostat_node_deletions_withheld_total");
        let mut counters = family.into_iter().flat_map(|it| it.get_metric());
        let counter = counters.find(|it| it.get_label()[0].value() == reason);
        counter.map_or(0, |it| it.get_counter().get_value() as usize)
    }

    /// Waits until so many deletions were withheld for this reason.
    pub(crate) async fn withholds(&self, count: usize, reason: &str) {
        wait::until(&format!("{count} deletions are withheld for the reason {reason}"), async || {
            (self.withheld(reason) >= count).then_some(())
        })
        .await;
    }
}

/// Node `n<nth>`, which is not ready and belongs to machine `nth`.
pub(crate) fn node(nth: usize) -> Node {
    let provider_id = Some(format!("fake://{nth}"));
    let mut node = Node {
        metadata: ObjectMeta { name: Some(format!("n{nth}")), ..ObjectMeta::default() },
        spec: Some(NodeSpec { provider_id, ..NodeSpec::default() }),
        status: None,
    };
    set_ready(&mut node, Some("False"));
    node
}

/// Gives a node the condition Ready with this status, or none.
pub(crate) fn set_ready(node: &mut Node, status: Option<&str>) {
    let conditions = status.map(|status| {
        vec![NodeCondition { type_: "Ready".to_owned(), status: status.to_owned(), ..NodeCondition::default() }]
    });
    node.status = Some(NodeStatus { conditions, ..NodeStatus::default() });
}

/// Gives a node taints, as pairs of key and effect.
pub(crate) fn set_taints(node: &mut Node, taints: &[(&str, &str)]) {
    let taint = |(key, effect): &(&str, &str)| Taint {
        key: (*key).to_owned(),
        effect: (*effect).to_owned(),
        ..Taint::default()
    };
    node.spec.get_or_insert_default().taints = Some(taints.iter().map(taint).collect());
}

/// A node's taints, as pairs of key and effect, without those that the API server keeps for conditions.
pub(crate) fn taints(node: &Node) -> Vec<(&str, &str)> {
    let taints = node.spec.as_ref().and_then(|it| it.taints.as_deref()).unwrap_or_default();
    let pairs = taints.iter().map(|it| (it.key.as_str(), it.effect.as_str()));
    pairs.filter(|(key, _)| !key.starts_with("node.kubernetes.io/")).collect()
}

/// All nodes, with every right.
pub(crate) fn nodes(cluster: &Cluster) -> Api<Node> {
    Api::all(cluster.admin.clone())
}

/// Creates a node in one request, status included: nobody but the controller writes to it afterwards.
pub(crate) async fn create(cluster: &Cluster, node: &Node) -> Node {
    nodes(cluster).create(&PostParams::default(), node).await.expect("the node is created")
}

/// Creates the nodes from 1 to `count`, 32 at a time.
pub(crate) async fn create_all(cluster: &Cluster, count: usize) {
    let create = |nth| async move { drop(create(cluster, &node(nth)).await) };
    stream::iter(1..=count).for_each_concurrent(32, create).await;
}

/// Creates a node that is ready, and its machine.
pub(crate) async fn create_living(cluster: &Cluster, cloud: &Cloud) {
    cloud.has([machine(LIVING)]);
    let mut living = node(LIVING);
    set_ready(&mut living, Some("True"));
    create(cluster, &living).await;
}

/// Changes a node as a person would.
pub(crate) async fn patch(cluster: &Cluster, name: &str, patch: Value) {
    let params = PatchParams::default();
    nodes(cluster).patch(name, &params, &Patch::Merge(patch)).await.expect("the node is patched");
}

/// Changes what a node says of itself, as its kubelet would.
pub(crate) async fn post_ready(cluster: &Cluster, name: &str, status: &str) {
    let patch = json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
    let params = PatchParams::default();
    nodes(cluster).patch_status(name, &params, &Patch::Strategic(patch)).await.expect("the status is patched");
}

/// The node, as soon as it fulfils a condition.
pub(crate) async fn node_when(cluster: &Cluster, name: &str, condition: impl Fn(&Node) -> bool) -> Node {
    let (nodes, condition) = (nodes(cluster), &condition);
    let what = format!("node {name} as expected");
    wait::until(&what, async || nodes.get_opt(name).await.ok().flatten().filter(|it| condition(it))).await
}

/// Waits until a node is gone.
pub(crate) async fn gone(cluster: &Cluster, name: &str) {
    let nodes = nodes(cluster);
    wait::until(&format!("node {name} is gone"), async || {
        nodes.get_opt(name).await.is_ok_and(|it| it.is_none()).then_some(())
    })
    .await;
}

/// The names of the nodes that there are.
pub(crate) async fn left(cluster: &Cluster) -> Vec<String> {
    let nodes = nodes(cluster).list(&ListParams::default()).await.expect("nodes are listed");
    nodes.iter().map(ResourceExt::name_any).collect()
}

/// Waits until only so many nodes are left.
pub(crate) async fn left_are(cluster: &Cluster, count: usize) {
    let what = format!("{count} nodes are left");
    wait::until(&what, async || (left(cluster).await.len() <= count).then_some(())).await;
}

/// Waits until a pass has begun after now and has done its writes: a ready node loses the taint of a stopped machine.
pub(crate) async fn passed(cluster: &Cluster) {
    let mut marker = node(MARKER);
    set_ready(&mut marker, Some("True"));
    set_taints(&mut marker, &[(SHUTDOWN, "NoSchedule")]);
    let name = create(cluster, &marker).await.name_any();
    node_when(cluster, &name, |it| taints(it).is_empty()).await;
    nodes(cluster).delete(&name, &DeleteParams::default()).await.expect("the marker is deleted");
}

/// Waits until the cloud was asked something so many times.
pub(crate) async fn asked(cloud: &Cloud, call: &str, times: usize) {
    wait::until(&format!("{call} was asked {times} times"), async || (cloud.asked(call) >= times).then_some(())).await;
}

/// The event about a node with this reason, as soon as it is there.
pub(crate) async fn event(cluster: &Cluster, name: &str, reason: &str) -> Event {
    wait::until(&format!("the event {reason} about {name}"), async || {
        events(cluster, name).await.into_iter().find(|it| it.reason.as_deref() == Some(reason))
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

/// How many nodes aerostat has asked the API server to delete.
pub(crate) async fn deletions(cluster: &Cluster) -> usize {
    cluster.audit().settle(&cluster.admin).await.expect("the audit log grows");
    let writes = cluster.audit().writes().expect("the audit log can be read");
    writes.iter().filter(|it| it.verb == "delete").count()
}
