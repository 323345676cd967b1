//! Simulated accounts of IBM Cloud: the API of the VPC, IAM as far as it gives tokens, and a machine's metadata service.
//!
//! A load balancer that was made or changed takes no other change until it is active again. A deletion is refused only while another one
//! goes on.

mod assets;
mod balancers;
mod behaviour;
mod creation;
mod errors;
mod etags;
mod groups;
mod iam;
mod kind;
mod listing;
mod metadata;
mod parts;
mod presented;
mod published;
mod region;
mod routes;
mod values;
mod vpc;
mod world;

use std::sync::Arc;
use std::time::Duration;

use crate::simulator;

pub use self::assets::Assets;
pub use self::behaviour::Behaviour;
pub use self::iam::{API_KEY, Iam, TRUSTED_PROFILE};
pub use self::kind::VpcKind;
pub use self::metadata::IbmMetadata;
pub use self::region::{ACCOUNT, CLUSTER, OTHER_ACCOUNT, OTHER_VPC, REGION, VPC, machine_address, machine_id};
pub use self::world::World;
pub use crate::simulator::{Chaos, Fault, Hold, Limits, Owner, Recorded, Side, Taking};

/// A running simulator of IBM Cloud.
pub type Simulator = simulator::Simulator<Assets>;

/// The state of a simulator at the start.
pub type Options = simulator::Behaving<Behaviour>;

impl Options {
    /// The same where each change has ended when something is read next.
    #[must_use]
    pub fn instant() -> Options {
        Options::with(Behaviour::instant())
    }
}

impl Simulator {
    /// Listens on a free port of loopback, with nothing in the account.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let (options, behaviour) = options.split();
        let iam = Arc::new(Iam::new(&options.token));
        let ours = Assets::new(behaviour.clone(), Arc::clone(&iam), ACCOUNT);
        let other = Assets::new(behaviour, iam, OTHER_ACCOUNT);
        Simulator::serve(options, ours, other).await
    }

    /// The API of the VPC, as an endpoint names it.
    #[must_use]
    pub fn vpc_url(&self) -> String {
        format!("{}/v1", self.base_url())
    }

    /// IAM.
    #[must_use]
    pub fn iam(&self) -> &Arc<Iam> {
        self.account().iam()
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
