//! Simulated accounts of Alibaba Cloud: ECS, Classic and Network Load Balancers, VPC, STS, and a machine's metadata service.
//!
//! All requests go to one path, and say in headers what they do. Tests name them by product and action, as in
//! `POST /ecs/DescribeInstances`; parameters stand as the query, wherever they were sent. Each signature is computed again, here.

mod acs3;
mod assets;
mod behaviour;
mod disks;
mod errors;
mod instances;
mod job_list;
mod jobs;
mod listing;
mod machine_metadata;
mod network_balancers;
mod network_groups;
mod network_listeners;
mod networks;
mod pairs;
mod published;
mod ram;
mod region;
mod route_writer;
mod routes;
mod security;
mod slb_access;
mod slb_balancers;
mod slb_domains;
mod slb_groups;
mod slb_listeners;
mod sts;
mod table;
mod world;

use std::sync::Arc;
use std::time::Duration;

use crate::simulator;

pub use self::assets::Assets;
pub use self::behaviour::Behaviour;
pub use self::machine_metadata::EcsMetadata;
pub use self::ram::{AccessKey, KEY_ID, KEY_SECRET, OIDC_TOKEN, PROVIDER, ROLE, Ram};
pub use self::region::{ACCOUNT, CLUSTER, OTHER_ACCOUNT, REGION, ROUTE_TABLE, VPC, ZONES, machine_address, machine_id};
pub use self::slb_listeners::usual as usual_listener;
pub use self::table::Table;
pub use self::world::World;
pub use crate::simulator::{Chaos, Fault, Hold, Limits, Owner, Recorded, Side, Taking};

/// A running simulator of Alibaba Cloud.
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
    /// Listens on a free port of loopback, with a VPC and its vSwitches in the account, and nothing else.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let (options, behaviour) = options.split();
        let ram = Arc::new(Ram::default());
        let ours = Assets::new(behaviour.clone(), Arc::clone(&ram), ACCOUNT);
        let other = Assets::new(behaviour, ram, OTHER_ACCOUNT);
        Simulator::serve(options, ours, other).await
    }

    /// The keys of the account, and what they may do.
    #[must_use]
    pub fn ram(&self) -> &Arc<Ram> {
        self.account().ram()
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.account().with(change)
    }

    /// Changes how the APIs behave from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.with(|world| change(&mut world.behaviour));
    }

    /// Lets time pass for everything that takes time.
    pub fn advance(&self, time: Duration) {
        self.with(|world| world.advance(time));
    }
}
