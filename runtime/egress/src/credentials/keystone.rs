//! Tokens of OpenStack's Keystone: asked for with a login from files, renewed before they end, and sent as `x-auth-token`. With each
//! comes the catalogue that says where the services are.

mod answer;
mod client;
mod files;
mod login;
mod settings;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use http::StatusCode;
use http::header::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::watch;

use self::answer::GivenToken;
use self::client::{KeystoneClient, NoToken};
use self::files::LoginFiles;
use self::login::LoginWords;
pub use self::settings::{ApplicationCredentialName, KeystoneDomain, KeystoneLogin, KeystoneName, KeystoneSettings};
use super::authenticated::Authenticated;
use super::credential::{Credential, CredentialRefusal, NotAuthorized};
use super::error::CredentialError;
use super::secret::Secret;
use super::secrets::Secrets;
use super::transport::Connect;
use crate::base_url::{BaseUrl, Origin};
use crate::catalog::{Catalog, CatalogPlace};
use crate::endpoint::{Endpoint, EndpointPlace};
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// When a token that is being asked for may be there.
const FETCHING: Duration = Duration::from_secs(1);
/// So long before its end a token is renewed; one that lasts less than twice as long, in the middle of its time.
const EARLY: Duration = Duration::from_secs(60);
/// So often Keystone is asked with a login that it refuses: many lock a user after some attempts.
const REFUSED: Duration = Duration::from_secs(60);
/// So often a token is asked for because services refuse the one that there is. One that refuses all must not make it a flood.
const FORCED: Duration = Duration::from_secs(30);
const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// A credential whose tokens Keystone gives.
pub(super) struct KeystoneCredential {
    name: String,
    settings: KeystoneSettings,
    limits: WriteLimits,
    files: Arc<LoginFiles>,
    /// Made when the egress is.
    client: OnceLock<KeystoneClient>,
    state: Mutex<TokenState>,
    /// One renewal at a time.
    renewals: tokio::sync::Mutex<TokenRenewals>,
    /// Counts the changes of all credentials that may change the account.
    changes: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct TokenState {
    token: Option<Arc<HeldToken>>,
    /// The secrets of the login.
    login: Vec<Arc<Secret>>,
    generation: u64,
    account_version: u64,
    /// Why the last renewal brought nothing.
    failure: Option<NoToken>,
    /// The only origins that the secret and the tokens go to, if they are limited.
    origins: Option<Vec<Origin>>,
}

struct HeldToken {
    header: HeaderValue,
    secret: Arc<Secret>,
    catalog: Catalog,
    account: (String, Option<String>),
    due: Instant,
    ends: Instant,
}

struct TokenRenewals {
    /// The words of the files, as they were read last.
    words: LoginWords,
    /// The words that Keystone was asked with last.
    tried: Option<LoginWords>,
    /// When it was asked last, whatever came of it.
    last: Option<Instant>,
    /// When it refused last.
    refused: Option<Instant>,
    /// When it was last asked because of a refusal of a service.
    forced: Option<Instant>,
    /// The fault that was found last, to warn of it once.
    wrong: Option<String>,
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
        let words = files.read()?;
        let state = TokenState { origins: files.read_origins()?, ..TokenState::default() };
        let renewals = TokenRenewals { words, tried: None, last: None, refused: None, forced: None, wrong: None };
        let credential = Self {
            name,
            settings,
            limits,
            files: Arc::new(files),
            client: OnceLock::new(),
            state: Mutex::new(state),
            renewals: tokio::sync::Mutex::new(renewals),
            changes,
        };
        let secret = credential.renewals.try_lock().map(|it| it.words.secret.clone()).expect("nobody else has it");
        credential.protect(Secret::new(secret));
        Ok(credential)
    }

    /// From now on no answer may hold this secret of the login.
    fn protect(&self, secret: Secret) {
        if let Some(weakness) = secret.weakness() {
            tracing::warn!(credential = self.name, "the secret of credential {} {weakness}", self.name);
        }
        self.state.lock().login = vec![Arc::new(secret)];
    }

    /// Reads the files. If that fails, what they held before stays.
    async fn read(&self, renewals: &mut TokenRenewals) {
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || Ok((files.read()?, files.read_origins()?))).await;
        let read: Result<_, CredentialError> = match read {
            Ok(read) => read,
            Err(error) => return self.warn_once(renewals, format!("reading failed: {error}")),
        };
        match read {
            Ok((words, origins)) => {
                self.state.lock().origins = origins;
                if renewals.words != words {
                    self.protect(Secret::new(words.secret.clone()));
                    renewals.words = words;
                }
            }
            Err(error) => {
                let source = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
                self.warn_once(renewals, format!("{error}{source}; the old one stays in use"));
            }
        }
    }

    /// Whether Keystone may be asked now, after it has refused.
    fn may_ask(renewals: &TokenRenewals) -> bool {
        renewals.tried.as_ref() != Some(&renewals.words) || renewals.refused.is_none_or(|it| it.elapsed() >= REFUSED)
    }

    /// Asks for a token once.
    async fn fetch(&self, renewals: &mut TokenRenewals) {
        let Some(client) = self.client.get() else { return };
        let origin = self.settings.base_url.origin();
        if self.state.lock().origins.as_ref().is_some_and(|it| !it.contains(&origin)) {
            let file = self.files.origins_file();
            let because = format!("the secret may not be sent to {origin}: {} does not list it", file.display());
            return self.failed(renewals, NoToken::Refused(because));
        }
        // A token lasts from when it was given, which is after this.
        let asked = Instant::now();
        let given = client.ask(&renewals.words, &self.login_secrets()).await;
        renewals.tried = Some(renewals.words.clone());
        renewals.last = Some(Instant::now());
        match given {
            Ok(given) => {
                (renewals.wrong, renewals.refused) = (None, None);
                self.take_over(given, asked);
            }
            Err(none) => {
                renewals.refused = matches!(none, NoToken::Refused(_)).then(Instant::now);
                self.failed(renewals, none);
            }
        }
    }

    fn take_over(&self, given: GivenToken, asked: Instant) {
        let GivenToken { token, lasts, catalog, account } = given;
        let mut header = HeaderValue::from_str(&token).expect("a token is checked to be visible ASCII when it is read");
        header.set_sensitive(true);
        let due = if lasts > 2 * EARLY { lasts - EARLY } else { lasts / 2 };
        // Far away is as good as never.
        let later = |after| asked.checked_add(after).unwrap_or(asked + Duration::from_secs(86_400));
        let (due, ends) = (later(due), later(lasts));
        let token = HeldToken { header, secret: Arc::new(Secret::new(token)), catalog, account, due, ends };
        let mut state = self.state.lock();
        // What waits was denied meanwhile, and is tried again.
        let was_refused = matches!(state.failure.take(), Some(NoToken::Refused(_)));
        // Another catalogue may lead to another cloud, so that it is another account's, too.
        let is_known =
            state.token.as_ref().is_some_and(|it| it.account == token.account && it.catalog == token.catalog);
        state.generation += 1;
        tracing::info!(credential = self.name, generation = state.generation, "the credential has a new token");
        state.token = Some(Arc::new(token));
        if !is_known || was_refused {
            state.account_version += 1;
            // Before anybody can have sent it.
            self.changes.send_modify(|it| *it += 1);
        }
    }

    fn failed(&self, renewals: &mut TokenRenewals, failure: NoToken) {
        let (NoToken::Failed(because) | NoToken::Refused(because)) = &failure;
        self.warn_once(renewals, format!("no new token: {because}"));
        self.state.lock().failure = Some(failure);
    }

    fn warn_once(&self, renewals: &mut TokenRenewals, wrong: String) {
        if renewals.wrong.as_ref() != Some(&wrong) {
            tracing::warn!(credential = self.name, "{wrong}");
            renewals.wrong = Some(wrong);
        }
    }

    fn login_secrets(&self) -> Secrets {
        Secrets::new(self.state.lock().login.clone())
    }

    /// The token, as long as it has not ended.
    fn held(&self) -> Result<(Arc<HeldToken>, u64), NotAuthorized> {
        let state = self.state.lock();
        if let Some(token) = state.token.as_ref().filter(|it| Instant::now() < it.ends) {
            return Ok((token.clone(), state.generation));
        }
        Err(match &state.failure {
            None => NotAuthorized::Fetching(FETCHING),
            Some(NoToken::Failed(because)) => NotAuthorized::Refused(format!("credential {}: {because}", self.name)),
            Some(NoToken::Refused(because)) => NotAuthorized::Denied(format!("credential {}: {because}", self.name)),
        })
    }
}

#[async_trait]
impl Credential for KeystoneCredential {
    fn name(&self) -> &str {
        &self.name
    }

    fn write_limits(&self) -> WriteLimits {
        self.limits
    }

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        // An egress that is built a second time goes the same way.
        let _ = self.client.set(KeystoneClient::new(&self.name, &self.settings, outside)?);
        Ok(())
    }

    fn check(&self, endpoint: &Endpoint) -> Result<(), EgressError> {
        if endpoint.signing.is_some() {
            return Err(EgressError::Signing {
                endpoint: endpoint.name.clone(),
                because: format!("the credential {} signs nothing; remove `signing`", self.name),
            });
        }
        let state = self.state.lock();
        let Some(origins) = &state.origins else { return Ok(()) };
        let own = self.settings.base_url.origin();
        let all = endpoint.place.origins().into_iter().chain([own]);
        match all.into_iter().find(|it| !origins.contains(it)) {
            None => Ok(()),
            Some(origin) => Err(EgressError::Origin {
                endpoint: endpoint.name.clone(),
                credential: self.name.clone(),
                origin: origin.to_string(),
                file: self.files.origins_file(),
            }),
        }
    }

    fn has_catalog(&self) -> bool {
        true
    }

    fn base_url(&self, place: &CatalogPlace) -> Option<BaseUrl> {
        let (token, _) = self.held().ok()?;
        token.catalog.find(place).ok()
    }

    fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    fn account_version(&self) -> u64 {
        self.state.lock().account_version
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        let state = self.state.lock();
        state.login.iter().chain(state.token.as_ref().map(|it| &it.secret)).cloned().collect()
    }

    async fn authorize(&self, permitted: Permitted, _: SystemTime) -> Result<Authenticated, NotAuthorized> {
        let (token, generation) = self.held()?;
        let refused = |because| NotAuthorized::Refused(format!("credential {}: {because}", self.name));
        let permitted = match &permitted.endpoint().place {
            EndpointPlace::Written(_) => permitted,
            EndpointPlace::Catalog(place) => {
                let base_url = token.catalog.find(place).map_err(NotAuthorized::Misplaced)?;
                permitted.at(&base_url).map_err(refused)?
            }
        };
        if let Some(origin) = permitted.origin()
            && self.state.lock().origins.as_ref().is_some_and(|it| !it.contains(origin))
        {
            let file = self.files.origins_file();
            return Err(refused(format!(
                "its token may no longer be sent to {origin}: {} does not list it",
                file.display()
            )));
        }
        let authenticated = Authenticated::new(permitted, generation, self.secrets());
        Ok(authenticated.with_header(X_AUTH_TOKEN, token.header.clone()))
    }

    fn refusal(&self, answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        // Services look at the token before they look at the request.
        (answer.status == StatusCode::UNAUTHORIZED)
            .then(|| CredentialRefusal { is_before_all: true, ..CredentialRefusal::default() })
    }

    async fn renew(&self, used: u64, refused: Instant, _: &CredentialRefusal) -> bool {
        let mut renewals = self.renewals.lock().await;
        if self.generation() != used {
            return true;
        }
        self.read(&mut renewals).await;
        let is_late = renewals.forced.is_none_or(|it| it.elapsed() >= FORCED);
        if renewals.last.is_none_or(|it| it < refused) && is_late && Self::may_ask(&renewals) {
            renewals.forced = Some(Instant::now());
            self.fetch(&mut renewals).await;
        }
        self.generation() != used
    }

    async fn keep(&self) {
        let mut renewals = self.renewals.lock().await;
        self.read(&mut renewals).await;
        let is_other = renewals.tried.as_ref() != Some(&renewals.words);
        let is_due = self.state.lock().token.as_ref().is_none_or(|it| it.due <= Instant::now());
        if (is_due || is_other) && Self::may_ask(&renewals) {
            self.fetch(&mut renewals).await;
        }
    }
}
