//! A simulated Hetzner: the state of a project, and the rules of the service. Dedicated servers are in [`robot`].

mod action;
mod actions;
mod assets;
mod behaviour;
mod certificate;
mod certificates;
mod errors;
mod gaps;
mod listing;
mod load_balancer;
mod load_balancers;
mod location;
mod network;
mod networks;
mod project;
pub mod robot;
mod selector;
mod server;
mod servers;
mod volume;
mod volumes;

use std::time::Duration;

use crate::simulator;

pub use self::action::Taking;
pub use self::assets::{Assets, LIMITS};
pub use self::behaviour::Behaviour;
pub use self::certificate::{Certificate, CertificateKind, Issuance};
pub use self::certificates::Certificates;
pub use self::load_balancer::{HealthCheck, HealthCheckHttp, Http, Kind, LoadBalancer, Service, Target};
pub use self::load_balancers::LoadBalancers;
pub use self::network::{Network, Route, Subnet, SubnetKind};
pub use self::networks::Networks;
pub use self::selector::Labels;
pub use self::server::{PrivateNet, Server, Status};
pub use self::servers::Servers;
pub use self::volume::Volume;
pub use self::volumes::Volumes;
pub use crate::simulator::{Authorization, Chaos, Fault, Hold, Limits, Owner, Recorded, Side};

/// A running simulator of Hetzner's cloud.
pub type Simulator = simulator::Simulator<Assets>;

/// The state of a simulator at the start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The bearer token that is accepted.
    pub token: String,
    /// Whether the token may only read.
    pub read_only: bool,
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// How both projects behave.
    pub behaviour: Behaviour,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        let core = simulator::Options::default();
        Options {
            // As long as the service's own.
            token: format!("{}{}", core.token, "x".repeat(64 - core.token.len())),
            read_only: false,
            latency: core.latency,
            limits: core.limits,
            behaviour: Behaviour::default(),
            checked: core.checked,
        }
    }
}

impl Options {
    /// The same where each action has ended when something is read next.
    #[must_use]
    pub fn instant() -> Options {
        Options { behaviour: Behaviour::instant(), ..Options::default() }
    }
}

impl Simulator {
    /// Listens on a free port of loopback. No id of the other project is one of ours.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let Options { token, read_only, latency, limits, behaviour, checked } = options;
        let (ours, other) = (Assets::new(behaviour, 1_000_000), Assets::new(behaviour, 9_000_000));
        let simulator = Simulator::serve(simulator::Options { token, latency, limits, checked }, ours, other).await?;
        simulator.set_read_only(read_only);
        Ok(simulator)
    }

    /// The servers of the project.
    #[must_use]
    pub fn servers(&self) -> &Servers {
        self.account().servers()
    }

    /// The load balancers of the project.
    #[must_use]
    pub fn load_balancers(&self) -> &LoadBalancers {
        self.account().load_balancers()
    }

    /// The private networks of the project.
    #[must_use]
    pub fn networks(&self) -> &Networks {
        self.account().networks()
    }

    /// The TLS certificates of the project.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        self.account().certificates()
    }

    /// The volumes of the project.
    #[must_use]
    pub fn volumes(&self) -> &Volumes {
        self.account().volumes()
    }

    /// Changes how the project behaves from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.account().behave(change);
    }

    /// Lets the token only read from now on, or no more.
    pub fn set_read_only(&self, read_only: bool) {
        self.account().set_read_only(read_only);
        self.other_account().set_read_only(read_only);
    }
}
