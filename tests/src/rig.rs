//! Controllers that run in the test's process, between a cluster and a fake cloud.

mod fake_cloud;
pub mod instances;
mod metrics;
pub mod nodes;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use controllers::{
    Account, Context, Events, Metrics, Nodes, RequestedChanges, Task, node, node_ipam, node_lifecycle,
    persistent_volume_labels, route, service, volume_attacher, volume_expander, volume_provisioner,
};
use kube::Client;
use prometheus::Registry;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::control_plane::Cluster;
use crate::wait;

pub use self::fake_cloud::{FakeCloud, description};
pub use self::writes::{taken, writes, written};

/// A controller, and what it is started with.
#[derive(Clone)]
pub enum Controller {
    /// The cloud-node-controller.
    Node(node::Options),
    /// The cloud-node-lifecycle-controller.
    Lifecycle(node_lifecycle::Options),
    /// The service controller.
    Service(service::Options),
    /// The route controller.
    Route(route::Options),
    /// The persistentvolume-label-controller.
    PersistentVolumeLabel,
    /// The volume-provisioner.
    VolumeProvisioner(volume_provisioner::Options),
    /// The volume-attacher.
    VolumeAttacher(volume_attacher::Options),
    /// The volume-expander.
    VolumeExpander,
    /// The node-ipam-controller.
    NodeIpam(node_ipam::Options),
    /// The node-ipam-controller that takes networks from the cloud.
    NodeIpamFromCloud(node_ipam::CloudOptions),
}

impl From<route::Options> for Controller {
    fn from(options: route::Options) -> Controller {
        Controller::Route(options)
    }
}

impl From<node::Options> for Controller {
    fn from(options: node::Options) -> Controller {
        Controller::Node(options)
    }
}

impl From<node_lifecycle::Options> for Controller {
    fn from(options: node_lifecycle::Options) -> Controller {
        Controller::Lifecycle(options)
    }
}

impl From<service::Options> for Controller {
    fn from(options: service::Options) -> Controller {
        Controller::Service(options)
    }
}

impl From<volume_provisioner::Options> for Controller {
    fn from(options: volume_provisioner::Options) -> Controller {
        Controller::VolumeProvisioner(options)
    }
}

impl From<volume_attacher::Options> for Controller {
    fn from(options: volume_attacher::Options) -> Controller {
        Controller::VolumeAttacher(options)
    }
}

impl From<node_ipam::Options> for Controller {
    fn from(options: node_ipam::Options) -> Controller {
        Controller::NodeIpam(options)
    }
}

impl Controller {
    /// The only place that knows how a controller is made.
    fn start(&self, context: &Context, cloud: &cloud_provider::Cloud) -> Task {
        let task = match self.clone() {
            Controller::Node(options) => node::new(context, cloud, options),
            Controller::Lifecycle(options) => node_lifecycle::new(context, cloud, options),
            Controller::Service(options) => service::new(context, cloud, options),
            Controller::Route(options) => route::new(context, cloud, options),
            Controller::PersistentVolumeLabel => persistent_volume_labels::new(context, cloud),
            Controller::VolumeProvisioner(options) => volume_provisioner::new(context, cloud, options),
            Controller::VolumeAttacher(options) => volume_attacher::new(context, cloud, options),
            Controller::VolumeExpander => volume_expander::new(context, cloud),
            Controller::NodeIpam(options) => node_ipam::new(context, options).ok(),
            Controller::NodeIpamFromCloud(options) => node_ipam::new_from_cloud(context, cloud, options),
        };
        task.expect("the cloud has what the controller needs")
    }
}

/// Running controllers. Dropping the rig ends them.
pub struct Rig {
    /// Their metrics.
    pub registry: Registry,
    /// The nodes as the controllers know them.
    pub nodes: Nodes,
    /// The changes that Services ask for, and those that a person has approved.
    pub requested: RequestedChanges,
    running: JoinSet<Result<(), String>>,
    /// The watch of nodes, which never ends, and the sender of events, which ends when all recorders are dropped.
    beside: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Rig {
    /// Starts a controller that asks `cloud`, and writes as aerostat.
    pub fn start<C: FakeCloud>(cluster: &Cluster, cloud: &Arc<C>, controller: impl Into<Controller>) -> Rig {
        Rig::start_as(cluster.aerostat.clone(), cloud, controller)
    }

    /// Starts a controller with a client of the test's making.
    pub fn start_as<C: FakeCloud>(client: Client, cloud: &Arc<C>, controller: impl Into<Controller>) -> Rig {
        Rig::start_with(client, cloud, cloud.account(), controller)
    }

    /// Starts a controller with a client and an account of the test's making.
    pub fn start_with<C: FakeCloud>(
        client: Client,
        cloud: &Arc<C>,
        account: Account,
        controller: impl Into<Controller>,
    ) -> Rig {
        Rig::start_all(client, cloud.offered(), account, &[controller.into()])
    }

    /// Starts the node controller, and beside it the node-lifecycle controller, which checks nodes that are not ready every
    /// `monitor_period`: both ask through one inventory, as in the binary.
    pub fn start_with_lifecycle<C: FakeCloud>(
        cluster: &Cluster,
        cloud: &Arc<C>,
        options: node::Options,
        monitor_period: Duration,
    ) -> Rig {
        let lifecycle = node_lifecycle::Options { monitor_period, ..node_lifecycle::Options::default() };
        let controllers = [Controller::Node(options), Controller::Lifecycle(lifecycle)];
        Rig::start_all(cluster.aerostat.clone(), cloud.offered(), cloud.account(), &controllers)
    }

    /// Starts controllers that share a cloud, an account and, if the cloud has instances, an inventory.
    fn start_all(client: Client, cloud: cloud_provider::Cloud, account: Account, controllers: &[Controller]) -> Rig {
        let registry = Registry::new();
        let (nodes, watch) = Nodes::watch(client.clone(), "the API server".to_owned());
        let (events, send) = Events::new(client.clone());
        let mut beside = JoinSet::new();
        beside.spawn(async {
            watch.await;
        });
        beside.spawn(send);
        let (requested, (stop, shutdown)) = (RequestedChanges::default(), watch::channel(false));
        let metrics = Metrics::register(&registry).expect("nothing is registered yet");
        let context = Context::new(client, nodes.clone(), account, requested.clone(), metrics, events, shutdown);
        let mut running = JoinSet::new();
        for controller in controllers {
            running.spawn(controller.start(&context, &cloud));
        }
        Rig { registry, nodes, requested, running, beside, stop }
    }

    /// Asks the controllers to end.
    #[must_use = "dropping it ends them at once"]
    pub fn stop(self) -> Stopping {
        self.stop.send_replace(true);
        Stopping { running: self.running, _beside: self.beside }
    }

    /// Waits until a controller finds that it cannot work in this cluster, and says why.
    ///
    /// # Panics
    ///
    /// Panics if none does in time, or if one panics or ends otherwise.
    pub async fn fails(&mut self) -> String {
        let ended = tokio::time::timeout(wait::DEADLINE, self.running.join_next()).await;
        let ended = ended.expect("in time").expect("there is a controller").expect("no panic");
        ended.expect_err("it cannot work")
    }

    /// Waits until the controllers know a node.
    pub async fn knows(&self, node: &str) {
        let known = async || self.nodes.all().iter().any(|it| it.metadata.name.as_deref() == Some(node)).then_some(());
        wait::until("the controller knows the node", known).await;
    }
}

/// Controllers that were asked to end.
pub struct Stopping {
    running: JoinSet<Result<(), String>>,
    _beside: JoinSet<()>,
}

impl Stopping {
    /// Whether one has ended.
    pub fn has_ended(&mut self) -> bool {
        self.running.try_join_next().is_some()
    }

    /// Waits until all have ended.
    ///
    /// # Panics
    ///
    /// Panics if one has panicked, or does not end in time.
    pub async fn ended(mut self) {
        let ended = async {
            while let Some(ended) = self.running.join_next().await {
                ended.expect("no panic").expect("it can work in this cluster");
            }
        };
        tokio::time::timeout(wait::DEADLINE, ended).await.expect("in time");
    }
}
