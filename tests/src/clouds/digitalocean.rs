//! A simulated DigitalOcean: HTTPS on loopback, with state, pages, limits and faults.
//!
//! Every request, and every answer that is not a fault on purpose, is checked against the published description of the API. What differs
//! fails the test: at [`Simulator::assert_valid`], and when the simulator is dropped.

mod answer;
mod assets;
mod authority;
mod certificates;
mod chaos;
mod cloud;
mod description;
mod droplet;
mod droplets;
mod fault;
mod hold;
mod limits;
mod listing;
mod load_balancer;
mod load_balancers;
mod record;
mod region;
mod scopes;
mod server;
mod tags;
mod vpcs;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use self::assets::Assets;
pub use self::certificates::{Certificate, CertificateKind, Certificates};
pub use self::chaos::Chaos;
pub use self::droplet::{Droplet, Status};
pub use self::droplets::Droplets;
pub use self::fault::Fault;
pub use self::hold::{Hold, Side};
pub use self::limits::Limits;
pub use self::load_balancer::{
    Attributes, Firewall, ForwardingRule, HealthCheck, LoadBalancer, LoadBalancerStatus, StickySessions,
};
pub use self::load_balancers::{Behaviour, Creation, LoadBalancers};
pub use self::record::{Authorization, Recorded};
pub use self::scopes::Scopes;
pub use self::tags::Tags;
pub use self::vpcs::{Vpc, Vpcs};

use self::authority::Authority;
use self::cloud::Cloud;

/// How long [`Simulator::wait_for`] waits.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a simulator is like at the start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The bearer token that is accepted.
    pub token: String,
    /// What the token may do.
    pub scopes: Scopes,
    /// How late every answer is.
    pub latency: Duration,
    /// The service's rate limits. Absent: as many requests as one likes.
    pub limits: Option<Limits>,
    /// Whose token it is.
    pub account: Account,
    /// How load balancers behave, in both accounts.
    pub load_balancers: Behaviour,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            token: "token-of-the-simulated-account".to_owned(),
            scopes: Scopes::Full,
            latency: Duration::ZERO,
            limits: None,
            account: Account {
                uuid: "b6fr89dbf6d9156cace5f3c78dc9851d957381ef".to_owned(),
                team: Some("5df3e3004a17e242b7c20ca6c9fc25b701a47ece".to_owned()),
            },
            load_balancers: Behaviour::default(),
            checked: true,
        }
    }
}

/// The account behind the token.
#[derive(Clone, Debug)]
pub struct Account {
    /// Of the user.
    pub uuid: String,
    /// Of the team that owns the resources; old accounts have none.
    pub team: Option<String>,
}

impl Account {
    /// One that has nothing to do with ours.
    fn strangers() -> Account {
        Account {
            uuid: "0fe4fa1a2b13d5d9b9cf20a3f7ea3f6cbb7d8b1c".to_owned(),
            team: Some("e1d2c3b4a5968778695a4b3c2d1e0f9a8b7c6d5e".to_owned()),
        }
    }
}

/// Whose the token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The account that everything belongs to unless a test says otherwise.
    Us,
    /// The other account: as if somebody had put a wrong token into the Secret.
    Strangers,
}

/// A running simulator. Dropping it ends all its connections, removes its files, and fails the test if anything differed from the
/// description.
pub struct Simulator {
    /// The bearer token that is accepted at the start.
    pub token: String,
    address: SocketAddr,
    authority: Authority,
    cloud: Arc<Cloud>,
    server: JoinSet<std::convert::Infallible>,
}

impl Simulator {
    /// Listens on a free port of loopback.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn start(options: Options) -> anyhow::Result<Simulator> {
        let (authority, tls) = Authority::new()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
        let address = listener.local_addr()?;
        let token = options.token.clone();
        let cloud = Arc::new(Cloud::new(options));
        let mut server = JoinSet::new();
        server.spawn(server::serve(listener, tls, Arc::clone(&cloud)));
        Ok(Simulator { token, address, authority, cloud, server })
    }

    /// Where it is: `https://127.0.0.1:` and the port.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file with the authority that signed its certificate, which is good for 127.0.0.1, `localhost` and `api.digitalocean.com`.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.authority.file()
    }

    /// The droplets of the account.
    #[must_use]
    pub fn droplets(&self) -> &Droplets {
        self.cloud.ours.droplets()
    }

    /// The load balancers of the account.
    #[must_use]
    pub fn load_balancers(&self) -> &LoadBalancers {
        self.cloud.ours.load_balancers()
    }

    /// The TLS certificates of the account.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        self.cloud.ours.certificates()
    }

    /// The tags of the account.
    #[must_use]
    pub fn tags(&self) -> &Tags {
        self.cloud.ours.tags()
    }

    /// The private networks of the account.
    #[must_use]
    pub fn vpcs(&self) -> &Vpcs {
        self.cloud.ours.vpcs()
    }

    /// What belongs to another account, which the token does not reach unless [`Simulator::set_owner`] says so.
    #[must_use]
    pub fn strangers(&self) -> &Assets {
        &self.cloud.strangers
    }

    /// Lets the token be this account's from now on.
    pub fn set_owner(&self, owner: Owner) {
        self.cloud.set_owner(owner);
    }

    /// Accepts this token from now on, and no other.
    pub fn set_token(&self, token: &str) {
        self.cloud.set_token(token);
    }

    /// Lets the token do this from now on, and nothing else.
    pub fn set_scopes(&self, scopes: Scopes) {
        self.cloud.set_scopes(scopes);
    }

    /// Answers so late from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.cloud.set_latency(latency);
    }

    /// Lets something go wrong from now on.
    pub fn inject(&self, fault: Fault) {
        self.cloud.inject(fault);
    }

    /// Lets requests go wrong at random from now on, or no more. What was injected comes first.
    pub fn set_chaos(&self, chaos: Option<Chaos>) {
        self.cloud.set_chaos(chaos);
    }

    /// Stops the whole cloud at the `nth` of these requests from now on, counted from one, and on that side of it.
    ///
    /// # Panics
    ///
    /// Panics if the cloud is to stop somewhere already, or at a request before the first.
    #[must_use = "dropping it lets everything go on"]
    pub fn hold(&self, nth: usize, side: Side, which: impl Fn(&Recorded) -> bool + Send + Sync + 'static) -> Hold {
        self.cloud.turnstile.hold(nth, side, which)
    }

    /// Lets nothing go wrong any more that was injected.
    pub fn clear_faults(&self) {
        self.cloud.clear_faults();
    }

    /// All requests so far in the order of their arrival, with those that are not answered yet.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.cloud.requests()
    }

    /// The requests of a method and a path. The method `*` stands for any; in the path a segment `*` stands for any one segment, and `**` at
    /// its end for any number of them.
    #[must_use]
    pub fn requests_to(&self, method: &str, path: &str) -> Vec<Recorded> {
        self.requests().into_iter().filter(|it| it.is(method, path)).collect()
    }

    /// Receives every request from now on, as soon as its answer is about to leave.
    #[must_use]
    pub fn observe(&self) -> broadcast::Receiver<Recorded> {
        self.cloud.observe()
    }

    /// Waits until the requests are as a test expects them.
    ///
    /// # Panics
    ///
    /// Panics with the list of all requests if they are not within thirty seconds.
    pub async fn wait_for(&self, what: &str, expected: impl Fn(&[Recorded]) -> bool) {
        let mut news = self.cloud.news();
        let come = async {
            while !expected(&self.requests()) {
                // The sender lives in `self`.
                let _ = news.changed().await;
            }
        };
        if timeout(PATIENCE, come).await.is_err() {
            panic!("waited in vain for {what}; the requests were{}", Lines(&self.requests()));
        }
    }

    /// Fails if anything differed from the description until now.
    ///
    /// # Panics
    ///
    /// Panics with the list of what differed.
    pub fn assert_valid(&self) {
        let violations = self.cloud.take_violations();
        assert!(violations.is_empty(), "what was said differs from the published API:{}", Lines(&violations));
    }

    /// Returns what differed from the description until now, and forgets it: for tests that want it to.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        self.cloud.take_violations()
    }

    /// Ends all connections, waits for it, and checks as [`Simulator::assert_valid`] does.
    ///
    /// # Panics
    ///
    /// Panics with the list of what differed.
    pub async fn stop(mut self) {
        self.server.shutdown().await;
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // A second panic would hide the first, and end the process.
        if !std::thread::panicking() {
            self.assert_valid();
        }
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").field("address", &self.address).finish_non_exhaustive()
    }
}

/// One indented line each.
struct Lines<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Lines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| write!(f, "\n    {it}"))
    }
}
