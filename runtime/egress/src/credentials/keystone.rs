//! Tokens of OpenStack's Keystone: asked for with a login from files, and sent as `x-auth-token`. With each comes the catalogue that
//! says where the services are.

mod answer;
mod client;
mod files;
mod login;
mod settings;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use budgets::WriteLimits;
use http::header::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::watch;

use self::client::KeystoneClient;
use self::files::LoginFiles;
use self::login::LoginWords;
pub use self::settings::{ApplicationCredentialName, KeystoneDomain, KeystoneLogin, KeystoneName, KeystoneSettings};
use super::error::CredentialError;
use super::no_token::NoToken;
use super::secret::Secret;
use super::secrets::Secrets;
use super::token_credential::TokenCredential;
use super::token_source::{GivenToken, TokenSource, before_end};
use super::transport::Connect;
use crate::base_url::Origin;
use crate::error::EgressError;

/// A credential whose tokens Keystone gives.
pub(super) type KeystoneCredential = TokenCredential<KeystoneSource>;

/// A login at Keystone.
pub(super) struct KeystoneSource {
    name: String,
    settings: KeystoneSettings,
    files: LoginFiles,
    /// Made when the egress is.
    client: OnceLock<KeystoneClient>,
    login: Mutex<Option<ReadLogin>>,
}

/// The words of the files, as they were read last.
struct ReadLogin {
    words: LoginWords,
    secret: Arc<Secret>,
    revision: u64,
}

impl KeystoneCredential {
    /// Reads the files for the first time. Nobody is asked yet.
    pub(super) fn load(
        name: String,
        settings: KeystoneSettings,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let files = LoginFiles::new(&name, &settings.login);
        let (client, login) = (OnceLock::new(), Mutex::default());
        let source = KeystoneSource { name: name.clone(), settings, files, client, login };
        Self::new(name, source, limits, changes)
    }
}

#[async_trait]
impl TokenSource for KeystoneSource {
    const HAS_CATALOG: bool = true;

    fn due(lasts: Duration) -> Duration {
        before_end(lasts, Duration::from_secs(60))
    }

    fn header(token: &str) -> (HeaderName, HeaderValue) {
        let value = HeaderValue::from_str(token).expect("a token is checked to be visible ASCII when it is read");
        (HeaderName::from_static("x-auth-token"), value)
    }

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        // An egress that is built a second time goes the same way.
        let _ = self.client.set(KeystoneClient::new(&self.name, &self.settings, outside)?);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        self.client.get().is_some()
    }

    fn origins_file(&self) -> Option<PathBuf> {
        Some(self.files.origins_file())
    }

    fn destinations(&self) -> Vec<Origin> {
        vec![self.settings.base_url.origin()]
    }

    fn read(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let (words, origins) = (self.files.read()?, self.files.read_origins()?);
        let mut login = self.login.lock();
        if login.as_ref().is_none_or(|it| it.words != words) {
            let secret = Secret::new(words.secret.clone());
            if let Some(weakness) = secret.weakness() {
                tracing::warn!(credential = self.name, "the secret of credential {} {weakness}", self.name);
            }
            let revision = login.as_ref().map_or(0, |it| it.revision) + 1;
            *login = Some(ReadLogin { words, secret: Arc::new(secret), revision });
        }
        Ok(origins)
    }

    fn revision(&self) -> u64 {
        self.login.lock().as_ref().map_or(0, |it| it.revision)
    }

    async fn ask(&self) -> Result<GivenToken, NoToken> {
        let words = self.login.lock().as_ref().map(|it| it.words.clone());
        match (self.client.get(), words) {
            (Some(client), Some(words)) => client.ask(&words, &Secrets::new(self.secrets())).await,
            _ => Err(NoToken::Failed("there is no way to Keystone yet".to_owned())),
        }
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        self.login.lock().iter().map(|it| it.secret.clone()).collect()
    }
}
