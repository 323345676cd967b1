//! Credentials that sign each request, with keys that are read or asked for and renewed before they end. The kinds differ in where keys
//! come from and in what a signature is: a [`SigningSource`] is one of them.

mod asking;
mod keys;
mod metadata;
mod no_keys;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use parking_lot::Mutex;
use tokio::sync::watch;

pub(super) use self::asking::{limits, read_file, read_token, without_answer};
pub(super) use self::keys::SigningKeys;
pub(super) use self::metadata::{KeyAnswer, MetadataNames, RoleMetadata, is_code, keys_of};
pub(super) use self::no_keys::NoKeys;
use super::authenticated::Authenticated;
use super::clock::Clock;
use super::credential::{Credential, CredentialRefusal, NotAuthorized};
use super::error::CredentialError;
use super::origins;
use super::secret::Secret;
use super::secret_file::SecretFile;
use super::shown::Shown;
use super::transport::Connect;
use crate::base_url::{BaseUrl, Origin};
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// When keys that are being asked for may be there.
const FETCHING: Duration = Duration::from_secs(1);
/// So often keys are asked for because requests are refused. An account that refuses everything must not make it a flood.
const FORCED: Duration = Duration::from_secs(30);
/// Where the keys of one kind of signatures come from, and how a request is signed with them.
pub(super) trait SigningSource: Send + Sync + 'static {
    /// The key of the config that holds the kind's settings.
    const KEY: &'static str;

    /// Makes the ways to whom it asks. Called once, before any keys are asked for.
    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError>;

    /// The file whose keys requests are signed with themselves; `None` if keys are asked for.
    fn plain_file(&self) -> Option<&Path>;

    /// The keys in that file.
    fn read_plain_file(&self) -> Result<SigningKeys, CredentialError>;

    /// The file beside which a list of origins may be.
    fn secret_file(&self) -> Option<&Path>;

    /// New keys. `local` is this machine's time. No error holds what somebody was shown, whatever they answer.
    fn fetch(self: &Arc<Self>, local: SystemTime) -> impl Future<Output = Result<SigningKeys, NoKeys>> + Send;

    /// The cloud's clock.
    fn clock(&self) -> &Clock;

    /// The secrets that were shown to whom it asks.
    fn shown(&self) -> &Shown;

    /// Whether the requests of an endpoint can be signed by the credential of this name. The error is a sentence.
    fn check(&self, name: &str, endpoint: &Endpoint) -> Result<(), String>;

    /// Signs a request. `generation` is the version of the credential, and `now` the cloud's time. The error is a sentence without
    /// its full stop.
    fn sign(
        permitted: Permitted,
        keys: &SigningKeys,
        generation: u64,
        now: SystemTime,
    ) -> Result<Authenticated, String>;

    /// The refusal of a request's signature, if its answer is one.
    fn refusal(answer: &CompleteAnswer) -> Option<CredentialRefusal>;

    /// Whether an answer refuses its request because there were too many.
    fn is_throttling(answer: &CompleteAnswer) -> bool;

    /// Whether a request that was refused like this is signed again with the keys that there are.
    fn bears_repetition(_: &CredentialRefusal) -> bool {
        false
    }
}

/// A credential that signs.
pub(super) struct SigningCredential<S> {
    name: String,
    limits: WriteLimits,
    pub(super) source: Arc<S>,
    /// The file that lists origins, if there can be one.
    origins_file: Option<PathBuf>,
    state: Mutex<KeyState>,
    /// One renewal at a time.
    renewals: tokio::sync::Mutex<Renewals>,
    /// Counts the changes of all credentials that may change the account.
    changes: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
struct KeyState {
    keys: Option<Arc<SigningKeys>>,
    /// When new ones are due, by the cloud's clock.
    due: Option<SystemTime>,
    generation: u64,
    account_version: u64,
    /// Why the last renewal brought nothing.
    failure: Option<RenewalFailure>,
    /// The only origins that signatures go to, if they are limited.
    origins: Option<Vec<Origin>>,
}

/// Why there are no new keys: a sentence without its full stop.
struct RenewalFailure {
    because: String,
    /// The giver of keys refuses, so that a person has to do something.
    is_refusal: bool,
}

#[derive(Default)]
struct Renewals {
    /// When one was last tried.
    last: Option<Instant>,
    /// When one was last tried because of a refusal.
    forced: Option<Instant>,
    /// The fault that was found last, to warn of it once.
    wrong: Option<String>,
}

impl<S: SigningSource> SigningCredential<S> {
    /// Reads the files for the first time. Nobody is asked yet.
    pub(super) fn new(
        name: String,
        source: S,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let credential = Self {
            origins_file: source.secret_file().map(origins::beside),
            name,
            limits,
            source: Arc::new(source),
            state: Mutex::default(),
            renewals: tokio::sync::Mutex::default(),
            changes,
        };
        credential.state.lock().origins = listed_origins(&credential.name, &*credential.source)?;
        if credential.source.plain_file().is_some() {
            credential.take_over(credential.source.read_plain_file()?, SystemTime::now());
        }
        Ok(credential)
    }

    fn take_over(&self, keys: SigningKeys, local: SystemTime) {
        let mut state = self.state.lock();
        // Requests that wait were denied meanwhile, and are tried again.
        let was_refused = state.failure.take().is_some_and(|it| it.is_refusal);
        state.due = keys.due(self.source.clock().at(local));
        if state.keys.as_ref().is_some_and(|it| it.is_same(&keys)) {
            return;
        }
        for weakness in keys.secrets().iter().filter_map(|it| it.weakness()) {
            tracing::warn!(credential = self.name, "a secret of credential {} {weakness}", self.name);
        }
        let is_known = state.keys.as_ref().is_some_and(|it| it.has_owner_of(&keys));
        state.generation += 1;
        tracing::info!(credential = self.name, generation = state.generation, "the credential has new keys");
        state.keys = Some(Arc::new(keys));
        if !is_known || was_refused {
            state.account_version += 1;
            // Before anybody can have signed with them.
            self.changes.send_modify(|it| *it += 1);
        }
    }

    /// Asks for keys once, or reads them.
    async fn fetch(&self, renewals: &mut Renewals, local: SystemTime) {
        let fetched = self.source.fetch(local).await;
        renewals.last = Some(Instant::now());
        match fetched {
            Ok(keys) => {
                renewals.wrong = None;
                self.take_over(keys, local);
            }
            Err(NoKeys::NotConnected) => {}
            Err(NoKeys::Failed(because)) => self.failed(renewals, RenewalFailure { because, is_refusal: false }),
            Err(NoKeys::Refused(because)) => self.failed(renewals, RenewalFailure { because, is_refusal: true }),
        }
    }

    fn failed(&self, renewals: &mut Renewals, failure: RenewalFailure) {
        self.warn_once(renewals, format!("no new keys: {}", failure.because));
        self.state.lock().failure = Some(failure);
    }

    fn warn_once(&self, renewals: &mut Renewals, wrong: String) {
        if renewals.wrong.as_ref() != Some(&wrong) {
            tracing::warn!(credential = self.name, "{wrong}");
            renewals.wrong = Some(wrong);
        }
    }

    /// [`Credential::keep`] at this machine's time `local`.
    pub(super) async fn keep_at(&self, local: SystemTime) {
        let mut renewals = self.renewals.lock().await;
        if self.origins_file.is_some() {
            // If it fails, the list stays as it was.
            let (name, source) = (self.name.clone(), self.source.clone());
            match tokio::task::spawn_blocking(move || listed_origins(&name, &*source)).await {
                Ok(Ok(origins)) => self.state.lock().origins = origins,
                Ok(Err(error)) => self.warn_once(&mut renewals, error.to_string()),
                Err(error) => self.warn_once(&mut renewals, format!("reading failed: {error}")),
            }
        }
        let is_due = {
            let state = self.state.lock();
            let now = self.source.clock().at(local);
            self.source.plain_file().is_some()
                || state.keys.is_none()
                || state.failure.is_some()
                || state.due.is_some_and(|it| it <= now)
        };
        if is_due {
            self.fetch(&mut renewals, local).await;
        }
    }

    /// [`Credential::renew`] at this machine's time `local`.
    async fn renew_at(&self, used: u64, refused: Instant, refusal: &CredentialRefusal, local: SystemTime) -> bool {
        let mut renewals = self.renewals.lock().await;
        if self.generation() != used {
            return true;
        }
        if S::bears_repetition(refusal) {
            return true;
        }
        if let Some(date) = refusal.date
            && self.source.clock().correct(date, local, &self.name)
        {
            self.state.lock().generation += 1;
            return true;
        }
        let plain_file = self.source.plain_file();
        let is_late = renewals.forced.is_none_or(|it| it.elapsed() >= FORCED);
        if renewals.last.is_none_or(|it| it < refused) && (plain_file.is_some() || is_late) {
            renewals.forced = Some(Instant::now());
            self.fetch(&mut renewals, local).await;
        }
        if self.generation() != used {
            return true;
        }
        if let Some(file) = plain_file {
            let wrong = format!(
                "the cloud refuses the keys in {} ({}), and the file has no others; put new ones there",
                file.display(),
                refusal.code
            );
            self.warn_once(&mut renewals, wrong);
        }
        false
    }

    /// A sentence about keys that are not to be had.
    fn refused(&self, because: &str) -> NotAuthorized {
        NotAuthorized::Refused(format!("credential {}: {because}", self.name))
    }

    /// There are no keys that could sign, and this is why; `ended` says that there were some.
    fn without_keys(&self, failure: &RenewalFailure, ended: bool) -> NotAuthorized {
        let before = if ended { "its keys have ended, and there are no new ones: " } else { "" };
        let because = format!("credential {}: {before}{}", self.name, failure.because);
        if failure.is_refusal { NotAuthorized::Denied(because) } else { NotAuthorized::Refused(because) }
    }
}

#[async_trait]
impl<S: SigningSource> Credential for SigningCredential<S> {
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
        let name = &self.name;
        self.source
            .check(name, endpoint)
            .map_err(|because| EgressError::Signing { endpoint: endpoint.name.clone(), because })?;
        let Some(origin) = endpoint.place.base_url().map(BaseUrl::origin) else { return Ok(()) };
        match (&self.state.lock().origins, &self.origins_file) {
            (Some(origins), Some(file)) if !origins.contains(&origin) => Err(EgressError::Origin {
                endpoint: endpoint.name.clone(),
                credential: name.clone(),
                origin: origin.to_string(),
                file: file.clone(),
            }),
            _ => Ok(()),
        }
    }

    fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    fn account_version(&self) -> u64 {
        self.state.lock().account_version
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        let mut secrets = self.state.lock().keys.as_ref().map(|it| it.secrets().to_vec()).unwrap_or_default();
        secrets.extend(self.source.shown().secrets());
        secrets
    }

    async fn authorize(&self, permitted: Permitted, local: SystemTime) -> Result<Authenticated, NotAuthorized> {
        let now = self.source.clock().at(local);
        let (keys, generation) = {
            let state = self.state.lock();
            let keys = match (&state.keys, &state.failure) {
                (Some(keys), _) => keys.clone(),
                (None, Some(failure)) => return Err(self.without_keys(failure, false)),
                (None, None) => return Err(NotAuthorized::Fetching(FETCHING)),
            };
            if keys.ended(now).is_some() {
                return Err(match &state.failure {
                    Some(failure) => self.without_keys(failure, true),
                    None => NotAuthorized::Fetching(FETCHING),
                });
            }
            let is_closed = |origin: &&Origin| state.origins.as_ref().is_some_and(|it| !it.contains(origin));
            if let Some(origin) = permitted.origin().filter(is_closed) {
                return Err(self.refused(&format!("it may no longer sign for {origin}")));
            }
            (keys, state.generation)
        };
        S::sign(permitted, &keys, generation, now).map_err(|because| self.refused(&because))
    }

    async fn fetched(&self) {
        let now = self.source.clock().at(SystemTime::now());
        let is_fetching = {
            let KeyState { keys, failure, .. } = &*self.state.lock();
            failure.is_none() && keys.as_ref().is_none_or(|it| it.ended(now).is_some())
        };
        if is_fetching {
            drop(self.renewals.lock().await);
        }
    }

    fn refusal(&self, answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        S::refusal(answer)
    }

    fn is_throttling(&self, answer: &CompleteAnswer) -> bool {
        S::is_throttling(answer)
    }

    async fn renew(&self, used: u64, refused: Instant, refusal: &CredentialRefusal) -> bool {
        self.renew_at(used, refused, refusal, SystemTime::now()).await
    }

    async fn keep(&self) {
        self.keep_at(SystemTime::now()).await;
    }
}

/// The only origins that the keys go to, as the file beside the secret lists them now.
fn listed_origins<S: SigningSource>(credential: &str, source: &S) -> Result<Option<Vec<Origin>>, CredentialError> {
    source.secret_file().map_or(Ok(None), |file| SecretFile { credential, file, key: S::KEY }.origins())
}
