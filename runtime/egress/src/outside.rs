//! What every connection is made with, whoever asks for it.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::address::Networks;
use crate::resolve::Resolve;

/// What every connection is made with. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Outside {
    /// What no connection may lead to.
    pub(crate) networks: Arc<Mutex<Arc<Networks>>>,
    /// Where addresses come from.
    pub(crate) resolver: Arc<dyn Resolve>,
    /// Where a checked address really is.
    pub(crate) route: fn(SocketAddr) -> SocketAddr,
}
