//! Upstream's metrics of cluster CIDRs, with upstream's names (one of them misspelt) and buckets.

use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use crate::node_ipam::allocations::Usage;

/// What is measured of each cluster CIDR.
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

    /// Writes down what has happened since the last time.
    pub(super) fn observe(&self, usages: Vec<Usage>) {
        for Usage { cluster, used, size, count } in usages {
            let cluster = cluster.to_string();
            let label = &[cluster.as_str()];
            self.allocations.with_label_values(label).inc_by(count.taken);
            self.releases.with_label_values(label).inc_by(count.released);
            self.usage.with_label_values(label).set(used as f64 / size as f64);
            self.most.with_label_values(label).set(size as f64);
            let tries = self.tries.with_label_values(label);
            count.tries.iter().for_each(|it| tries.observe(*it as f64));
        }
    }
}
