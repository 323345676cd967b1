//! A simulated environment of Rancher 1.x: hosts with addresses, a stack, load balancers and external services with states and actions.
//!
//! It has no published description any more: it says itself in which requests something is wrong. Its lists come from one database, and
//! are never late.

mod assets;
mod balancing;
mod listing;
mod shape;
mod world;

use crate::simulator;

pub use self::assets::Assets;
pub use self::world::{RancherKind, RancherResource, World, host_uuid};
pub use crate::simulator::{Fault, Recorded, Taking};

/// The path of the environment.
pub const BASE: &str = "/v2-beta/projects/1a5";
/// The access key.
pub const ACCESS_KEY: &str = "DE1A9F0C2B7E44D5A6B1";
/// The secret key.
pub const SECRET_KEY: &str = "tCbhXnV6pYw3mKq8sZr5uJ2dLf7gHa9eQx4iRo1N";

/// A running simulator of Rancher.
pub type Simulator = simulator::Simulator<Assets>;

/// The state of a simulator at the start.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// How long a change takes.
    pub taking: Taking,
    /// Whether requests need the keys.
    pub asks_for_keys: bool,
}

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
