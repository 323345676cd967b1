//! Metrics of the volumes of claims, with the names of CSI's own controller.

use std::time::Duration;

use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
};

/// The label of what a volume begins with; it always begins empty.
const NO_SOURCE: &str = "";

/// Labels of an operation, as CSI's sidecars have them.
const OPERATION: [&str; 4] = ["driver_name", "method_name", "grpc_status_code", "migrated"];
/// Buckets of an operation's time, in seconds, as CSI's sidecars have them.
const OPERATION_SECONDS: [f64; 13] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0];

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
    operations: HistogramVec,
    longest_pending: GaugeVec,
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
            operations: HistogramVec::new(
                HistogramOpts::new(
                    "csi_sidecar_operations_seconds",
                    "Container Storage Interface operation duration with gRPC error code status total",
                )
                .buckets(OPERATION_SECONDS.to_vec()),
                &OPERATION,
            )?,
            longest_pending: GaugeVec::new(
                Opts::new(
                    "aerostat_volume_longest_pending_seconds",
                    "For how long the operation has gone on that has done so longest; 0 if none does",
                ),
                &["method_name"],
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
        registry.register(Box::new(metrics.operations.clone()))?;
        registry.register(Box::new(metrics.longest_pending.clone()))?;
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

    /// An operation of this driver has ended, with a status code of gRPC.
    pub(crate) fn operation(&self, driver: &str, method: &str, code: &str, is_migrated: bool, time: Duration) {
        let migrated = if is_migrated { "true" } else { "false" };
        self.operations.with_label_values(&[driver, method, code, migrated]).observe(time.as_secs_f64());
    }

    /// For how long the operation has gone on, of those with this method, that has done so longest.
    pub(crate) fn longest_pending(&self, method: &str, age: Duration) {
        self.longest_pending.with_label_values(&[method]).set(age.as_secs_f64());
    }

    /// A volume of this class was not deleted now.
    pub(crate) fn not_deleted(&self, class: &str) {
        self.not_deleted.with_label_values(&[class]).inc();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Cases: csi 77
    #[test]
    fn volumes_are_counted_under_the_names_of_the_sidecars() {
        let registry = Registry::new();
        let metrics = VolumeMetrics::register(&registry).unwrap();
        let second = Duration::from_secs(1);
        metrics.made("fast", second);
        metrics.not_made("fast");
        metrics.deleted("fast", second);
        metrics.not_deleted("fast");
        metrics.operation("csi.example.com", "/csi.v1.Controller/CreateVolume", "OK", false, second);
        metrics.longest_pending("/csi.v1.Controller/CreateVolume", second);
        let names: BTreeSet<String> = registry.gather().iter().map(|it| it.name().to_owned()).collect();
        let upstreams: Vec<_> = names.iter().filter(|it| !it.starts_with("aerostat_")).map(String::as_str).collect();
        assert_eq!(
            upstreams,
            [
                "controller_persistentvolume_delete_duration_seconds",
                "controller_persistentvolume_delete_failed_total",
                "controller_persistentvolume_delete_total",
                "controller_persistentvolumeclaim_provision_duration_seconds",
                "controller_persistentvolumeclaim_provision_failed_total",
                "controller_persistentvolumeclaim_provision_total",
                "csi_sidecar_operations_seconds",
            ]
        );
        assert!(names.contains("aerostat_volume_longest_pending_seconds"));
        let page = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let buckets = page.lines().filter(|it| it.starts_with("csi_sidecar_operations_seconds_bucket{"));
        assert_eq!(buckets.count(), OPERATION_SECONDS.len() + 1);
    }
}
