//! Metrics of the volumes of claims, with the names of CSI's own controller.

use std::time::Duration;

use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

/// The label of what a volume begins with; it always begins empty.
const NO_SOURCE: &str = "";

/// Metrics of the volumes of claims.
#[derive(Clone)]
pub(crate) struct VolumeMetrics {
    made: IntCounterVec,
    not_made: IntCounterVec,
    making: HistogramVec,
    deleted: IntCounterVec,
    not_deleted: IntCounterVec,
    deleting: HistogramVec,
    /// Volumes that were not deleted because enough were.
    pub(crate) withheld: IntCounter,
    /// Volumes of this cluster that nothing in it has.
    pub(crate) orphans: IntGauge,
    vendor: IntGaugeVec,
}

impl VolumeMetrics {
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let (of_claim, of_volume) = (&["class", "source"], &["class"]);
        let name = |of: &str, rest: &str| format!("controller_persistentvolume{of}_{rest}");
        let metrics = Self {
            made: IntCounterVec::new(Opts::new(name("claim", "provision_total"), "Volumes that were made"), of_claim)?,
            not_made: IntCounterVec::new(
                Opts::new(name("claim", "provision_failed_total"), "Attempts to make a volume that failed"),
                of_claim,
            )?,
            making: HistogramVec::new(
                HistogramOpts::new(name("claim", "provision_duration_seconds"), "How long it took to make a volume"),
                of_claim,
            )?,
            deleted: IntCounterVec::new(Opts::new(name("", "delete_total"), "Volumes that were deleted"), of_volume)?,
            not_deleted: IntCounterVec::new(
                Opts::new(name("", "delete_failed_total"), "Attempts to delete a volume that failed"),
                of_volume,
            )?,
            deleting: HistogramVec::new(
                HistogramOpts::new(name("", "delete_duration_seconds"), "How long it took to delete a volume"),
                of_volume,
            )?,
            withheld: IntCounter::new(
                "aerostat_volume_deletions_withheld_total",
                "Volumes that were not deleted because enough were lately, once for each event about them",
            )?,
            orphans: IntGauge::new(
                "aerostat_orphaned_volumes",
                "Volumes with the cluster's mark whose claim is gone, and that no PersistentVolume names",
            )?,
            vendor: IntGaugeVec::new(
                Opts::new(
                    "aerostat_volume_vendor_controller",
                    "1 while the vendor's own controller of volumes runs, so that nothing is written here about volumes",
                ),
                &["container"],
            )?,
        };
        registry.register(Box::new(metrics.made.clone()))?;
        registry.register(Box::new(metrics.not_made.clone()))?;
        registry.register(Box::new(metrics.making.clone()))?;
        registry.register(Box::new(metrics.deleted.clone()))?;
        registry.register(Box::new(metrics.not_deleted.clone()))?;
        registry.register(Box::new(metrics.deleting.clone()))?;
        registry.register(Box::new(metrics.withheld.clone()))?;
        registry.register(Box::new(metrics.orphans.clone()))?;
        registry.register(Box::new(metrics.vendor.clone()))?;
        Ok(metrics)
    }

    /// A volume of this class was made.
    pub(crate) fn made(&self, class: &str, time: Duration) {
        self.made.with_label_values(&[class, NO_SOURCE]).inc();
        self.making.with_label_values(&[class, NO_SOURCE]).observe(time.as_secs_f64());
    }

    /// A volume of this class was not made now.
    pub(crate) fn not_made(&self, class: &str) {
        self.not_made.with_label_values(&[class, NO_SOURCE]).inc();
    }

    /// A volume of this class was deleted.
    pub(crate) fn deleted(&self, class: &str, time: Duration) {
        self.deleted.with_label_values(&[class]).inc();
        self.deleting.with_label_values(&[class]).observe(time.as_secs_f64());
    }

    /// Whether this container of the vendor's controller runs.
    pub(crate) fn vendor_runs(&self, container: &str, runs: bool) {
        self.vendor.with_label_values(&[container]).set(runs.into());
    }

    /// A volume of this class was not deleted now.
    pub(crate) fn not_deleted(&self, class: &str) {
        self.not_deleted.with_label_values(&[class]).inc();
    }
}
