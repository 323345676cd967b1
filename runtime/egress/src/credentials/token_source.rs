//! Where the tokens of a credential come from: the part in which the kinds differ.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::error::CredentialError;
use super::no_token::NoToken;
use super::secret::Secret;
use super::transport::Connect;
use crate::base_url::Origin;
use crate::catalog::Catalog;
use crate::error::EgressError;

/// A token, as it was given.
pub(super) struct GivenToken {
    /// Visible ASCII.
    pub(super) token: Zeroizing<String>,
    /// For how long it is good from when it was asked for.
    pub(super) lasts: Duration,
    /// Where it says that services are; empty for kinds without a catalogue.
    pub(super) catalog: Catalog,
    /// Whom it is for: another value is another account.
    pub(super) account: Vec<String>,
}

/// The time after which a token that lasts so long is renewed: so `early` before its end; one that lasts less than twice as long, in
/// the middle of its time.
pub(super) fn before_end(lasts: Duration, early: Duration) -> Duration {
    if lasts > 2 * early { lasts - early } else { lasts / 2 }
}

/// A source of tokens.
#[async_trait]
pub(super) trait TokenSource: Send + Sync + 'static {
    /// Whether tokens come with a catalogue of services.
    const HAS_CATALOG: bool = false;

    /// Whether a token may go along with requests of another credential.
    const GOES_ALONG: bool = false;

    /// After how much of its life a token is renewed.
    fn due(lasts: Duration) -> Duration;

    /// The header that carries a token.
    fn header(token: &str) -> (HeaderName, HeaderValue);

    /// Makes the ways to whom it asks. Called once, before any token is asked for.
    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError>;

    /// Whether it has been connected.
    fn is_connected(&self) -> bool;

    /// The file that lists the only origins that the secret and the tokens go to, if there can be one.
    fn origins_file(&self) -> Option<PathBuf>;

    /// Where the secret itself is sent.
    fn destinations(&self) -> Vec<Origin>;

    /// Reads its files again, and the origins. If that fails, what was read before stays.
    fn read(&self) -> Result<Option<Vec<Origin>>, CredentialError>;

    /// Another number whenever the files have another proof of who asks.
    fn revision(&self) -> u64;

    /// Asks for a token once, or makes one.
    async fn ask(&self) -> Result<GivenToken, NoToken>;

    /// What was shown to whom it asks, so that it comes back nowhere.
    fn secrets(&self) -> Vec<Arc<Secret>>;

    /// The credential whose token goes along with each request.
    fn auxiliary(&self) -> Option<&str> {
        None
    }

    /// The demands on the next token in the answer of a service that refuses one, if the kind knows such.
    fn challenge(_headers: &HeaderMap) -> Option<String> {
        None
    }

    /// The next token is asked for with these demands. Answers whether it is asked for at once because of them.
    fn takes_challenge(&self, _claims: &str) -> bool {
        false
    }

    /// A service has refused a token at its time `date`. Answers whether tokens are made for another time from now on.
    fn corrects_clock(&self, _date: SystemTime) -> bool {
        false
    }
}
