//! Simulated clouds: HTTPS on loopback, with requests that are checked, limits, delays and faults.
//!
//! This module knows no cloud. A cloud is a [`Cloud`]: its state, and the rules by which it answers. The clouds are in [`crate::clouds`].
//!
//! Every request, and every answer that is not a fault on purpose, is checked against the published description of the cloud's API. What
//! differs fails the test: at [`Simulator::assert_valid`], and when the simulator is dropped.

mod admin;
mod answer;
mod authority;
mod chaos;
mod client;
mod cloud;
mod description;
mod fault;
mod handler;
mod hold;
mod limits;
pub mod lists;
mod ordered;
mod record;
mod server;
mod shared;
mod taking;
#[cfg(test)]
mod tests;

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

pub use self::admin::Admin;
pub use self::answer::Answer;
pub use self::chaos::Chaos;
pub use self::cloud::{Behaving, Cloud, Options, Owner};
pub use self::description::{Description, Gap, Gaps};
pub use self::fault::Fault;
pub use self::hold::{Hold, Side};
pub use self::limits::{Limits, Quota};
pub use self::ordered::Ordered;
pub use self::record::{Authorization, Recorded, RequestFields};
pub use self::shared::{CloudClock, Settles, Shared};
pub use self::taking::{End, Taking};

use self::authority::Authority;
use self::handler::Handler;

/// How long [`Simulator::wait_for`] waits.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running simulator of a cloud. Dropping it ends all its connections, removes its files, and fails the test if anything differed from
/// the description.
pub struct Simulator<C: Cloud> {
    /// The token that is accepted at the start.
    pub token: String,
    address: SocketAddr,
    authority: Authority,
    handler: Arc<Handler<C>>,
    server: JoinSet<std::convert::Infallible>,
}

impl<C: Cloud> Simulator<C> {
    /// Serves two accounts on a free port of loopback: `ours`, and `other` after [`Simulator::set_owner`] only.
    ///
    /// # Errors
    ///
    /// Fails if there is no port, or no place for the file with the certificate.
    pub async fn serve(options: Options, ours: C, other: C) -> anyhow::Result<Simulator<C>> {
        let (authority, tls) = Authority::new(C::NAME, C::HOSTS, C::PROTOCOLS)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on loopback")?;
        let address = listener.local_addr()?;
        let token = options.token.clone();
        let handler = Arc::new(Handler::new(options, ours, other));
        let mut server = JoinSet::new();
        server.spawn(server::serve(listener, tls, Arc::clone(&handler)));
        Ok(Simulator { token, address, authority, handler, server })
    }

    /// Serves plain HTTP on loopback, too, with these routes beside the cloud's own: `http://127.0.0.1:` and the port, or 0 for a free one.
    ///
    /// # Errors
    ///
    /// Fails if the port is taken.
    pub async fn open(
        &mut self,
        port: u16,
        admin: impl FnOnce(Control<C>) -> Arc<dyn Admin>,
    ) -> anyhow::Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.context("cannot listen on loopback")?;
        let url = format!("http://{}", listener.local_addr()?);
        let admin = admin(Control { handler: Arc::clone(&self.handler) });
        self.server.spawn(server::serve_plain(listener, Arc::clone(&self.handler), admin));
        Ok(url)
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

    /// The file with the authority that signed its certificate, which is good for 127.0.0.1, `localhost` and the
    /// cloud's own hosts.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.authority.file()
    }

    /// The account that the token reaches at the start.
    #[must_use]
    pub fn account(&self) -> &C {
        &self.handler.ours
    }

    /// The account that the token does not reach unless [`Simulator::set_owner`] says so.
    #[must_use]
    pub fn other_account(&self) -> &C {
        &self.handler.other
    }

    /// Lets the token be this account's from now on.
    pub fn set_owner(&self, owner: Owner) {
        self.handler.set_owner(owner);
    }

    /// Accepts this token from now on, and no other.
    pub fn set_token(&self, token: &str) {
        self.handler.set_token(token);
    }

    /// Answers so late from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.handler.set_latency(latency);
    }

    /// Lets something go wrong from now on.
    pub fn inject(&self, fault: Fault) {
        self.handler.inject(fault);
    }

    /// Lets requests go wrong at random from now on, or no more. What was injected comes first.
    pub fn set_chaos(&self, chaos: Option<Chaos>) {
        self.handler.set_chaos(chaos);
    }

    /// Stops the whole cloud at the `nth` of these requests from now on, counted from one, and on that side of it.
    ///
    /// # Panics
    ///
    /// Panics if the cloud is to stop somewhere already, or at a request before the first.
    #[must_use = "dropping it lets everything go on"]
    pub fn hold(&self, nth: usize, side: Side, which: impl Fn(&Recorded) -> bool + Send + Sync + 'static) -> Hold {
        self.handler.turnstile.hold(nth, side, which)
    }

    /// Lets nothing go wrong any more that was injected.
    pub fn clear_faults(&self) {
        self.handler.clear_faults();
    }

    /// All requests so far in the order of their arrival, with those that are not answered yet.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.handler.requests()
    }

    /// As [`Simulator::requests`], without so many at the beginning.
    #[must_use]
    pub fn requests_from(&self, index: usize) -> Vec<Recorded> {
        self.handler.requests_from(index)
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
        self.handler.observe()
    }

    /// Waits until the requests are as a test expects them.
    ///
    /// # Panics
    ///
    /// Panics with the list of all requests if they are not within thirty seconds.
    pub async fn wait_for(&self, what: &str, expected: impl Fn(&[Recorded]) -> bool) {
        self.wait_after(Duration::ZERO, what, expected).await;
    }

    /// As [`wait_for`](Self::wait_for), where the product asks only after this pause: the thirty seconds begin after it.
    ///
    /// # Panics
    ///
    /// Panics with the list of all requests.
    pub async fn wait_after(&self, pause: Duration, what: &str, expected: impl Fn(&[Recorded]) -> bool) {
        let mut news = self.handler.news();
        let come = async {
            while !expected(&self.requests()) {
                // The sender lives in `self`.
                let _ = news.changed().await;
            }
        };
        if timeout(pause + PATIENCE, come).await.is_err() {
            panic!("{what}: not in time; the requests were{}", Lines(&self.requests()));
        }
    }

    /// Fails if anything differed from the description until now.
    ///
    /// # Panics
    ///
    /// Panics with the list of what differed.
    pub fn assert_valid(&self) {
        assert_none(&self.handler.take_violations());
    }

    /// Returns what differed from the description until now, and forgets it: for tests that want it to.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        self.handler.take_violations()
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

/// The reach of routes beside the cloud's own.
pub struct Control<C> {
    handler: Arc<Handler<C>>,
}

impl<C: Cloud> Control<C> {
    /// The account that the token reaches.
    #[must_use]
    pub fn account(&self) -> &C {
        &self.handler.ours
    }

    /// The requests so far, in the order of their arrival, without so many at the beginning.
    #[must_use]
    pub fn requests_from(&self, index: usize) -> Vec<Recorded> {
        self.handler.requests_from(index)
    }

    /// Lets one request go wrong, in the place of an earlier order; or none.
    pub fn order(&self, ordered: Option<Ordered>) {
        self.handler.order(ordered);
    }

    /// Whether an order holds after which nothing is carried out, and its request has come.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.handler.has_ended()
    }

    /// Returns what differed from the description until now, and forgets it.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        self.handler.take_violations()
    }
}

impl<C: Cloud> Drop for Simulator<C> {
    fn drop(&mut self) {
        // A second panic would hide the first, and end the process.
        if !std::thread::panicking() {
            assert_none(&self.handler.take_violations());
        }
    }
}

impl<C: Cloud> fmt::Debug for Simulator<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").field("address", &self.address).finish_non_exhaustive()
    }
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "requests or answers differ from the published API:{}", Lines(violations));
}

/// One indented line each.
struct Lines<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Lines<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| write!(f, "\n    {it}"))
    }
}
