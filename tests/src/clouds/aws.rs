//! AWS: a proxy before moto's server, which has the state of EC2 and Elastic Load Balancing and judges signatures and policies.
//!
//! The proxy gives it what every simulated cloud has: a record of requests, limits, delays, faults, and places at which everything stops.
//! Behaviour of AWS that moto lacks is added in moto's own process, in `tests/moto/aws`, each rule with the page that it comes from: a
//! request that was changed on its way would be signed no more. There too botocore checks every request and every answer against AWS's own
//! description of the service.
//!
//! All requests of AWS go to one path. Tests name them by service and action, as in `POST /ec2/DescribeInstances`; parameters stand as the
//! query.

mod account;
mod errors;
mod state;

use std::time::Duration;

use serde_json::{Value, json};

use crate::moto::Moto;
use crate::simulator;

pub use self::account::{Account, LIMITS};
pub use self::errors::{Service, refusal};
pub use self::state::{
    ClassicLoadBalancer, Listener, LoadBalancer, Permission, RouteEntry, SecurityGroup, State, Tags, TargetGroup,
};
pub use crate::simulator::{Authorization, Chaos, Fault, Hold, Limits, Owner, Recorded, Side};

/// The cluster's id in its tags.
pub const CLUSTER: &str = "prod";
/// The account.
pub const ACCOUNT: &str = "123456789012";

/// A running counterpart of AWS.
pub type Simulator = simulator::Simulator<Account>;

/// The state of a counterpart at the start.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How late every answer is.
    pub latency: Duration,
    /// The limits on requests. Absent: there are none.
    pub limits: Option<Limits>,
    /// Whether there is another account, with a server of its own.
    pub other: bool,
}

impl Simulator {
    /// Listens on a free port of loopback, before a server of its own.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let ours = Account::new(Moto::start().await);
        let other = if options.other { Account::new(Moto::start().await) } else { Account::closed() };
        let core = simulator::Options { latency: options.latency, limits: options.limits, ..Default::default() };
        Simulator::serve(core, ours, other).await
    }

    /// The moto behind it.
    #[must_use]
    pub fn moto(&self) -> &Moto {
        self.account().moto()
    }

    /// Lets AWS behave so from now on: see `Behaviour` in `tests/moto/aws/world.py`.
    pub fn behave(&self, changes: &Value) {
        self.moto().order("behave", changes);
    }

    /// Lets time pass for everything in AWS that takes time.
    pub fn advance(&self, time: Duration) {
        self.moto().order("advance", &json!({ "seconds": time.as_secs_f64() }));
    }

    /// Lets AWS's clock differ from that of who asks by so many seconds.
    pub fn skew(&self, seconds: i64) {
        self.moto().order("skew", &json!({ "seconds": seconds }));
    }

    /// Everything as it is, whatever lists show.
    #[must_use]
    pub fn state(&self) -> State {
        self.account().state()
    }

    /// The requests for an action of a service, as in `ec2` and `CreateRoute`.
    #[must_use]
    pub fn asked(&self, service: &str, action: &str) -> Vec<Recorded> {
        self.requests_to("POST", &format!("/{service}/{action}"))
    }
}
