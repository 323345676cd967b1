//! A simulated environment of Rancher 1.x: hosts with addresses, a stack, load balancers and external services with states and actions.
//!
//! It answers eight collections: hosts, all addresses and those of a host, stacks, settings, load balancers, the services that one of them is linked
//! to, and external services. The services that use another one (`consumedbyservices`) are not among them: Rancher's own manager asks for them
//! because external services are several load balancers' there, and here each is one Service's.
//!
//! It has no published description any more: it says itself in which requests something is wrong. Its lists come from one database, and
//! are late only where a test says so: behind a cache, or another server of Rancher's.

mod assets;
mod balancing;
mod behaviour;
mod listing;
mod shape;
mod world;

use crate::simulator;

pub use self::assets::Assets;
pub use self::behaviour::{ACCESS_KEY, BASE, Behaviour, SECRET_KEY};
pub use self::world::{RancherKind, RancherResource, World, host_uuid};
pub use crate::simulator::{Fault, Recorded, Taking};

/// A running simulator of Rancher.
pub type Simulator = simulator::Simulator<Assets>;

impl Simulator {
    /// Listens on a free port of loopback, with an environment without hosts.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let assets = || Assets::new(behaviour);
        Simulator::serve(simulator::Options::default(), assets(), assets()).await
    }

    /// The environment, as an endpoint names it.
    #[must_use]
    pub fn environment_url(&self) -> String {
        format!("{}{BASE}", self.base_url())
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.account().with(change)
    }
}
