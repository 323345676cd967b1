//! Metrics of the lists of load balancers.

use prometheus::{IntCounter, IntGauge, IntGaugeVec, Opts, Registry};

/// Metrics of the lists of load balancers.
#[derive(Clone)]
pub(crate) struct InventoryMetrics {
    /// Load balancers that a list showed with another revision than before.
    pub(crate) drifts: IntCounter,
    /// Orphans that were deleted.
    pub(crate) deleted: IntCounter,
    /// Load balancers that nobody has and that are kept.
    pub(crate) kept: IntGauge,
    orphans: IntGaugeVec,
}

impl InventoryMetrics {
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let metrics = Self {
            drifts: IntCounter::new(
                "aerostat_load_balancer_drifts_total",
                "Load balancers that had changed in the cloud since they were as desired",
            )?,
            deleted: IntCounter::new(
                "aerostat_orphaned_load_balancers_deleted_total",
                "Load balancers that were deleted because the Service does not exist that they were made for",
            )?,
            kept: IntGauge::new(
                "aerostat_kept_load_balancers",
                "Load balancers that were made for Services which do not exist, and that are no orphans: they are kept",
            )?,
            orphans: IntGaugeVec::new(
                Opts::new(
                    "aerostat_orphaned_load_balancers",
                    "Load balancers that were made for Services which do not exist, by what proves that they are the cluster's",
                ),
                &["proof"],
            )?,
        };
        registry.register(Box::new(metrics.drifts.clone()))?;
        registry.register(Box::new(metrics.deleted.clone()))?;
        registry.register(Box::new(metrics.kept.clone()))?;
        registry.register(Box::new(metrics.orphans.clone()))?;
        Ok(metrics)
    }

    /// How many there are with this proof.
    pub(crate) fn orphans(&self, proof: &str) -> IntGauge {
        self.orphans.with_label_values(&[proof])
    }
}
