//! Upstream's metrics of cluster CIDRs, with upstream's names (one of them misspelt) and buckets.

use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

/// Metrics of each cluster CIDR.
#[derive(Clone)]
pub(crate) struct CidrMetrics {
    /// Blocks that were taken.
    pub(crate) allocations: IntCounterVec,
    /// Blocks that were given back.
    pub(crate) releases: IntCounterVec,
    /// From 0 to 1.
    pub(crate) usage: GaugeVec,
    /// All blocks, taken or not.
    pub(crate) most: GaugeVec,
    /// Taken blocks that were met before a free one.
    pub(crate) tries: HistogramVec,
}

impl CidrMetrics {
    /// Adds the families to a registry. They are empty as long as nobody gives out networks.
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let options = |name: &str, help: &str| Opts::new(format!("node_ipam_controller_{name}"), help);
        let label = &["clusterCIDR"];
        let tries = options("cidrset_allocation_tries_per_request", "Taken blocks that were met before a free one.");
        let metrics = Self {
            allocations: IntCounterVec::new(
                options("cidrset_cidrs_allocations_total", "Blocks that were taken."),
                label,
            )?,
            releases: IntCounterVec::new(
                options("cidrset_cidrs_releases_total", "Blocks that were given back."),
                label,
            )?,
            usage: GaugeVec::new(options("cidrset_usage_cidrs", "How much is taken: from 0 to 1."), label)?,
            most: GaugeVec::new(options("cirdset_max_cidrs", "How many blocks there are."), label)?,
            tries: HistogramVec::new(HistogramOpts::from(tries).buckets(vec![1.0, 5.0, 25.0, 125.0, 625.0]), label)?,
        };
        registry.register(Box::new(metrics.allocations.clone()))?;
        registry.register(Box::new(metrics.releases.clone()))?;
        registry.register(Box::new(metrics.usage.clone()))?;
        registry.register(Box::new(metrics.most.clone()))?;
        registry.register(Box::new(metrics.tries.clone()))?;
        Ok(metrics)
    }
}
