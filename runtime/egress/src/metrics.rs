//! The egress's metrics.

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

/// The egress's metric families. Cloning shares them.
#[derive(Clone)]
pub struct Metrics {
    /// `aerostat_cloud_requests_total{endpoint,method,code}`; `code` is the HTTP status, or `error` without an answer.
    pub(crate) cloud_requests: IntCounterVec,
    /// `aerostat_cloud_request_duration_seconds{endpoint,method}`.
    pub(crate) cloud_request_duration: HistogramVec,
    /// `aerostat_egress_denied_total{code}`.
    pub(crate) egress_denied: IntCounterVec,
    /// `aerostat_cloud_writes_withheld_total{credential,endpoint,kind}`: `credential` is empty where there is none.
    pub(crate) writes_withheld: IntCounterVec,
    /// `aerostat_cloud_requests_put_off_total{endpoint}`: not sent, over the endpoint's budget or in a pause that the cloud asked for.
    pub(crate) put_off: IntCounterVec,
    /// `aerostat_endpoint_unreachable{endpoint,cause}`: 1 while it is; no series otherwise.
    pub(crate) endpoint_unreachable: IntGaugeVec,
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
        let cloud_request_duration = HistogramVec::new(
            HistogramOpts::new("aerostat_cloud_request_duration_seconds", "Time until the cloud had answered in full.")
                .buckets(vec![0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]),
            &["endpoint", "method"],
        )?;
        registry.register(Box::new(cloud_request_duration.clone()))?;
        let endpoint_unreachable = IntGaugeVec::new(
            Opts::new(
                "aerostat_endpoint_unreachable",
                "1 while an endpoint is not reached, by cause: dns, refused, timeout, route, tls, proxy, silent, broken.",
            ),
            &["endpoint", "cause"],
        )?;
        registry.register(Box::new(endpoint_unreachable.clone()))?;
        Ok(Self {
            endpoint_unreachable,
            cloud_requests: counter(
                "aerostat_cloud_requests_total",
                "Requests sent to the cloud, by HTTP status; \"error\" without an answer.",
                &["endpoint", "method", "code"],
            )?,
            cloud_request_duration,
            egress_denied: counter(
                "aerostat_egress_denied_total",
                "Requests of the provider that the egress refused, by code.",
                &["code"],
            )?,
            put_off: counter(
                "aerostat_cloud_requests_put_off_total",
                "Requests of the provider that were not sent yet: over the endpoint's budget, or in a pause that the cloud asked for.",
                &["endpoint"],
            )?,
            writes_withheld: counter(
                "aerostat_cloud_writes_withheld_total",
                "Writes of the provider that were over the limits of their credential, by kind: deletion, creation, detachment, update.",
                &["credential", "endpoint", "kind"],
            )?,
        })
    }
}
