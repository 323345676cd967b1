//! The means of making connections, the same for all.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::address::KnownNetworks;
use crate::reach::Reach;
use crate::resolve::Resolve;

/// The means of making connections. Cloning shares them.
#[derive(Clone)]
pub(crate) struct Outside {
    /// The networks into which no connection may lead.
    pub(crate) networks: Arc<Mutex<Arc<KnownNetworks>>>,
    /// Where addresses come from.
    pub(crate) resolver: Arc<dyn Resolve>,
    /// Where a checked address really is.
    pub(crate) route: fn(SocketAddr) -> SocketAddr,
    /// The count of attempts, and of how they end.
    pub(crate) reach: Reach,
}
