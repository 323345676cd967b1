//! What every kind of credential can do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;

use super::authenticated::Authenticated;
use super::secret::Secret;
use crate::base_url::Origin;
use crate::error::GateError;
use crate::outcome::Answer;
use crate::outside::Outside;
use crate::policy::Permitted;
use crate::writes::WriteLimits;

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

    /// Whether it may be sent to an origin. The error is the file that limits it.
    fn check(&self, origin: &Origin) -> Result<(), PathBuf>;

    /// Which version of it is in use: a larger number after each change.
    fn generation(&self) -> u64;

    /// What no answer and no log may hold now.
    fn secrets(&self) -> Vec<Arc<Secret>>;

    /// Attaches it to a request: sets headers, which may sign what the request says. It asks nobody: a kind that needs a
    /// token from elsewhere answers that the token is being fetched.
    async fn authorize(&self, permitted: Permitted, now: SystemTime) -> Result<Authenticated, NotAuthorized>;

    /// Whether the cloud refuses the credential with this answer: it has expired, or the clocks differ.
    fn is_refusal(&self, answer: &Answer) -> bool;

    /// Renews it after a refusal of the version `used`, unless that has happened since `refused`. Answers whether there is
    /// another version now.
    async fn renew(&self, used: u64, refused: Instant) -> bool;

    /// Renews it by its own rules, each time that it is asked to: every ten seconds.
    async fn keep(&self);
}

/// Why a request has no credential.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum NotAuthorized {
    /// It cannot be sent: a sentence without its full stop.
    Refused(String),
    /// A token is being fetched; it may be there after this time.
    #[cfg_attr(not(test), expect(dead_code, reason = "kinds that fetch tokens come with their clouds"))]
    Fetching(Duration),
}
