//! A test's word on one machine.

use std::time::Duration;

use super::failure::Failure;

/// The cloud's word on the machine of one node.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// With the prefix `fakecloud://`; empty if the cloud has none.
    pub provider_id: String,
    /// Whether it was shut down.
    pub stopped: bool,
    /// Empty if the cloud does not say; so for zone and region.
    pub machine_type: String,
    /// The zone.
    pub zone: String,
    /// The region.
    pub region: String,
    /// Pairs of type, as in `InternalIP`, and address.
    pub addresses: Vec<(String, String)>,
    /// Further node labels.
    pub labels: Vec<(String, String)>,
    /// Pod networks that the cloud has given it, as in `10.244.1.0/24`.
    pub pod_cidrs: Vec<String>,
    /// How long each answer takes.
    pub delay: Duration,
    /// The answer that is given instead. A list leaves such a machine out.
    pub failure: Option<Failure>,
}
