//! The settings that an egress is built from.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::credentials::Credentials;
use crate::endpoint::Endpoint;
use crate::reports::Reports;
use crate::writes::Demands;

/// Whether a request that writes or deletes may leave now: whether this process leads, as far as it knows.
pub type Fence = Arc<dyn Fn() -> bool + Send + Sync>;

/// The settings that an egress is built from.
pub struct EgressSettings {
    /// The operator's endpoints.
    pub endpoints: Vec<Endpoint>,
    /// The credentials that they name.
    pub credentials: Credentials,
    /// Asked before every write.
    pub fence: Fence,
    /// Asked before every write, too.
    pub demands: Demands,
    /// Informs people.
    pub reports: Reports,
    /// Where a checked address really is: the identity, except in tests, which lead public addresses to loopback.
    pub route: fn(SocketAddr) -> SocketAddr,
}
