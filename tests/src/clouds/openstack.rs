//! A simulated region of OpenStack: Keystone, Nova, Neutron, Octavia and Barbican behind one address, and the rules of the services.
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
mod world;

use std::sync::Arc;
use std::time::Duration;

use crate::simulator;

pub use self::assets::Assets;
pub use self::behaviour::{Behaviour, Taking};
pub use self::identity::{
    APPLICATION_CREDENTIAL, ApplicationCredential, Identity, PASSWORD, PROJECT, REGION, SECRET, USER, User,
};
pub use self::kind::Kind;
pub use self::service::Service;
pub use self::world::World;
pub use crate::simulator::{Chaos, Fault, Hold, Limits, Owner, Recorded, Side};

/// A running simulator of OpenStack.
pub type Simulator = simulator::Simulator<Assets>;

/// The project of everybody, after [`Simulator::set_owner`] has said that it is another.
pub const OTHER_PROJECT: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";

/// The state of a simulator at the start.
#[derive(Clone, Debug)]
pub struct Options {
    /// A token that is good from the start.
    pub token: String,
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// How the services behave.
    pub behaviour: Behaviour,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        let core = simulator::Options::default();
        Options {
            token: core.token,
            latency: core.latency,
            limits: core.limits,
            behaviour: Behaviour::default(),
            checked: core.checked,
        }
    }
}

impl Options {
    /// The same where each change of a load balancer has ended when something is read next.
    #[must_use]
    pub fn instant() -> Options {
        Options { behaviour: Behaviour::instant(), ..Options::default() }
    }
}

impl Simulator {
    /// Listens on a free port of loopback, with nothing in the project.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let Options { token, latency, limits, behaviour, checked } = options;
        let identity = Arc::new(Identity::new(&token));
        let ours = Assets::new(behaviour.clone(), Arc::clone(&identity), None);
        let other = Assets::new(behaviour, Arc::clone(&identity), Some(OTHER_PROJECT));
        let simulator = Simulator::serve(simulator::Options { token, latency, limits, checked }, ours, other).await?;
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
