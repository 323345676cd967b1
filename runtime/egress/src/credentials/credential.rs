//! What every kind of credential can do.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;

use super::authenticated::Authenticated;
use super::secret::Secret;
use crate::endpoint::Endpoint;
use crate::error::GateError;
use crate::limits::WriteLimits;
use crate::outcome::Answer;
use crate::outside::Outside;
use crate::policy::Permitted;

/// A credential, whatever its kind.
#[async_trait]
pub(crate) trait Credential: Send + Sync {
    /// What endpoints call it.
    fn name(&self) -> &str;

    /// What may be written with it in any case.
    fn write_limits(&self) -> WriteLimits;

    /// Called once, before any request: with this a kind that fetches tokens makes its own client.
    fn connect(&self, _: &Outside) -> Result<(), GateError> {
        Ok(())
    }

    /// Whether it fits an endpoint, and may be sent there.
    fn check(&self, endpoint: &Endpoint) -> Result<(), GateError>;

    /// Which version of it is in use: a larger number after each change.
    fn generation(&self) -> u64;

    /// Another number whenever it may be another account's since.
    fn account_version(&self) -> u64 {
        self.generation()
    }

    /// What no answer and no log may hold now.
    fn secrets(&self) -> Vec<Arc<Secret>>;

    /// Attaches it to a request: sets headers, which may sign what the request says. It asks nobody: a kind that needs a
    /// token from elsewhere answers that the token is being fetched.
    async fn authorize(&self, permitted: Permitted, now: SystemTime) -> Result<Authenticated, NotAuthorized>;

    /// What this answer says against the credential, if it refuses it: it has expired, or the clocks differ.
    fn refusal(&self, answer: &Answer) -> Option<Refusal>;

    /// Whether this answer says, by more than its status, that there were too many requests.
    fn is_throttling(&self, _: &Answer) -> bool {
        false
    }

    /// Renews it after a refusal of the version `used`, unless that has happened since `refused`. Answers whether there is
    /// another version now.
    async fn renew(&self, used: u64, refused: Instant, refusal: &Refusal) -> bool;

    /// Renews it by its own rules, each time that it is asked to: every ten seconds.
    async fn keep(&self);
}

/// What an answer says against the credential of its request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusal {
    /// The request was refused before anything was done, so that a write may go out again too.
    pub(crate) is_before_all: bool,
    /// The cloud's word for the reason, where it has one.
    pub(crate) code: String,
    /// What time it was for whoever refused it.
    pub(crate) date: Option<SystemTime>,
}

/// Why a request has no credential.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum NotAuthorized {
    /// It cannot be sent: a sentence without its full stop.
    Refused(String),
    /// Whoever gives the credential refuses it, until a person has changed something: a sentence without its full stop.
    Denied(String),
    /// A token is being fetched; it may be there after this time.
    Fetching(Duration),
}
