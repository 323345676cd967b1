//! Tokens that end: asked for or made by a [`TokenSource`], renewed before they end, and sent with each request. With some comes a
//! catalogue that says where the services are.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use http::StatusCode;
use http::header::{DATE, HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::authenticated::Authenticated;
use super::credential::{Credential, CredentialRefusal, NotAuthorized};
use super::error::CredentialError;
use super::no_token::NoToken;
use super::secret::Secret;
use super::token_source::{GivenToken, TokenSource};
use super::transport::Connect;
use crate::base_url::{BaseUrl, Origin};
use crate::catalog::{Catalog, CatalogPlace};
use crate::endpoint::{Endpoint, EndpointPlace};
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// When a token that is being asked for may be there.
const FETCHING: Duration = Duration::from_secs(1);
/// So often the giver of tokens is asked with a login that it refuses: many lock a user after some attempts.
const REFUSED: Duration = Duration::from_secs(60);
/// So often a token is asked for because services refuse the one that there is. One that refuses all must not make it a flood.
const FORCED: Duration = Duration::from_secs(30);

/// A credential whose tokens end.
pub(super) struct TokenCredential<S> {
    name: String,
    limits: WriteLimits,
    source: Arc<S>,
    pub(super) state: Mutex<TokenState>,
    /// One renewal at a time.
    renewals: tokio::sync::Mutex<TokenRenewals>,
    /// Counts the changes of all credentials that may change the account.
    changes: Arc<watch::Sender<u64>>,
}

/// The token that there is, and why there is no newer one.
#[derive(Default)]
pub(super) struct TokenState {
    pub(super) token: Option<Arc<HeldToken>>,
    generation: u64,
    account_version: u64,
    /// Why the last renewal brought nothing.
    failure: Option<NoToken>,
    /// The only origins that the secret and the tokens go to, if they are limited.
    origins: Option<Vec<Origin>>,
}

/// A token, for as long as it is good.
pub(super) struct HeldToken {
    header: (HeaderName, HeaderValue),
    secret: Arc<Secret>,
    catalog: Catalog,
    account: Vec<String>,
    pub(super) due: Instant,
    pub(super) ends: Instant,
}

#[derive(Default)]
struct TokenRenewals {
    /// The revision of the source that was asked with last.
    tried: Option<u64>,
    /// When the giver of tokens was asked last, whatever came of it.
    last: Option<Instant>,
    /// When it refused last.
    refused: Option<Instant>,
    /// When it was last asked because of a refusal of a service.
    forced: Option<Instant>,
    /// The fault that was found last, to warn of it once.
    wrong: Option<String>,
}

impl<S: TokenSource> TokenCredential<S> {
    /// Reads the files for the first time. Nobody is asked yet.
    pub(super) fn new(
        name: String,
        source: S,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let state = TokenState { origins: source.read()?, ..TokenState::default() };
        let (state, renewals) = (Mutex::new(state), tokio::sync::Mutex::default());
        Ok(Self { name, limits, source: Arc::new(source), state, renewals, changes })
    }

    /// Reads the files. If that fails, what they held before stays.
    async fn read(&self, renewals: &mut TokenRenewals) {
        let source = self.source.clone();
        match tokio::task::spawn_blocking(move || source.read()).await {
            Ok(Ok(origins)) => self.state.lock().origins = origins,
            Ok(Err(error)) => {
                let source = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
                self.warn_once(renewals, format!("{error}{source}; the old one stays in use"));
            }
            Err(error) => self.warn_once(renewals, format!("reading failed: {error}")),
        }
    }

    /// Whether a token may be asked for now, after one was refused.
    fn may_ask(&self, renewals: &TokenRenewals) -> bool {
        renewals.tried != Some(self.source.revision()) || renewals.refused.is_none_or(|it| it.elapsed() >= REFUSED)
    }

    /// Asks for a token once.
    async fn fetch(&self, renewals: &mut TokenRenewals) {
        if !self.source.is_connected() {
            return;
        }
        if let Some((origin, file)) = self.source.destinations().iter().find_map(|it| self.unlisted(it)) {
            let because = format!("the secret may not be sent to {origin}: {} does not list it", file.display());
            return self.failed(renewals, NoToken::Refused(because));
        }
        let revision = self.source.revision();
        // A token lasts from when it was given, which is after this.
        let asked = Instant::now();
        let given = self.source.ask().await;
        renewals.tried = Some(revision);
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

    /// The origin, with the file that does not list it, if there is such a file.
    fn unlisted<'a>(&self, origin: &'a Origin) -> Option<(&'a Origin, PathBuf)> {
        let state = self.state.lock();
        let is_listed = state.origins.as_ref().is_none_or(|it| it.contains(origin));
        (!is_listed).then(|| (origin, self.source.origins_file().unwrap_or_default()))
    }

    /// Why the token may not go to an origin, if it may not any more.
    fn refused_at(&self, origin: &Origin) -> Option<NotAuthorized> {
        let (origin, file) = self.unlisted(origin)?;
        let file = file.display();
        let because =
            format!("credential {}: its token may no longer be sent to {origin}: {file} does not list it", self.name);
        Some(NotAuthorized::Refused(because))
    }

    fn take_over(&self, given: GivenToken, asked: Instant) {
        let GivenToken { token, lasts, catalog, account } = given;
        let mut header = S::header(&token);
        header.1.set_sensitive(true);
        // Far away is as good as never.
        let later = |after| asked.checked_add(after).unwrap_or(asked + Duration::from_secs(86_400));
        let (due, ends) = (later(S::due(lasts)), later(lasts));
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
impl<S: TokenSource> Credential for TokenCredential<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn write_limits(&self) -> WriteLimits {
        self.limits
    }

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        self.source.connect(outside)
    }

    fn check(&self, endpoint: &Endpoint) -> Result<(), EgressError> {
        if endpoint.signing.is_some() {
            return Err(EgressError::Signing {
                endpoint: endpoint.name.clone(),
                because: format!("the credential {} signs nothing; remove `signing`", self.name),
            });
        }
        let all = endpoint.place.origins().into_iter().chain(self.source.destinations());
        match all.collect::<Vec<_>>().iter().find_map(|it| self.unlisted(it)) {
            None => Ok(()),
            Some((origin, file)) => Err(EgressError::Origin {
                endpoint: endpoint.name.clone(),
                credential: self.name.clone(),
                origin: origin.to_string(),
                file,
            }),
        }
    }

    fn has_catalog(&self) -> bool {
        S::HAS_CATALOG
    }

    fn base_url(&self, place: &CatalogPlace) -> Option<BaseUrl> {
        let (token, _) = self.held().ok()?;
        token.catalog.find(place).ok()
    }

    fn auxiliary(&self) -> Option<&str> {
        self.source.auxiliary()
    }

    fn as_auxiliary(&self, permitted: &Permitted) -> Option<Result<HeaderValue, NotAuthorized>> {
        if !S::GOES_ALONG {
            return None;
        }
        Some(self.held().and_then(|(token, _)| {
            if let Some(refused) = permitted.origin().and_then(|it| self.refused_at(it)) {
                return Err(refused);
            }
            Ok(token.header.1.clone())
        }))
    }

    fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    fn account_version(&self) -> u64 {
        self.state.lock().account_version
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        let token = self.state.lock().token.as_ref().map(|it| it.secret.clone());
        self.source.secrets().into_iter().chain(token).collect()
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
        if let Some(refused) = permitted.origin().and_then(|it| self.refused_at(it)) {
            return Err(refused);
        }
        let authenticated = Authenticated::new(permitted, generation, self.secrets());
        let (name, value) = token.header.clone();
        Ok(authenticated.with_header(name, value))
    }

    async fn fetched(&self) {
        if matches!(self.held(), Err(NotAuthorized::Fetching(_))) {
            drop(self.renewals.lock().await);
        }
    }

    fn refusal(&self, answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        // Services look at the token before they look at the request.
        let date = || answer.headers.get(DATE).and_then(|it| httpdate::parse_http_date(it.to_str().ok()?).ok());
        (answer.status == StatusCode::UNAUTHORIZED).then(|| CredentialRefusal {
            is_before_all: true,
            date: date(),
            challenge: S::challenge(&answer.headers),
            ..CredentialRefusal::default()
        })
    }

    async fn renew(&self, used: u64, refused: Instant, refusal: &CredentialRefusal) -> bool {
        let mut renewals = self.renewals.lock().await;
        if self.generation() != used {
            return true;
        }
        self.read(&mut renewals).await;
        let has_other_clock = refusal.date.is_some_and(|it| self.source.corrects_clock(it));
        let is_challenged = refusal.challenge.as_deref().is_some_and(|it| self.source.takes_challenge(it));
        let is_late = has_other_clock || is_challenged || renewals.forced.is_none_or(|it| it.elapsed() >= FORCED);
        if renewals.last.is_none_or(|it| it < refused) && is_late && self.may_ask(&renewals) {
            renewals.forced = Some(Instant::now());
            self.fetch(&mut renewals).await;
        }
        self.generation() != used
    }

    async fn keep(&self) {
        let mut renewals = self.renewals.lock().await;
        self.read(&mut renewals).await;
        let is_other = renewals.tried != Some(self.source.revision());
        let is_due = self.state.lock().token.as_ref().is_none_or(|it| it.due <= Instant::now());
        if (is_due || is_other) && self.may_ask(&renewals) {
            self.fetch(&mut renewals).await;
        }
    }
}
