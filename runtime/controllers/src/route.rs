//! The node-route-controller: it has the cloud's network send the packets for each node's pods to that node.
//!
//! ```text
//! Nodes ► Changes: gathered ► ■ networks: who has which ► next hops, asked once
//!                               └ the last list, corrected by answers since ► ■ plan ► brake ► batches ► apply ► cloud
//!                                                                              └ ■ standings ► condition, event
//! ```
//!
//! A pass that nodes have woken costs its changes alone; all routes are listed every ten minutes, and where nobody knows
//! what is there. What `apply` is told to find (`before`) keeps a plan from an old list honest.

mod answers;
mod brake;
mod changes;
mod conditions;
mod hops;
mod list;
mod listed;
mod networks;
mod pass;
pub(crate) mod plan;
mod report;
mod state;

use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use budgets::RequestedChanges;
use cloud_provider::{Cloud, Identity, Routes};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::Api;
use tokio::sync::watch::{self, Receiver};
use tokio::time::Instant;
use tracing::error;

use crate::cidr::Cidr;
use crate::context::{Context, Task};
use crate::liveness::Liveness;
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::trimmed::Trimmed;
use crate::warm_up;
use crate::worker::{contained, random};

use self::changes::NodeChanges;
use self::report::RouteReports;
use self::state::PassState;

pub use budgets::Budget;

/// The source of this controller's events.
const COMPONENT: &str = "route_controller";
/// How often all routes are listed, unless that is said; up to a tenth more or less, so that clusters do not ask together.
pub const PERIOD: Duration = Duration::from_secs(600);
/// How much sooner than it is due a list comes if all machines were listed just now: to tell which routes lead nowhere,
/// providers read the machines too, and the egress answers what was asked a moment ago.
const EARLY: Duration = Duration::from_secs(100);
/// How long it rests after a pass that panicked.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// Which routes there are, and what keeps this controller from deleting them.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--cluster-cidr`: at least one network, or the controller does not run.
    pub cluster_cidrs: Vec<IpNet>,
    /// `--route-reconciliation-period`, if it is given: how often all routes are listed, from start to start.
    pub period: Option<Duration>,
    /// No route is deleted or moved without a reason that was seen in the first time of leadership.
    pub warm_up: Duration,
    /// How many of those are deleted or moved in how long.
    pub budget: Budget,
    /// The object of events that concern no node: the Lease. Without it they are logged.
    pub lease: Option<ObjectReference>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cluster_cidrs: Vec::new(),
            period: None,
            warm_up: Duration::from_secs(60),
            budget: budgets::ROUTES,
            lease: None,
        }
    }
}

/// The state that the parts of this controller share.
struct RouteController {
    api: Api<Trimmed<KubeNode>>,
    nodes: Nodes,
    routes: Arc<dyn Routes>,
    cluster: Vec<Cidr>,
    changes: NodeChanges,
    requested: RequestedChanges,
    metrics: Metrics,
    reports: RouteReports,
    options: Options,
    /// How many lists of machines were read; `None` if the cloud has no machines.
    machine_lists: Option<Receiver<u64>>,
    /// When it began to work.
    began: Instant,
    /// It knows since when this version of the provider serves.
    identity: Arc<dyn Identity>,
    /// Whether the controller is to end: then no further call is made.
    ending: Receiver<bool>,
}

/// The controller, unless the cloud has no routes or no network is the cluster's. When it ends, calls that are under way are
/// finished first.
pub fn new(context: &Context, cloud: &Cloud, options: Options) -> Option<Task> {
    if options.cluster_cidrs.is_empty() {
        return None;
    }
    let routes = context.account.guard(cloud.clone()).routes?;
    let (end, ending) = watch::channel(false);
    let controller = RouteController {
        api: Api::all(context.client.clone()),
        nodes: context.nodes.clone(),
        routes,
        cluster: options.cluster_cidrs.iter().copied().map(Cidr::of).collect(),
        changes: NodeChanges::of(&context.nodes, cloud.description.clone()),
        requested: context.requested.clone(),
        metrics: context.metrics.clone(),
        reports: RouteReports::new(context.events.recorder(COMPONENT), options.lease.clone(), context.metrics.clone()),
        options,
        machine_lists: context.inventory(cloud).map(|it| it.lists()),
        began: Instant::now(),
        identity: cloud.identity.clone(),
        ending,
    };
    let (liveness, versions) = (Liveness::default(), cloud.identity.versions());
    Some(Task::new(liveness.clone(), run(controller, versions, end, liveness, context.shutdown())))
}

async fn run(
    mut controller: RouteController,
    mut versions: Receiver<u64>,
    end: watch::Sender<bool>,
    liveness: Liveness,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = controller.nodes.synced() => {}
        () = &mut shutdown => return,
    }
    controller.began = Instant::now();
    let mut approvals = controller.requested.approvals();
    let mut machine_lists = controller.machine_lists.clone();
    let mut state = PassState::new(controller.began);
    let pulse = liveness.pulse(controller.options.period.unwrap_or(PERIOD));
    loop {
        pulse.beat();
        let ended = {
            let mut pass = std::pin::pin!(contained(controller.pass(&mut state)));
            tokio::select! {
                ended = &mut pass => ended,
                () = &mut shutdown => {
                    // What is under way is finished.
                    let _ = end.send(true);
                    let _ = pass.await;
                    return;
                }
            }
        };
        if let Err(panic) = ended {
            error!(panic, "a pass over the routes panicked");
            state.after_panic(Instant::now() + AFTER_PANIC);
        }
        tokio::select! {
            () = &mut shutdown => return,
            () = controller.changes.settled() => {}
            () = tokio::time::sleep_until(state.next(controller.warm_until())) => {}
            () = changed(&mut versions) => state.credential_changed(Instant::now()),
            () = changed(&mut approvals) => {}
            () = read(&mut machine_lists) => state.machines_listed(controller.early(), Instant::now()),
        }
    }
}

/// Ready when there is another value; never once there can be none any more.
async fn changed(values: &mut Receiver<u64>) {
    if values.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Ready when all machines were listed once more.
async fn read(lists: &mut Option<Receiver<u64>>) {
    match lists {
        Some(lists) => changed(lists).await,
        None => std::future::pending().await,
    }
}

impl RouteController {
    /// How much sooner than it is due a list may come: not at all, if an operator has said when.
    fn early(&self) -> Duration {
        if self.options.period.is_none() { EARLY } else { Duration::ZERO }
    }

    /// Until when nothing is deleted.
    fn warm_until(&self) -> Instant {
        warm_up::ends(self.began, self.identity.replaced(), self.options.warm_up)
    }

    /// The period that counts for how old a list may be by which routes are deleted.
    fn list_period(&self) -> Duration {
        self.options.period.unwrap_or(PERIOD).max(PERIOD)
    }

    /// When all routes are listed again after a list that began then.
    fn next_list(&self, began: Instant) -> Instant {
        began + self.options.period.unwrap_or_else(|| PERIOD.mul_f64(1.05 + random() / 20.0))
    }
}
