//! The clouds that the demo can show, and what is particular to each.

mod digitalocean;
mod hetzner;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use tests::simulator::Simulator;
use tests::vendor::Vendor;

/// How late each answer is.
pub(crate) const LATENCY: Duration = Duration::from_millis(50);
/// How long a load balancer is being built.
pub(crate) const BUILDING: Duration = Duration::from_secs(5);

/// A cloud that can be shown.
pub(crate) trait Shown: Vendor {
    /// What shows it.
    const COMMAND: &'static str;
    /// What it calls a machine.
    const MACHINE: &'static str;
    /// How long a load balancer takes there.
    const REALLY: &'static str;
    /// The ConfigMap of the provider.
    const CONFIG_MAP: &'static str;
    /// Flags of aerostat that only this cloud needs.
    const FLAGS: &'static [&'static str] = &[];

    /// Starts the cloud, with so many machines.
    fn open(machines: u8) -> impl Future<Output = Result<Simulator<Self::Cloud>>>;

    /// The network of the pods of a machine, where the cloud needs to know it.
    fn pods(number: u8) -> Option<String> {
        let _ = number;
        None
    }

    /// What a cloud configuration says of the provider, beside its module.
    fn provider() -> Value;

    /// What is worth showing of everything in the cloud but machines, by its name.
    fn states(account: &Self::Cloud) -> BTreeMap<String, String>;

    /// How many networks of pods have a route.
    fn routes(account: &Self::Cloud) -> usize {
        let _ = account;
        0
    }
}
