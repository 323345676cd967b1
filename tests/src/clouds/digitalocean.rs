//! A simulated DigitalOcean: the state of an account, and the rules of the service.

mod account;
mod assets;
mod certificates;
mod droplet;
mod droplets;
mod errors;
mod gaps;
mod listing;
mod load_balancer;
mod load_balancers;
mod region;
mod scopes;
mod tags;
mod volume;
mod volumes;
mod vpcs;

use std::time::Duration;

use crate::simulator;

pub use self::account::Account;
pub use self::assets::{Assets, LIMITS};
pub use self::certificates::{Certificate, CertificateKind, Certificates};
pub use self::droplet::{Droplet, Status};
pub use self::droplets::Droplets;
pub use self::load_balancer::{
    Attributes, Firewall, ForwardingRule, HealthCheck, LoadBalancer, LoadBalancerStatus, StickySessions,
};
pub use self::load_balancers::{Behaviour, Creation, LoadBalancers};
pub use self::scopes::Scopes;
pub use self::tags::Tags;
pub use self::volume::{ActionState, Volume, VolumeAction, VolumeChange};
pub use self::volumes::{ActionTime, VolumeBehaviour, Volumes};
pub use self::vpcs::{Vpc, Vpcs};
pub use crate::simulator::{Authorization, Chaos, Fault, Hold, Limits, Owner, Recorded, Side};

/// A running simulator of DigitalOcean.
pub type Simulator = simulator::Simulator<Assets>;

/// The state of a simulator at the start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The bearer token that is accepted.
    pub token: String,
    /// The rights of the token.
    pub scopes: Scopes,
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// The account of the token.
    pub account: Account,
    /// How load balancers behave, in both accounts.
    pub load_balancers: Behaviour,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        let core = simulator::Options::default();
        Options {
            token: core.token,
            scopes: Scopes::Full,
            latency: core.latency,
            limits: core.limits,
            account: Account {
                uuid: "b6fr89dbf6d9156cace5f3c78dc9851d957381ef".to_owned(),
                team: Some("5df3e3004a17e242b7c20ca6c9fc25b701a47ece".to_owned()),
            },
            load_balancers: Behaviour::default(),
            checked: core.checked,
        }
    }
}

impl Simulator {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let Options { token, scopes, latency, limits, account, load_balancers, checked } = options;
        let ours = Assets::new(account, scopes.clone(), load_balancers);
        let other = Assets::new(Account::other(), scopes, load_balancers);
        Simulator::serve(simulator::Options { token, latency, limits, checked }, ours, other).await
    }

    /// The droplets of the account.
    #[must_use]
    pub fn droplets(&self) -> &Droplets {
        self.account().droplets()
    }

    /// The load balancers of the account.
    #[must_use]
    pub fn load_balancers(&self) -> &LoadBalancers {
        self.account().load_balancers()
    }

    /// The TLS certificates of the account.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        self.account().certificates()
    }

    /// The tags of the account.
    #[must_use]
    pub fn tags(&self) -> &Tags {
        self.account().tags()
    }

    /// The private networks of the account.
    #[must_use]
    pub fn vpcs(&self) -> &Vpcs {
        self.account().vpcs()
    }

    /// The volumes of the account.
    #[must_use]
    pub fn volumes(&self) -> &Volumes {
        self.account().volumes()
    }

    /// Lets the token do this from now on, and nothing else.
    pub fn set_scopes(&self, scopes: Scopes) {
        self.account().set_scopes(scopes.clone());
        self.other_account().set_scopes(scopes);
    }
}
