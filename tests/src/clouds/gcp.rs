//! Simulated projects of Google Cloud: Compute Engine, the token endpoint for keys of service accounts, federation, and a machine's metadata
//! server as far as it gives tokens.
//!
//! Each write begins an operation, which ends later. What it makes or changes is there at once, as with the real one, but takes no other
//! write until then; what it deletes is there until then.

mod assets;
mod behaviour;
mod called;
mod collection;
mod compute;
mod errors;
mod federation;
mod filter;
mod identity;
mod listing;
mod metadata;
mod ongoing;
mod operations;
mod partial;
mod place;
mod presented;
mod published;
mod region;
mod rules;
mod world;

use std::sync::Arc;
use std::time::Duration;

use crate::simulator;

pub use self::assets::Assets;
pub use self::behaviour::{Behaviour, OperationFailure, OperationTime};
pub use self::collection::Collection;
pub use self::identity::{Accounts, KEY};
pub use self::metadata::MetadataServer;
pub use self::place::{Place, Scope, link};
pub use self::region::{NETWORK_PROJECT, PROJECT, REGION, machine_address};
pub use self::world::World;
pub use crate::simulator::{Chaos, Fault, Hold, Limits, Owner, Recorded, Side};

/// A running simulator of Google Cloud.
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

impl Simulator {
    /// Listens on a free port of loopback, without any project.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let (options, behaviour) = options.split();
        let accounts = Arc::new(Accounts::new(&options.token));
        let ours = Assets::new(behaviour.clone(), Arc::clone(&accounts));
        let other = Assets::new(behaviour, accounts);
        Simulator::serve(options, ours, other).await
    }

    /// A project of Compute Engine, as an endpoint names it.
    #[must_use]
    pub fn project_url(&self, project: &str) -> String {
        format!("{}/projects/{project}", self.compute_url())
    }

    /// Where Compute Engine is.
    #[must_use]
    pub fn compute_url(&self) -> String {
        format!("{}/compute/v1", self.base_url())
    }

    /// The service accounts.
    #[must_use]
    pub fn accounts(&self) -> &Arc<Accounts> {
        self.account().accounts()
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.account().with(change)
    }

    /// Changes how the API behaves from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.with(|world| change(&mut world.behaviour));
    }

    /// Lets time pass for everything that takes time.
    pub fn advance(&self, time: Duration) {
        self.with(|world| world.advance(time));
    }
}
