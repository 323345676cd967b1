//! Metrics of the process: each part registers its own, in one place.

use anyhow::Result;
use prometheus::Registry;

use super::swap;
use crate::{api_server, leader, telemetry, webhooks};

/// The metrics of each part of the process, and the registries in which they are.
pub(super) struct Registered {
    /// `/metrics`.
    pub(super) registry: Registry,
    /// `/metrics/slis`.
    pub(super) slis: Registry,
    pub(super) running: telemetry::Metrics,
    pub(super) requests: api_server::Metrics,
    pub(super) controllers: ::controllers::Metrics,
    pub(super) elections: leader::Metrics,
    pub(super) egress: egress::Metrics,
    pub(super) sandbox: sandbox::Metrics,
    pub(super) swaps: swap::Metrics,
    pub(super) webhooks: webhooks::Metrics,
}

impl Registered {
    /// Registers all of them.
    ///
    /// # Errors
    ///
    /// Two metrics have one name.
    pub(super) fn new() -> Result<Self> {
        let (registry, slis) = (Registry::new(), Registry::new());
        Ok(Self {
            running: telemetry::Metrics::register(&registry, &slis)?,
            requests: api_server::Metrics::register(&registry)?,
            controllers: ::controllers::Metrics::register(&registry)?,
            elections: leader::Metrics::register(&registry)?,
            egress: egress::Metrics::register(&registry)?,
            sandbox: sandbox::Metrics::register(&registry)?,
            swaps: swap::Metrics::register(&registry)?,
            webhooks: webhooks::Metrics::register(&registry)?,
            registry,
            slis,
        })
    }
}
