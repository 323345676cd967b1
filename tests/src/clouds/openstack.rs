//! A simulated region of OpenStack: Keystone, Nova, Neutron, Octavia, Cinder and Barbican behind one address, and the rules of the services.
//!
//! Each service has a path of its own, named as its type in the catalogue: tests find requests as `/network/v2.0/ports` and
//! `/load-balancer/v2.0/lbaas/pools`, also those that came without the first segment.

mod assets;
mod balancing;
mod behaviour;
mod compute;
mod ending;
mod errors;
mod ground;
mod identity;
mod keys;
mod kind;
mod listing;
mod network;
mod pending;
mod published;
mod region;
mod service;
mod volume_changes;
mod volumes;
mod world;

use std::sync::Arc;
use std::time::Duration;

use crate::simulator;

pub use self::assets::Assets;
pub use self::behaviour::Behaviour;
pub use self::identity::{
    APPLICATION_CREDENTIAL, ApplicationCredential, Identity, PASSWORD, PROJECT, REGION, SECRET, USER, User,
};
pub use self::kind::Kind;
pub use self::service::Service;
pub use self::world::World;
pub use crate::simulator::{Chaos, Fault, Hold, Limits, Owner, Recorded, Side, Taking};

/// A running simulator of OpenStack.
pub type Simulator = simulator::Simulator<Assets>;

/// The project of everybody, after [`Simulator::set_owner`] has said that it is another.
pub const OTHER_PROJECT: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";

/// The state of a simulator at the start.
pub type Options = simulator::Behaving<Behaviour>;

impl Options {
    /// The same where each change of a load balancer has ended when something is read next.
    #[must_use]
    pub fn instant() -> Options {
        Options::with(Behaviour::instant())
    }
}

impl Simulator {
    /// Listens on a free port of loopback, with nothing in the project.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let (options, behaviour) = options.split();
        let identity = Arc::new(Identity::new(&options.token));
        let ours = Assets::new(behaviour.clone(), Arc::clone(&identity), None);
        let other = Assets::new(behaviour, Arc::clone(&identity), Some(OTHER_PROJECT));
        let simulator = Simulator::serve(options, ours, other).await?;
        identity.set_base(&simulator.base_url());
        Ok(simulator)
    }

    /// Keystone's address: what a credential names.
    #[must_use]
    pub fn keystone(&self) -> String {
        format!("{}/identity/v3", self.base_url())
    }

    /// Keystone.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.account().identity()
    }

    /// Reads or changes what the project has.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.account().with(change)
    }

    /// Changes how the services behave from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.with(|world| change(&mut world.behaviour));
    }

    /// Lets time pass for everything that takes time.
    pub fn advance(&self, time: Duration) {
        self.with(|world| world.advance(time));
    }
}
