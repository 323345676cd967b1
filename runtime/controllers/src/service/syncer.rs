//! The part of this controller that syncs Services: what it has. `sync.rs` has the order of its steps.

use std::sync::Arc;
use std::time::Duration;

use budgets::Spent;
use parking_lot::Mutex;
use tokio::sync::watch::Receiver;

use crate::cluster_facts::ClusterFacts;
use crate::error::BackOff;
use crate::nodes::Nodes;
use crate::pending;
use crate::provider_events::ProviderEvents;
use crate::service::changes::BackendChanges;
use crate::service::confirmations::Confirmations;
use crate::service::inventory::LoadBalancerLists;
use crate::service::shared::SharedState;

/// How soon a cloud that is busy is asked again at least, and at most.
pub(super) const SHORTEST_PENDING: Duration = Duration::from_millis(500);
const LONGEST_PENDING: Duration = Duration::from_secs(300);

/// The part of this controller that syncs Services.
pub(super) struct Syncer {
    pub(super) shared: Arc<SharedState>,
    pub(super) facts: Receiver<ClusterFacts>,
    /// `None`: this cloud cannot list load balancers.
    pub(super) lists: Option<Arc<LoadBalancerLists>>,
    pub(super) nodes: Nodes,
    pub(super) changes: Arc<BackendChanges>,
    pub(super) confirmations: Arc<Confirmations>,
    /// The deletions for Services that vanished without waiting for them.
    pub(super) vanished: Mutex<Spent>,
    pub(super) events: Mutex<ProviderEvents>,
    pub(super) back_off: BackOff,
}

/// When a cloud is asked again that has been busy for `waited` with the same thing.
pub(super) fn held(asked: Duration, waited: Duration) -> Duration {
    pending::pause(asked.clamp(SHORTEST_PENDING, LONGEST_PENDING), waited, pending::SLOWEST_LOAD_BALANCER)
}
