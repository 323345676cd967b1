//! A simulated DigitalOcean: HTTPS on loopback, with state, pages, limits and faults.
//!
//! Every request, and every answer that is not a fault on purpose, is checked against the published description of the API. What differs
//! fails the test: at [`Simulator::assert_valid`], and when the simulator is dropped.

mod answer;
mod certificate;
mod cloud;
mod description;
mod droplet;
mod droplets;
mod fault;
mod limits;
mod record;
mod server;

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

pub use self::droplet::{Droplet, Status};
pub use self::droplets::Droplets;
pub use self::fault::Fault;
pub use self::limits::Limits;
pub use self::record::{Authorization, Recorded};

use self::certificate::Authority;
use self::cloud::Cloud;

/// How long [`Simulator::wait_for`] waits.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a simulator is like at the start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The bearer token that is accepted.
    pub token: String,
    /// How late every answer is.
    pub latency: Duration,
    /// The service's rate limits. Absent: as many requests as one likes.
    pub limits: Option<Limits>,
    /// Whose token it is.
    pub account: Account,
    /// Whether requests and answers are checked against the description. Only a measurement may do without.
    pub checked: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            token: "token-of-the-simulated-account".to_owned(),
            latency: Duration::ZERO,
            limits: None,
            account: Account {
                uuid: "b6fr89dbf6d9156cace5f3c78dc9851d957381ef".to_owned(),
                team: Some("5df3e3004a17e242b7c20ca6c9fc25b701a47ece".to_owned()),
            },
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
        &self.cloud.droplets
    }

    /// Accepts this token from now on, and no other.
    pub fn set_token(&self, token: &str) {
        self.cloud.set_token(token);
    }

    /// Answers so late from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.cloud.set_latency(latency);
    }

    /// Lets something go wrong from now on.
    pub fn inject(&self, fault: Fault) {
        self.cloud.inject(fault);
    }

    /// Lets nothing go wrong any more.
    pub fn clear_faults(&self) {
        self.cloud.clear_faults();
    }

    /// All requests so far in the order of their arrival, with those that are not answered yet.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.cloud.requests()
    }

    /// The requests of a method and a path, in which a segment `*` stands for any one segment.
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
