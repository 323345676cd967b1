//! What is seen of a Service from all sides.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ObjectReference, Service};

use crate::events::reference;
use crate::service::changes::Pass;
use crate::service::long_pending::LongPending;
use crate::service::state::steps::Resync;

/// What is seen of one Service, whoever works on it: by the watch of Services, by the pass over changed nodes, by the watch
/// of credentials, by the clock that reports long waits, and by its worker. Whoever has the lock may write it.
pub(crate) struct Observed {
    /// What events call it.
    pub(crate) about: ObjectReference,
    /// The Service as our last write left it, until the watch has seen it.
    pub(super) written: Option<Arc<Service>>,
    /// The annotations that nobody knows, if an event said so.
    pub(super) unknown: Vec<String>,
    /// What the cloud is busy with, if it said so, and when that was recorded last.
    pub(super) pending: Option<LongPending>,
    /// The version of the credentials that it was last worked on with, or put into the queue for.
    pub(super) credentials: u64,
    /// The pass over changed nodes that waits for it.
    pub(crate) pass: Option<Arc<Pass>>,
    /// Whether a list has shown since the last call that the cloud is done with it.
    pub(crate) is_at_rest: bool,
    /// What is to be done although it is as desired.
    pub(crate) resync: Option<Resync>,
}

impl Observed {
    pub(super) fn new(service: &Service) -> Self {
        Self {
            about: reference(service),
            written: None,
            unknown: Vec::new(),
            pending: None,
            credentials: 0,
            pass: None,
            is_at_rest: false,
            resync: None,
        }
    }
}
