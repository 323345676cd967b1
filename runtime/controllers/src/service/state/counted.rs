//! Where it is counted what Kubernetes asks for.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use budgets::RequestedChanges;
use cloud_provider::CurrentDescription;

/// Where it is counted what Kubernetes asks for.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    pub(crate) requested: RequestedChanges,
    /// It names the annotations that the provider writes: what it says itself is not asked for.
    pub(crate) provider: CurrentDescription,
    /// How often the set of nodes has changed that take traffic by what Kubernetes says, whatever the provider confirms.
    pub(crate) node_changes: Arc<AtomicU64>,
}
