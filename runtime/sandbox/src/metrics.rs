//! The sandbox's metrics.

use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

/// The sandbox's metric families. Cloning shares them.
#[derive(Clone)]
pub struct Metrics {
    /// `aerostat_provider_calls_total{function,outcome}`.
    pub(crate) provider_calls: IntCounterVec,
    /// `aerostat_provider_log_dropped_total{function}`: log lines over a call's limits.
    pub(crate) log_dropped: IntCounterVec,
    /// `aerostat_provider_quarantined`: 1 while the provider crashes again and again, and is left alone.
    pub(crate) quarantined: IntGauge,
}

impl Metrics {
    /// Makes the families and registers them.
    ///
    /// # Errors
    ///
    /// If `registry` has a family of one of these names already.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(family.clone()))?;
            prometheus::Result::Ok(family)
        };
        let quarantined = IntGauge::new(
            "aerostat_provider_quarantined",
            "1 while the provider is left alone, because its calls crash in a row.",
        )?;
        registry.register(Box::new(quarantined.clone()))?;
        Ok(Self {
            quarantined,
            provider_calls: counter(
                "aerostat_provider_calls_total",
                "Calls of the provider, by how they ended.",
                &["function", "outcome"],
            )?,
            log_dropped: counter(
                "aerostat_provider_log_dropped_total",
                "Log lines of the provider that were over its limits.",
                &["function"],
            )?,
        })
    }
}
