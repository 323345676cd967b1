//! Upstream's metrics of cluster CIDRs, with upstream's names (one of them misspelt) and buckets.

use prometheus::{Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};

/// Metrics of each cluster CIDR.
#[derive(Clone)]
pub(crate) struct CidrMetrics {
    allocations: IntCounterVec,
    releases: IntCounterVec,
    usage: GaugeVec,
    most: GaugeVec,
    tries: HistogramVec,
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

    /// Blocks of a cluster CIDR that were taken.
    pub(crate) fn allocations(&self, cluster: &str) -> IntCounter {
        self.allocations.with_label_values(&[cluster])
    }

    /// Blocks of a cluster CIDR that were given back.
    pub(crate) fn releases(&self, cluster: &str) -> IntCounter {
        self.releases.with_label_values(&[cluster])
    }

    /// The part of a cluster CIDR that is taken, from 0 to 1.
    pub(crate) fn usage(&self, cluster: &str) -> Gauge {
        self.usage.with_label_values(&[cluster])
    }

    /// All blocks of a cluster CIDR, taken or not.
    pub(crate) fn most(&self, cluster: &str) -> Gauge {
        self.most.with_label_values(&[cluster])
    }

    /// Taken blocks of a cluster CIDR that were met before a free one.
    pub(crate) fn tries(&self, cluster: &str) -> Histogram {
        self.tries.with_label_values(&[cluster])
    }
}
