//! The service-lb-controller: it creates, updates and deletes the load balancers of Services of type LoadBalancer.
//!
//! ```text
//! watch ► Services ┐                 ┌ Ignore
//!                  ├ queue ► ■ plan ─┼ Ensure: finalizer ► the cloud ► memo, annotations, status in one write ► event
//! Nodes ► Changes ─┘                 └ Delete: the cloud ► finalizer and memo off, status empty in one write ► event
//! ```
//!
//! Nobody waits for a cloud that is busy: the Service is reconciled again later. What the provider asked to keep is on
//! the Service before it is called again.

mod addresses;
mod backends;
mod changes;
mod class;
mod confirmations;
mod desired;
mod error;
mod inventory;
mod judged;
mod long_pending;
mod memos;
mod orphan;
mod orphaned;
mod plan;
mod removal;
mod resync;
mod selectors;
mod services;
mod state;
mod status;
mod sync;
#[cfg(test)]
mod testing;
mod unknown;
mod write;

use std::sync::Arc;
use std::time::Duration;

use budgets::{RequestedChanges, Spent};
use cloud_provider::{Cloud, Description, Event, LoadBalancer, LoadBalancers};
use k8s_openapi::api::core::v1::{ObjectReference, Service};
use kube::api::Api;
use kube::runtime::reflector::store::Writer;
use kube::{Client, ResourceExt};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::account::changed;
use crate::cluster_facts::ClusterFacts;
use crate::context::{Context, Task};
use crate::error::{BackOff, Pause, chain};
use crate::events::{EventKind, Recorder, reference};
use crate::liveness::Liveness;
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::provider_events::ProviderEvents;
use crate::queue::limits::Limits;
use crate::queue::pump::WorkQueue;
use crate::trimmed::Trimmed;
use crate::watch;
use crate::worker::{self, Next, Reconcile, random};

use self::backends::Backends;
use self::changes::{Changes, Noted, Pass};
use self::confirmations::{Blocked, Confirmations};
use self::desired::{Cluster, Invalid, compared_fields};
use self::error::Error;
use self::inventory::Lists;
pub use self::inventory::Options as InventoryOptions;
use self::inventory::orphans::Orphans;
use self::plan::{Plan, is_wanted, plan};
use self::selectors::Selectors;
use self::services::{Services, key};
use self::state::{Counted, EventEffect, ServiceState, ServiceStates};

/// The source of this controller's events.
const COMPONENT: &str = "service-controller";
/// The name in metrics of the queue of Services.
const SERVICES: &str = "service";
/// The name in metrics of the queue of node changes.
const NODES: &str = "node";
/// The longest pause of the back-off, in first pauses.
const LONGEST: u32 = 60;
/// How often it is looked for load balancers that have been pending for long.
const LONG_PENDING: Duration = Duration::from_secs(1);
/// So many of one call are recorded.
const EVENTS: usize = 10;

/// How much this controller does at once, and how often.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// Services that are worked on side by side: `--concurrent-service-syncs`, at least 1.
    pub syncs: usize,
    /// `--cluster-name`: part of what marks a load balancer as the cluster's.
    pub cluster_name: String,
    /// `--load-balancer-class`: Services of this class are looked after too.
    pub class: Option<String>,
    /// The pause after the first failure; it doubles with each further one, up to 60 times as much.
    pub retry_base: Duration,
    /// How load balancers are looked after beyond what Services ask for.
    pub inventory: InventoryOptions,
}

/// What the parts of this controller share.
struct Controller {
    client: Client,
    cluster: Cluster,
    facts: Receiver<ClusterFacts>,
    load_balancers: Arc<dyn LoadBalancers>,
    /// `None`: this cloud cannot list them.
    lists: Option<Arc<Lists>>,
    /// What the cloud has for Services that do not exist.
    unowned: Mutex<Orphans>,
    /// The versions of the credentials.
    versions: Receiver<u64>,
    requested: RequestedChanges,
    recorder: Recorder,
    metrics: Metrics,
    services: Services,
    nodes: Nodes,
    changes: Changes,
    confirmations: Confirmations,
    states: Mutex<ServiceStates>,
    /// The deletions for Services that were deleted without their finalizer.
    orphans: Mutex<Spent>,
    events: Mutex<ProviderEvents>,
    queue: Arc<WorkQueue>,
    back_off: BackOff,
}

/// The controller, unless the cloud has no load balancers. When it ends, Services that are being worked on are finished
/// first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    let cloud = context.account.guard(cloud.clone());
    let load_balancers = cloud.load_balancers.clone()?;
    let (nodes, metrics) = (context.nodes.clone(), context.metrics.clone());
    let syncs = side_by_side(options.syncs, &cloud.description.now());
    let (services, writer) = Services::new();
    let confirmations = Confirmations::new(context.inventory(&cloud), nodes.clone());
    let confirms = confirmations.are_possible();
    let changes = Changes::new(nodes.clone(), cloud.description.clone(), confirms, metrics.queue(NODES));
    let counted = Counted {
        requested: context.requested.clone(),
        provider: cloud.description.clone(),
        node_changes: changes.node_changes(),
    };
    let controller = Controller {
        client: context.client.clone(),
        cluster: Cluster { name: options.cluster_name, class: options.class, description: cloud.description },
        facts: context.facts.clone(),
        load_balancers,
        lists: cloud.load_balancer_inventory.map(|it| Arc::new(Lists::new(it, options.inventory, Instant::now()))),
        unowned: Mutex::default(),
        versions: cloud.identity.versions(),
        requested: context.requested.clone(),
        recorder: context.events.recorder(COMPONENT),
        changes,
        nodes,
        confirmations,
        queue: Arc::new(WorkQueue::new(metrics.queue(SERVICES), Limits::per_key(), random)),
        metrics,
        services,
        states: Mutex::new(ServiceStates::new(counted)),
        orphans: Mutex::default(),
        events: Mutex::default(),
        back_off: BackOff { first: options.retry_base, longest: options.retry_base.saturating_mul(LONGEST) },
    };
    let liveness = Liveness::default();
    let run = Arc::new(controller).run(writer, syncs, liveness.clone(), context.shutdown());
    Some(Task::new(liveness, run))
}

/// How many Services are worked on side by side: no more than the provider writes load balancers at a time.
fn side_by_side(syncs: usize, description: &Description) -> usize {
    let most = description.load_balancer_concurrency.and_then(|it| usize::try_from(it).ok()).unwrap_or(syncs);
    if most < syncs {
        info!(
            "{most} Services are worked on side by side, and not {syncs} as --concurrent-service-syncs says: the provider {} \
             writes no more load balancers at a time",
            description.name,
        );
    }
    most.min(syncs)
}

impl Controller {
    async fn run(
        self: Arc<Self>,
        writer: Writer<Service>,
        workers: usize,
        liveness: Liveness,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let mut background = JoinSet::new();
        background.spawn(self.clone().watch_services(writer));
        let mut shutdown = std::pin::pin!(shutdown);
        tokio::select! {
            () = async { tokio::join!(self.nodes.synced(), self.services.synced()); } => {}
            () = &mut shutdown => return,
        }
        self.listen_to_nodes();
        background.spawn(self.clone().confirm_backends());
        background.spawn(self.clone().follow_node_changes());
        background.spawn(self.clone().retry_denied());
        background.spawn(self.clone().report_long_pending());
        background.spawn(self.clone().follow_lists());
        background.spawn(self.clone().delete_orphans());
        let queue = self.queue.clone();
        worker::run(self, queue, workers, background, &liveness, shutdown).await;
    }

    async fn watch_services(self: Arc<Self>, mut writer: Writer<Service>) {
        let apply = |event| self.services.apply(event, &mut writer, |key, it| self.on_service_event(key, it));
        let services = Api::all(self.client.clone());
        match watch::follow(services, "Services", "the API server", watch::LASTS, apply).await {}
    }

    fn listen_to_nodes(self: &Arc<Self>) {
        let controller = Arc::downgrade(self);
        self.nodes.listen(move |before, node| {
            if let (Some(controller), Some(node)) = (controller.upgrade(), node.or(before)) {
                controller.on_node_change(&node.name_any());
            }
        });
        let controller = Arc::downgrade(self);
        self.nodes.listen_for_evidence(move |node| {
            if let Some(controller) = controller.upgrade() {
                controller.on_node_change(node);
            }
        });
    }

    async fn confirm_backends(self: Arc<Self>) {
        let release = |key: &str| self.queue.add(key);
        match self.confirmations.run(release, |blocked| self.record_blocked(&blocked)).await {}
    }

    async fn follow_node_changes(self: Arc<Self>) {
        loop {
            self.changes.settled().await;
            self.pass();
        }
    }

    async fn retry_denied(self: Arc<Self>) {
        let (mut versions, mut approvals) = (self.versions.clone(), self.requested.approvals());
        loop {
            tokio::select! {
                () = changed(&mut versions) => {}
                () = changed(&mut approvals) => {}
            }
            let allowed = self.states().allowed(self.rights());
            allowed.iter().for_each(|it| self.queue.add(it));
        }
    }

    async fn report_long_pending(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LONG_PENDING).await;
            self.record_long_pending(Instant::now());
        }
    }
}

impl Controller {
    /// Takes note of what the watch says about a Service.
    fn on_service_event(&self, key: &str, service: Option<&Service>) {
        let mut states = self.states();
        let Some(service) = service else {
            // Only whoever works on a key forgets what may have a load balancer.
            if let Some(effect) = states.get(key).map(|it| it.vanished()) {
                self.apply_effect(key, effect);
            }
            return;
        };
        let may_exist = states.get(key).is_some_and(|it| it.work.may_exist);
        let plan = plan(service, may_exist, &self.cluster);
        let Some(state) = states.get(key) else {
            if plan != Ok(Plan::Ignore) {
                self.queue.add(key);
            }
            return;
        };
        if is_wanted(service, &self.cluster) {
            self.record_unknown_annotations(state, service);
        }
        let effect = match &plan {
            Ok(Plan::Ensure(desired)) => state.effect(service, Some(&compared_fields(desired.clone())), false),
            Ok(Plan::Delete(_)) => state.effect(service, None, true),
            Ok(Plan::Ignore | Plan::Forget) => state.effect(service, None, false),
            Err(_) => EventEffect::Add,
        };
        match effect {
            EventEffect::Forget => states.forget(key),
            effect => self.apply_effect(key, effect),
        }
    }

    /// Puts a Service into the queue, if there is something to do.
    fn apply_effect(&self, key: &str, effect: EventEffect) {
        match effect {
            EventEffect::None | EventEffect::Forget => {}
            EventEffect::AddIfIdle => self.queue.add_if_idle(key),
            EventEffect::Add => self.queue.add(key),
            EventEffect::AddDespitePause => self.queue.add_despite_pause(key),
        }
    }

    /// A node has changed, or what the cloud says of it.
    fn on_node_change(&self, name: &str) {
        let Noted { unknown, left_out } = self.changes.note(name, Instant::now());
        if unknown || !self.confirmations.are_complete() {
            self.confirmations.wake();
        }
        if let (Some(why), Some(node)) = (left_out, self.nodes.get(name)) {
            let message = format!("Node {name} is no backend of load balancers: {why}");
            self.recorder.record(reference(node.as_ref()), EventKind::Warning, "NotABackend", &message);
        }
    }

    /// Records on Services what the cloud has been busy with for long. That is no failure, and so no warning: clouds
    /// take their time, and whoever is alarmed by warnings could do nothing about it.
    fn record_long_pending(&self, now: Instant) {
        let (blocked, longest) = self.states().long_pending(now);
        self.metrics.longest_pending.set(longest.as_secs_f64());
        for (about, message) in blocked {
            self.recorder.record(about, EventKind::Normal, "LoadBalancerPending", &message);
        }
    }

    /// Records on a Service which of its annotations nobody knows, once for each set of them.
    fn record_unknown_annotations(&self, state: &mut ServiceState, service: &Service) {
        let description = self.cluster.description.now();
        let unknown = unknown::annotations(service, &description);
        if state.are_new(&unknown) {
            let message = unknown::message(&unknown, &description);
            self.recorder.record(reference(service), EventKind::Warning, "UnknownAnnotation", &message);
        }
    }

    /// Records on Services why nothing is done about their load balancers.
    fn record_blocked(&self, Blocked { services, why }: &Blocked) {
        let message = format!(
            "Error syncing load balancer: the cloud has not said yet which nodes exist, and until it has, load balancers \
             stay as they are: {why}"
        );
        for service in services.iter().filter_map(|it| self.services.get(it)) {
            self.recorder.record(reference(service.as_ref()), EventKind::Warning, "SyncLoadBalancerFailed", &message);
        }
    }

    /// Goes through all Services once other nodes take traffic.
    fn pass(&self) {
        let (began, backends) = (Instant::now(), self.changes.backends());
        let pass = Pass::begin(self.metrics.backend_pass.clone());
        for service in self.services.all().iter().filter(|it| is_wanted(it, &self.cluster)) {
            let key = key(service);
            let mut states = self.states();
            let Some(state) = states.get(&key) else { continue };
            // One that says nothing that can be read is worked on when it changes.
            let Ok(backends) = self.selected(state.work.desired.as_ref(), &backends) else { continue };
            if state.work.backends == backends.compared_fields {
                continue;
            }
            if state.lacks(&backends.compared_fields) {
                state.observed.pass = Some(pass.clone());
                self.queue.add(&key);
            } else {
                // A call in flight has the nodes as they were.
                self.queue.add_if_taken(&key);
            }
        }
        self.changes.worked(began.elapsed());
    }

    /// Those of the nodes that take traffic which a load balancer selects: all of them, unless it has a selector.
    fn selected(&self, desired: Option<&LoadBalancer>, backends: &Arc<Backends>) -> Result<Arc<Backends>, Invalid> {
        let description = self.cluster.description.now();
        let selectors = desired.map(|it| Selectors::of(it, &description)).transpose().map_err(Invalid::new)?;
        Ok(match selectors.flatten() {
            Some(selectors) => Arc::new(backends.selected(&selectors)),
            None => backends.clone(),
        })
    }

    /// The Service under a key, as the watch knows it or as we left it, whichever is newer.
    fn latest(&self, key: &str) -> Option<Arc<Service>> {
        let watched = self.services.get(key)?;
        Some(match self.states().get(key) {
            Some(state) => state.newest(watched),
            None => watched,
        })
    }

    /// Records a provider's events about a Service on it.
    fn record_provider_events(&self, about: &ObjectReference, events: Vec<Event>) {
        let name = about.uid.as_deref().unwrap_or_default();
        let mut heard = self.events.lock();
        for event in events.into_iter().take(EVENTS) {
            if heard.is_new(name, &event, Instant::now()) {
                self.recorder.record(about.clone(), event.kind, &event.reason, &event.message);
            }
        }
    }

    fn api(&self, service: &Service) -> Api<Trimmed<Service>> {
        Api::namespaced(self.client.clone(), &service.namespace().unwrap_or_default())
    }

    /// Another number whenever what was refused may be allowed: a credential has changed, or a person has approved.
    fn rights(&self) -> u64 {
        let (version, approvals) = (*self.versions.borrow(), *self.requested.approvals().borrow());
        version.wrapping_add(approvals)
    }

    fn states(&self) -> MutexGuard<'_, ServiceStates> {
        self.states.lock()
    }
}

impl Reconcile for Controller {
    type Error = Error;

    async fn sync(&self, key: &str) -> Result<Next, Error> {
        self.reconcile(key).await
    }

    // In the log, and on the Service.
    fn show(&self, key: &str, error: &Error, _: u32) {
        warn!(next = error.next(), "error syncing '{key}': {}, requeuing", chain(error));
        if let Some(asked) = error.cut_pause() {
            warn!(service = key, "the cloud asks for a pause of {} s; it gets an hour", asked.as_secs());
        }
        let (reason, message) = error.event();
        let rights = self.rights();
        let about = {
            let mut states = self.states();
            states.get(key).and_then(|it| it.shows(&message, error.failure_kind()).then(|| it.observed.about.clone()))
        };
        if let Some(about) = about {
            self.recorder.record(about, EventKind::Warning, reason, &message);
        }
        // What may allow it has come while it was being denied.
        if self.states().get(key).is_some_and(|it| it.may_be_allowed(rights)) {
            self.queue.add(key);
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(self.back_off, failures)
    }

    fn back_off(&self) -> BackOff {
        self.back_off
    }
}

#[cfg(test)]
mod tests;
