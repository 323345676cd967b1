//! Context of the controllers, and the [`Task`] as which each of them runs.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{self, Poll};
use std::time::Duration;

use budgets::{NodeDeletions, RequestedChanges};
use cloud_provider::{Cloud, CloudVolumes};
use futures::future::BoxFuture;
use kube::Client;
use tokio::sync::watch;

use crate::account::Account;
use crate::cluster_facts::ClusterFacts;
use crate::events::Events;
use crate::inventory::{COMPONENT, Inventory};
use crate::liveness::Liveness;
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::outage::Outage;
use crate::volume_events::VolumeEvents;
use crate::volume_vendor::{VendorPart, VolumeVendor};

/// The clients, caches and counts that all controllers of one cloud share.
pub struct Context {
    pub(crate) client: Client,
    pub(crate) nodes: Nodes,
    pub(crate) account: Account,
    pub(crate) requested: RequestedChanges,
    pub(crate) metrics: Metrics,
    pub(crate) events: Events,
    pub(crate) node_deletions: NodeDeletions,
    /// The facts of the cluster; none, unless somebody sets them.
    pub(crate) facts: watch::Receiver<ClusterFacts>,
    pub(crate) outage: Outage,
    shutdown: watch::Receiver<bool>,
    /// Made by the first controller that needs it.
    inventory: OnceLock<Option<Arc<Inventory>>>,
    /// Made by the first controller of volumes.
    volume_vendor: OnceLock<Arc<VolumeVendor>>,
}

impl Context {
    /// `client` writes for all controllers. The watch of `nodes` has to run beside them. Nothing is written and no answer
    /// counts unless the cloud's account is `account`. Services count in `requested` what they ask for. Controllers end
    /// once `shutdown` says true, or its sender is gone.
    #[must_use]
    pub fn new(
        client: Client,
        nodes: Nodes,
        account: Account,
        requested: RequestedChanges,
        metrics: Metrics,
        events: Events,
        shutdown: watch::Receiver<bool>,
    ) -> Self {
        let (_, facts) = watch::channel(ClusterFacts::default());
        let (node_deletions, inventory) = (NodeDeletions::default(), OnceLock::new());
        let (outage, volume_vendor) = (Outage::default(), OnceLock::new());
        Self {
            client,
            nodes,
            account,
            requested,
            metrics,
            events,
            node_deletions,
            facts,
            outage,
            shutdown,
            inventory,
            volume_vendor,
        }
    }

    /// Nodes that are deleted count there.
    #[must_use]
    pub fn counting(self, node_deletions: NodeDeletions) -> Self {
        Self { node_deletions, ..self }
    }

    /// The same, where a provider's answers are held against these facts, as they are then.
    #[must_use]
    pub fn with_facts(self, facts: watch::Receiver<ClusterFacts>) -> Self {
        Self { facts, ..self }
    }

    /// The same, where nodes that wait are told what of the cloud is not reached.
    #[must_use]
    pub fn with_outage(self, outage: Outage) -> Self {
        Self { outage, ..self }
    }

    /// For nodes that nobody watches, without an API server and an end.
    #[cfg(test)]
    pub(crate) fn offline(nodes: Nodes, account: Account) -> Self {
        let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
        let (events, _) = Events::new(client.clone());
        let (stop, shutdown) = watch::channel(false);
        // Dropped, it would end the controllers.
        std::mem::forget(stop);
        Self::new(client, nodes, account, RequestedChanges::default(), metrics, events, shutdown)
    }

    /// The one inventory of instances for all controllers, so that one list answers all of them; `None` if the cloud
    /// has none. Its events come from the cloud-node-controller.
    pub(crate) fn inventory(&self, cloud: &Cloud) -> Option<Arc<Inventory>> {
        let make = || {
            let cloud = self.account.guard(cloud.clone());
            let inventory = Inventory::new(&cloud, self.nodes.clone(), self.events.recorder(COMPONENT))?;
            Some(Arc::new(inventory.within(self.account.clone(), self.facts.clone())))
        };
        self.inventory.get_or_init(make).clone()
    }

    /// The one watch over the vendor's controller of volumes, for all that do its work. This one does that of `part`. The first one says how
    /// often it looks.
    pub(crate) fn volume_vendor(
        &self,
        volumes: &Arc<dyn CloudVolumes>,
        part: VendorPart,
        looks: Duration,
    ) -> Arc<VolumeVendor> {
        let make = || {
            let (requested, metrics) = (self.requested.clone(), self.metrics.volumes.clone());
            let events = VolumeEvents::new(self.events.recorder(part.controller()));
            Arc::new(VolumeVendor::new(self.client.clone(), volumes.clone(), requested, metrics, events, looks))
        };
        let vendor = self.volume_vendor.get_or_init(make).clone();
        vendor.replaces(part);
        vendor
    }

    /// Ready when controllers are to end.
    pub(crate) fn shutdown(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut shutdown = self.shutdown.clone();
        async move {
            // An error means that the sender is gone.
            let _ = shutdown.wait_for(|it| *it).await;
        }
    }
}

/// A controller. It runs while it is polled, and is ready when it has ended because its [`Context`] was told to, or, with
/// a sentence, because it cannot do its work in this cluster.
#[must_use = "it runs only while it is polled"]
pub struct Task {
    liveness: Liveness,
    run: BoxFuture<'static, Result<(), String>>,
}

impl Task {
    pub(crate) fn new(liveness: Liveness, run: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::fallible(liveness, async {
            run.await;
            Ok(())
        })
    }

    /// One that may find out that it cannot do its work.
    pub(crate) fn fallible(liveness: Liveness, run: impl Future<Output = Result<(), String>> + Send + 'static) -> Self {
        Self { liveness, run: Box::pin(run) }
    }

    /// Whether the controller makes progress.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        self.liveness.clone()
    }
}

impl Future for Task {
    type Output = Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Result<(), String>> {
        self.run.as_mut().poll(context)
    }
}
