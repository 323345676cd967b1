//! How far the module is that the config names, as a metric.

use prometheus::{IntGaugeVec, Opts, Registry};

use super::states::SwapState;

/// The metric families of the replacement of modules.
#[derive(Clone)]
pub(crate) struct Metrics {
    candidate: IntGaugeVec,
}

impl Metrics {
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let candidate = IntGaugeVec::new(
            Opts::new(
                "aerostat_module_candidate",
                "1 for how far the module is that the config names, 0 for the others.",
            ),
            &["state"],
        )?;
        registry.register(Box::new(candidate.clone()))?;
        Ok(Self { candidate })
    }

    pub(super) fn set(&self, state: SwapState) {
        for it in SwapState::ALL {
            self.candidate.with_label_values(&[it.as_str()]).set((it == state).into());
        }
    }
}
