//! Reading the metrics of a rig.

use prometheus::proto::{Metric, MetricFamily};

use super::Rig;
use crate::wait;

impl Rig {
    /// The value of a gauge without labels, or of the only work queue.
    #[must_use]
    pub fn gauge(&self, name: &str) -> f64 {
        self.family(name).get_metric()[0].get_gauge().get_value()
    }

    /// The value of a counter without labels.
    #[must_use]
    pub fn counter(&self, name: &str) -> f64 {
        self.family(name).get_metric()[0].get_counter().get_value()
    }

    /// The sum and the number of samples of a histogram without labels.
    #[must_use]
    pub fn histogram(&self, name: &str) -> (f64, u64) {
        let family = self.family(name);
        let histogram = family.get_metric()[0].get_histogram();
        (histogram.get_sample_sum(), histogram.get_sample_count())
    }

    /// The number of samples of a histogram without labels.
    #[must_use]
    pub fn samples(&self, name: &str) -> u64 {
        self.histogram(name).1
    }

    /// The value of a counter or gauge of the queue that node changes go through.
    #[must_use]
    pub fn of_node_queue(&self, name: &str) -> f64 {
        self.of_queue("node", name)
    }

    /// How often the keys of the only work queue were put back for later.
    #[must_use]
    pub fn tries(&self) -> f64 {
        let families = self.registry.gather();
        let family = families.iter().find(|it| it.name() == "workqueue_retries_total");
        family.map_or(0.0, |it| it.get_metric()[0].get_counter().get_value())
    }

    /// Waits until so many Services wait for a worker.
    pub async fn waiting(&self, services: usize) {
        let what = format!("{services} Services that wait for a worker");
        let depth = async || (self.of_queue("service", "workqueue_depth") >= services as f64).then_some(());
        wait::until(&what, depth).await;
    }

    /// How many deletions of nodes were withheld for this reason.
    #[must_use]
    pub fn withheld(&self, reason: &str) -> usize {
        let families = self.registry.gather();
        // There is none before the controller knows the nodes.
        let family = families.iter().find(|it| it.name() == "aerostat_node_deletions_withheld_total");
        let mut counters = family.into_iter().flat_map(|it| it.get_metric());
        let counter = counters.find(|it| it.get_label()[0].value() == reason);
        counter.map_or(0, |it| it.get_counter().get_value() as usize)
    }

    /// How many load balancers are known as orphans by this proof.
    #[must_use]
    pub fn orphans(&self, proof: &str) -> usize {
        let family = self.family("aerostat_orphaned_load_balancers");
        let of_proof = |it: &&Metric| it.get_label().iter().any(|label| label.value() == proof);
        family.get_metric().iter().find(of_proof).map_or(0, |it| it.get_gauge().get_value() as usize)
    }

    /// Waits until so many deletions of nodes were withheld for this reason.
    pub async fn withholds(&self, count: usize, reason: &str) {
        wait::until(&format!("{count} deletions are withheld for the reason {reason}"), async || {
            (self.withheld(reason) >= count).then_some(())
        })
        .await;
    }

    fn of_queue(&self, queue: &str, name: &str) -> f64 {
        let family = self.family(name);
        let of_queue = |it: &&Metric| it.get_label().iter().any(|label| label.value() == queue);
        let metric = family.get_metric().iter().find(of_queue).expect("there is such a queue");
        metric.get_counter().get_value() + metric.get_gauge().get_value()
    }

    fn family(&self, name: &str) -> MetricFamily {
        let mut families = self.registry.gather().into_iter();
        families.find(|it| it.name() == name).unwrap_or_else(|| panic!("there is no metric {name}"))
    }
}
