//! Upstream's metrics of work queues and of its controllers, with upstream's names and buckets.

mod cidrs;
mod inventory;
mod volumes;

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, exponential_buckets,
};

pub(crate) use self::cidrs::CidrMetrics;
use self::inventory::InventoryMetrics;
pub(crate) use self::volumes::VolumeMetrics;

/// Metrics of the controllers.
#[derive(Clone)]
pub struct Metrics {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    retries: IntCounterVec,
    /// From a node's creation to the removal of its taint.
    pub(crate) taint_removal_delay: Histogram,
    /// From a node's creation to the end of its initialisation.
    pub(crate) initial_sync_delay: Histogram,
    /// Load balancers that were asked to send traffic to other nodes.
    pub(crate) backend_updates: IntCounter,
    /// Those of them that failed.
    pub(crate) backend_update_errors: IntCounter,
    /// From a change of nodes to the end of its last load balancer's update.
    pub(crate) backend_pass: Histogram,
    /// How long one load balancer's update took.
    pub(crate) backend_update: Histogram,
    /// For how long the load balancer has been pending that has been so longest.
    pub(crate) longest_pending: Gauge,
    /// Metrics of the lists of load balancers.
    pub(crate) inventory: InventoryMetrics,
    /// Load balancers of vanished Services that were not deleted because enough were.
    pub(crate) load_balancers_withheld: IntCounter,
    /// Passes over the routes.
    pub(crate) route_syncs: IntCounter,
    /// Routes that were not deleted or moved because too many would be.
    pub(crate) routes_withheld: IntCounter,
    withheld: IntCounterVec,
    /// Metrics of the cluster CIDRs.
    pub(crate) cidrs: CidrMetrics,
    /// Metrics of the volumes of claims.
    pub(crate) volumes: VolumeMetrics,
}

/// Metrics of one work queue.
#[derive(Clone)]
pub(crate) struct QueueMetrics {
    pub(crate) depth: IntGauge,
    pub(crate) adds: IntCounter,
    pub(crate) waited: Histogram,
    pub(crate) worked: Histogram,
    pub(crate) unfinished: Gauge,
    pub(crate) longest: Gauge,
    pub(crate) retries: IntCounter,
}

impl Metrics {
    /// Adds the controllers' metric families to a registry.
    ///
    /// # Errors
    ///
    /// If the registry has a family of one of these names.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let queue = |name: &str, help: &str| Opts::new(format!("workqueue_{name}"), help);
        let buckets = exponential_buckets(1e-8, 10.0, 10)?;
        let durations = |name: &str, help: &str| {
            HistogramVec::new(HistogramOpts::from(queue(name, help)).buckets(buckets.clone()), &["name"])
        };
        let delay = |name: &str, help: &str| {
            let buckets = vec![1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];
            Histogram::with_opts(HistogramOpts::new(format!("node_controller_{name}"), help).buckets(buckets))
        };
        let service = |name: &str, help: &str| Opts::new(format!("service_controller_{name}"), help);
        let service_latency = |name: &str, help: &str| {
            let buckets = exponential_buckets(1.0, 2.0, 15)?;
            Histogram::with_opts(HistogramOpts::from(service(name, help)).buckets(buckets))
        };
        let metrics = Self {
            depth: IntGaugeVec::new(queue("depth", "Keys that a worker may take now"), &["name"])?,
            adds: IntCounterVec::new(queue("adds_total", "Keys that became ready or dirty"), &["name"])?,
            waited: durations("queue_duration_seconds", "How long a key waited for a worker")?,
            worked: durations("work_duration_seconds", "How long a worker had a key")?,
            unfinished: GaugeVec::new(
                queue("unfinished_work_seconds", "How long workers have had their present keys, all together"),
                &["name"],
            )?,
            longest: GaugeVec::new(
                queue("longest_running_processor_seconds", "How long the busiest worker has had its present key"),
                &["name"],
            )?,
            retries: IntCounterVec::new(queue("retries_total", "Keys that were put back for later"), &["name"])?,
            taint_removal_delay: delay(
                "cloud_provider_taint_removal_delay_seconds",
                "From a node's creation to the removal of its taint",
            )?,
            initial_sync_delay: delay(
                "initial_node_sync_delay_seconds",
                "From a node's creation to the end of its initialisation",
            )?,
            backend_updates: IntCounter::with_opts(service(
                "loadbalancer_sync_total",
                "Load balancers that were asked to send traffic to other nodes",
            ))?,
            backend_update_errors: IntCounter::with_opts(service(
                "nodesync_error_total",
                "Load balancers that were asked to send traffic to other nodes, and failed",
            ))?,
            backend_pass: service_latency(
                "nodesync_latency_seconds",
                "From a change of nodes to the end of its last load balancer's update",
            )?,
            backend_update: service_latency(
                "update_loadbalancer_host_latency_seconds",
                "How long a load balancer took to send traffic to other nodes",
            )?,
            longest_pending: Gauge::with_opts(Opts::new(
                "aerostat_load_balancer_longest_pending_seconds",
                "For how long the load balancer has been pending that has been so longest; 0 if none is",
            ))?,
            inventory: InventoryMetrics::register(registry)?,
            load_balancers_withheld: IntCounter::new(
                "aerostat_load_balancer_deletions_withheld_total",
                "Load balancers that were not deleted although their Service vanished, because enough were lately",
            )?,
            route_syncs: IntCounter::new(
                "route_controller_route_sync_total",
                "Passes over the routes of the cluster's pod networks",
            )?,
            routes_withheld: IntCounter::new(
                "aerostat_route_deletions_withheld_total",
                "Routes that were not deleted or moved although no node has them, once for each event about them",
            )?,
            withheld: IntCounterVec::new(
                Opts::new(
                    "aerostat_node_deletions_withheld_total",
                    "Nodes that were not deleted although their machine is missing, once for each event about it",
                ),
                &["reason"],
            )?,
            cidrs: CidrMetrics::register(registry)?,
            volumes: VolumeMetrics::register(registry)?,
        };
        registry.register(Box::new(metrics.depth.clone()))?;
        registry.register(Box::new(metrics.adds.clone()))?;
        registry.register(Box::new(metrics.waited.clone()))?;
        registry.register(Box::new(metrics.worked.clone()))?;
        registry.register(Box::new(metrics.unfinished.clone()))?;
        registry.register(Box::new(metrics.longest.clone()))?;
        registry.register(Box::new(metrics.retries.clone()))?;
        registry.register(Box::new(metrics.taint_removal_delay.clone()))?;
        registry.register(Box::new(metrics.initial_sync_delay.clone()))?;
        registry.register(Box::new(metrics.backend_updates.clone()))?;
        registry.register(Box::new(metrics.backend_update_errors.clone()))?;
        registry.register(Box::new(metrics.backend_pass.clone()))?;
        registry.register(Box::new(metrics.backend_update.clone()))?;
        registry.register(Box::new(metrics.longest_pending.clone()))?;
        registry.register(Box::new(metrics.load_balancers_withheld.clone()))?;
        registry.register(Box::new(metrics.route_syncs.clone()))?;
        registry.register(Box::new(metrics.routes_withheld.clone()))?;
        registry.register(Box::new(metrics.withheld.clone()))?;
        Ok(metrics)
    }

    /// Deletions of nodes that were withheld for this reason.
    pub(crate) fn withheld(&self, reason: &str) -> IntCounter {
        self.withheld.with_label_values(&[reason])
    }

    /// The metrics of the work queue with this name.
    pub(crate) fn queue(&self, name: &str) -> QueueMetrics {
        let name = &[name];
        QueueMetrics {
            depth: self.depth.with_label_values(name),
            adds: self.adds.with_label_values(name),
            waited: self.waited.with_label_values(name),
            worked: self.worked.with_label_values(name),
            unfinished: self.unfinished.with_label_values(name),
            longest: self.longest.with_label_values(name),
            retries: self.retries.with_label_values(name),
        }
    }
}
