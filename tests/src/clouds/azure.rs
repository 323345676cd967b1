//! Simulated subscriptions of Azure: Resource Manager with Network and Compute, and Entra with managed identities.
//!
//! Each write begins an operation, which ends later. What it makes or changes is there at once, as with the real one, and is `Updating`
//! until then; what it deletes is there until then.
//!
//! The words of paths have no letter case. Tests find requests, and faults meet them, by the usual one:
//! `/subscriptions/*/resourceGroups/*/providers/Microsoft.Network/loadBalancers/*`.

mod applications;
mod assets;
mod behaviour;
mod change;
mod entra;
mod errors;
mod id;
mod identity;
mod kind;
mod listing;
mod metadata;
mod ongoing;
mod operations;
mod other_writer;
mod power;
mod presented;
mod published;
mod reading;
mod references;
mod region;
mod requests;
mod rules;
mod tenants;
mod throttle;
mod tokens;
mod world;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::simulator;

pub use self::applications::{CERTIFICATE, FEDERATED, SECRET};
pub use self::assets::Assets;
pub use self::behaviour::{Behaviour, OperationFailure, Overlap};
pub use self::identity::Identity;
pub use self::kind::{Kind, Service};
pub use self::metadata::MetadataService;
pub use self::region::{GROUP, LOCATION, SUBSCRIPTION, id, machine_address};
pub use self::tenants::{CLIENT, IDENTITY, IDENTITY_HEADER, OTHER_TENANT, TENANT};
pub use self::throttle::{RequestGroup, Throttle};
pub use self::world::World;
pub use crate::simulator::{Chaos, Fault, Hold, Limits, Owner, Recorded, Side, Taking};

/// A running simulator of Azure.
pub type Simulator = simulator::Simulator<Assets>;

/// The state of a simulator at the start.
pub type Options = simulator::Behaving<Behaviour>;

impl Options {
    /// The same where each operation has ended when something is read next.
    #[must_use]
    pub fn instant() -> Options {
        Options::with(Behaviour::instant())
    }
}

/// The body of a refusal, as faults have it: `PublicIPAddressCannotBeDeleted` and a sentence.
#[must_use]
pub fn refusal(code: &str, message: &str) -> String {
    json!({ "error": { "code": code, "message": message } }).to_string()
}

impl Simulator {
    /// Listens on a free port of loopback, without any subscription.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let (options, behaviour) = options.split();
        let identity = Arc::new(Identity::new(&options.token));
        let ours = Assets::new(behaviour.clone(), Arc::clone(&identity));
        let other = Assets::new(behaviour, identity);
        let simulator = Simulator::serve(options, ours, other).await?;
        simulator.account().set_base(&simulator.base_url());
        simulator.other_account().set_base(&simulator.base_url());
        Ok(simulator)
    }

    /// Entra, and the tokens that it has given.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.account().identity()
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.account().with(change)
    }

    /// Changes how Azure behaves from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.with(|world| change(&mut world.behaviour));
    }

    /// Lets time pass for everything that takes time.
    pub fn advance(&self, time: Duration) {
        self.with(|world| world.advance(time));
    }

    /// Counts the requests of a group from now on, and refuses those too many with 429 and `Retry-After`.
    pub fn throttle(&self, group: RequestGroup, throttle: Throttle) {
        self.with(|world| world.throttles.limit(group, throttle));
    }

    /// Refuses all requests of a group for so long with 429 and `Retry-After`.
    pub fn close(&self, group: RequestGroup, time: Duration) {
        self.with(|world| {
            let until = world.time() + time;
            world.throttles.close(group, until);
        });
    }
}
