//! The abilities of every kind of credential.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use http::HeaderValue;

use super::authenticated::Authenticated;
use super::secret::Secret;
use super::transport::Connect;
use crate::base_url::BaseUrl;
use crate::catalog::{CatalogFault, CatalogPlace};
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// A credential, whatever its kind.
#[async_trait]
pub(crate) trait Credential: Send + Sync {
    /// The name by which endpoints call it.
    fn name(&self) -> &str;

    /// The writes that may leave with it in any case.
    fn write_limits(&self) -> WriteLimits;

    /// Called once, before any request: with this a kind that fetches tokens makes its own client.
    fn connect(&self, _: &dyn Connect) -> Result<(), EgressError> {
        Ok(())
    }

    /// Whether it fits an endpoint, and may be sent there.
    fn check(&self, endpoint: &Endpoint) -> Result<(), EgressError>;

    /// Whether it brings a catalogue of services, which says where they are.
    fn has_catalog(&self) -> bool {
        false
    }

    /// Where that catalogue says that a service is now.
    fn base_url(&self, _: &CatalogPlace) -> Option<BaseUrl> {
        None
    }

    /// The credential whose token goes along with each request, for another tenant.
    fn auxiliary(&self) -> Option<&str> {
        None
    }

    /// Its token as it goes along with requests of another credential; `None` if the kind has no such.
    fn as_auxiliary(&self, _: &Permitted) -> Option<Result<HeaderValue, NotAuthorized>> {
        None
    }

    /// Which version of it is in use: a larger number after each change.
    fn generation(&self) -> u64;

    /// Another number whenever it may be another account's since.
    fn account_version(&self) -> u64 {
        self.generation()
    }

    /// The secrets that no answer and no log may hold now.
    fn secrets(&self) -> Vec<Arc<Secret>>;

    /// Attaches it to a request: sets headers, which may sign what the request says. It asks nobody: a kind that needs a
    /// token from elsewhere answers that the token is being fetched.
    async fn authorize(&self, permitted: Permitted, now: SystemTime) -> Result<Authenticated, NotAuthorized>;

    /// Waits while a token is being asked for, if there is none. It asks nobody itself.
    async fn fetched(&self) {}

    /// The refusal of the credential in this answer, if there is one: it has expired, or the clocks differ.
    fn refusal(&self, answer: &CompleteAnswer) -> Option<CredentialRefusal>;

    /// Whether this answer says, by more than its status, that there were too many requests.
    fn is_throttling(&self, _: &CompleteAnswer) -> bool {
        false
    }

    /// Renews it after a refusal of the version `used`, unless that has happened since `refused`. Answers whether there is
    /// another version now.
    async fn renew(&self, used: u64, refused: Instant, refusal: &CredentialRefusal) -> bool;

    /// Renews it by its own rules, each time that it is asked to: every ten seconds.
    async fn keep(&self);
}

/// A refusal of the credential of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct CredentialRefusal {
    /// The request was refused before anything was done, so that a write may go out again too.
    pub(crate) is_before_all: bool,
    /// The cloud's word for the reason, where it has one.
    pub(crate) code: String,
    /// The time by the clock of the server that refused it.
    pub(crate) date: Option<SystemTime>,
    /// The demands of the server on the next token, in the words of the credential's kind.
    pub(crate) challenge: Option<String>,
}

/// Why a request has no credential.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum NotAuthorized {
    /// It cannot be sent: a sentence without its full stop.
    Refused(String),
    /// The giver of the credential refuses it, until a person has changed something: a sentence without its full stop.
    Denied(String),
    /// A token is being fetched; it may be there after this time.
    Fetching(Duration),
    /// The catalogue does not lead to the endpoint.
    Misplaced(CatalogFault),
}
