//! Credentials: proof to a cloud of who asks. The host attaches them after the policy has decided; no guest ever sees one.

mod acs3;
mod authenticated;
mod basic;
mod bearer;
mod clock;
mod credential;
mod decoded;
mod entra;
mod error;
mod form;
mod google;
mod header;
mod ibm_iam;
mod keystone;
mod kind;
mod no_token;
mod origins;
mod secret;
mod secret_file;
mod secrets;
mod shown;
mod signing;
mod sigv4;
mod sts;
mod text_file;
mod timed_token;
mod token_client;
mod token_credential;
mod token_giver;
mod token_source;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use budgets::WriteLimits;
use http::header::HeaderName;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use self::acs3::Acs3Credential;
pub use self::acs3::{Acs3Keys, Acs3Settings, RamArn, RamRoleTaken};
pub(crate) use self::authenticated::Authenticated;
pub(crate) use self::basic::header_of_files as basic_header;
use self::credential::Credential;
pub(crate) use self::credential::{CredentialRefusal, NotAuthorized};
use self::entra::EntraCredential;
pub use self::entra::{
    AzureCloud, EntraClientName, EntraLogin, EntraProof, EntraSettings, EntraTenant, EntraWord, IdentityHeader,
    IdentityService, ManagedIdentity,
};
pub use self::error::CredentialError;
use self::google::GoogleCredential;
pub use self::google::{GoogleSettings, GoogleTokens};
use self::header::{HeaderCredential, SecretFiles};
use self::ibm_iam::IbmCredential;
pub use self::ibm_iam::{IbmIamSettings, IbmProfile, IbmProfileWord, IbmTokens};
use self::keystone::KeystoneCredential;
pub use self::keystone::{ApplicationCredentialName, KeystoneDomain, KeystoneLogin, KeystoneName, KeystoneSettings};
pub use self::kind::{AssumeRole, CredentialKind, CredentialSettings, KeySource, RoleArn, Sigv4Settings};
pub use self::secrets::Secrets;
use self::sigv4::Sigv4Credential;
pub use self::sts::Sts;
pub(crate) use self::transport::{Connect, Transport};
use crate::base_url::BaseUrl;
use crate::endpoint::{Endpoint, EndpointPlace};
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;
use crate::seen::Ending;

/// How often credentials are kept fresh.
const PERIOD: Duration = Duration::from_secs(10);

/// For so long a request waits for a token that is being asked for, before its caller is told to come back: at the start the first
/// calls come as early as the first tokens.
const FETCH: Duration = Duration::from_secs(5);

/// The header with the token of another tenant ("Authenticate requests across tenants" of the documentation of Azure Resource Manager).
const AUXILIARY: HeaderName = HeaderName::from_static("x-ms-authorization-auxiliary");

/// The credentials of all endpoints. Cloning shares them.
#[derive(Clone, Default)]
pub struct Credentials {
    all: Arc<[Arc<dyn Credential>]>,
    approval: Arc<Mutex<Option<u64>>>,
    /// How often the provider was replaced.
    replacements: Arc<AtomicU64>,
    /// Counts the changes of all of them, and the replacements.
    changes: Arc<watch::Sender<u64>>,
}

impl Credentials {
    /// Reads every file for the first time.
    ///
    /// # Errors
    ///
    /// If one cannot be read, holds no usable secret, or if two credentials have one name.
    pub fn load(settings: Vec<CredentialSettings>) -> Result<Self, CredentialError> {
        let changes = Arc::new(watch::Sender::default());
        let mut all: Vec<Arc<dyn Credential>> = Vec::with_capacity(settings.len());
        let mut tenants = Vec::new();
        for CredentialSettings { name, kind, limits } in settings {
            if all.iter().any(|it| it.name() == name) {
                return Err(CredentialError::Twice { credential: name });
            }
            let file = match kind {
                CredentialKind::Bearer { file } => SecretFiles::Bearer { file },
                CredentialKind::Basic { user_file, password_file } => SecretFiles::Basic { user_file, password_file },
                CredentialKind::Sigv4(settings) => {
                    all.push(Arc::new(Sigv4Credential::load(name, *settings, limits, changes.clone())?));
                    continue;
                }
                CredentialKind::Acs3(settings) => {
                    all.push(Arc::new(Acs3Credential::load(name, *settings, limits, changes.clone())?));
                    continue;
                }
                CredentialKind::Keystone(settings) => {
                    all.push(Arc::new(KeystoneCredential::load(name, *settings, limits, changes.clone())?));
                    continue;
                }
                CredentialKind::Google(settings) => {
                    all.push(Arc::new(GoogleCredential::load(name, *settings, limits, changes.clone())?));
                    continue;
                }
                CredentialKind::Entra(settings) => {
                    tenants.push((name.clone(), settings.auxiliary.clone()));
                    all.push(Arc::new(EntraCredential::load(name, *settings, limits, changes.clone())?));
                    continue;
                }
                CredentialKind::IbmIam(settings) => {
                    all.push(Arc::new(IbmCredential::load(name, *settings, limits, changes.clone())?));
                    continue;
                }
            };
            all.push(Arc::new(HeaderCredential::load(name, file, limits, changes.clone())?));
        }
        check_auxiliary(&tenants)?;
        Ok(Self { all: all.into(), approval: Arc::default(), replacements: Arc::default(), changes })
    }

    /// Credentials of any kind.
    #[cfg(test)]
    pub(crate) fn of(all: Vec<Arc<dyn Credential>>) -> Self {
        Self { all: all.into(), ..Self::default() }
    }

    /// Reads the files every ten seconds, and renews what ends soon. What fails then is one warning, and the old secret stays.
    ///
    /// Never returns.
    pub async fn watch(self) {
        let mut ticks = tokio::time::interval(PERIOD);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // Side by side: one that asks somebody who is slow keeps no other from being read.
            futures::future::join_all(self.all.iter().map(|it| it.keep())).await;
        }
    }

    /// Whether `endpoint` may use the credential that it names.
    pub(crate) fn check(&self, credential: &str, endpoint: &Endpoint) -> Result<(), EgressError> {
        let Some(known) = self.named(credential) else {
            return Err(EgressError::Credential { endpoint: endpoint.name.clone(), credential: credential.to_owned() });
        };
        known.check(endpoint)?;
        known.auxiliary().and_then(|it| self.named(it)).map_or(Ok(()), |it| it.check(endpoint))
    }

    /// Whether the credential brings a catalogue of services.
    pub(crate) fn has_catalog(&self, credential: &str) -> bool {
        self.named(credential).is_some_and(|it| it.has_catalog())
    }

    /// Where an endpoint is now; `None` as long as no catalogue says it.
    pub(crate) fn base_url(&self, endpoint: &Endpoint) -> Option<BaseUrl> {
        match &endpoint.place {
            EndpointPlace::Written(base_url) => Some(base_url.clone()),
            EndpointPlace::Catalog(place) => self.of_endpoint(endpoint)?.base_url(place),
        }
    }

    /// Gives each what it needs to fetch tokens.
    pub(crate) fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        self.all.iter().try_for_each(|it| it.connect(outside))
    }

    /// The writes that may leave with a credential in any case.
    pub(crate) fn write_limits(&self, credential: &str) -> WriteLimits {
        self.named(credential).map(|it| it.write_limits()).unwrap_or_default()
    }

    /// Which version of its credential a request would carry now.
    pub(crate) fn generation(&self, permitted: &Permitted) -> u64 {
        self.of_request(permitted).map_or(0, |it| it.generation())
    }

    /// Another number whenever one of them may be another account's since, or the provider was replaced.
    pub(crate) fn version(&self) -> u64 {
        self.all.iter().map(|it| it.account_version()).sum::<u64>() + self.replacements.load(Ordering::Relaxed)
    }

    /// The provider is replaced by another version of it, which has seen the right account under the version `seen`.
    ///
    /// If that is still the present one, the next version counts as approved, and is answered: a call that is under way
    /// goes on to write. Otherwise, as after a change of a credential, the account has to be checked.
    ///
    /// `replace` puts it in place: what the new one writes does not count as approved before, and [`Self::versions`] change
    /// once it serves, since those that are told ask it at once.
    pub(crate) fn replace_provider<T>(&self, seen: Option<u64>, replace: impl FnOnce() -> T) -> (T, Option<u64>) {
        let mut approval = self.approval();
        let version = self.version();
        let approved = seen.filter(|it| *it == version).map(|it| it + 1);
        self.replacements.fetch_add(1, Ordering::Relaxed);
        if approved.is_some() {
            *approval = approved;
        }
        drop(approval);
        let former = replace();
        self.changes.send_modify(|it| *it += 1);
        (former, approved)
    }

    /// The same number, once it has changed. Nobody has sent the new secret before.
    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Says that the account behind this version is the right one. From then on writes need an approved version.
    pub(crate) fn approve(&self, version: u64) {
        *self.approval() = Some(version);
    }

    /// Whether writes may leave under the present version.
    ///
    /// The error is a sentence without its full stop.
    pub(crate) fn check_approval(&self) -> Result<(), String> {
        let approval = self.approval();
        match *approval {
            Some(approved) if approved != self.version() => {
                Err("a credential or the provider's version has changed, and nothing is written before the account has been \
                     checked"
                    .to_owned())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn approval(&self) -> MutexGuard<'_, Option<u64>> {
        self.approval.lock()
    }

    /// Waits a while for the tokens of an endpoint's credential that are being asked for. Without them the credential itself says what its
    /// caller is told.
    pub(crate) async fn fetched(&self, endpoint: &Endpoint) {
        let own = self.of_endpoint(endpoint);
        let auxiliary = own.and_then(|it| self.named(it.auxiliary()?));
        let fetched = futures::future::join_all(own.into_iter().chain(auxiliary).map(|it| it.fetched()));
        let _ = tokio::time::timeout(FETCH, fetched).await;
    }

    /// Attaches the credential of a request's endpoint, if it has one.
    pub(crate) async fn authorize(
        &self,
        permitted: Permitted,
        now: SystemTime,
    ) -> Result<Authenticated, NotAuthorized> {
        let endpoint = permitted.endpoint().clone();
        let authenticated = match &endpoint.credential {
            None => Authenticated::new(permitted, 0, Vec::new()),
            Some(name) => {
                let credential = self.named(name);
                let credential =
                    credential.ok_or_else(|| NotAuthorized::Refused(format!("there is no credential {name}")))?;
                let authenticated = credential.authorize(permitted, now).await?;
                let auxiliary = credential.auxiliary().and_then(|it| self.named(it));
                match auxiliary.and_then(|it| it.as_auxiliary(authenticated.permitted())) {
                    None => authenticated,
                    Some(token) => authenticated.with_header(AUXILIARY, token?),
                }
            }
        };
        // Those that are there now: what was attached is among them.
        Ok(authenticated.protecting(self.secrets()))
    }

    /// The refusal of the credential that a request carried, if its answer is one.
    pub(crate) fn refusal(&self, endpoint: &Endpoint, answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        self.of_endpoint(endpoint)?.refusal(answer)
    }

    /// How a request has ended, where the status of its answer alone does not say it.
    pub(crate) fn ending(&self, endpoint: &Endpoint, answer: &CompleteAnswer) -> Option<Ending> {
        let credential = self.of_endpoint(endpoint)?;
        if credential.refusal(answer).is_some() {
            return Some(Ending::Forbidden(answer.status.as_u16()));
        }
        credential.is_throttling(answer).then_some(Ending::Throttled(answer.status.as_u16(), None))
    }

    /// Renews a credential that the cloud has refused, unless somebody has done so since `refused`.
    ///
    /// Answers whether there is a newer version than the one that was used.
    pub(crate) async fn renew(
        &self,
        endpoint: &Endpoint,
        used: u64,
        refused: Instant,
        refusal: &CredentialRefusal,
    ) -> bool {
        match self.of_endpoint(endpoint) {
            Some(credential) => credential.renew(used, refused, refusal).await,
            None => false,
        }
    }

    /// All of them, as they are now.
    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::new(self.all.iter().flat_map(|it| it.secrets()).collect())
    }

    fn of_request(&self, permitted: &Permitted) -> Option<&dyn Credential> {
        self.of_endpoint(permitted.endpoint())
    }

    fn of_endpoint(&self, endpoint: &Endpoint) -> Option<&dyn Credential> {
        self.named(endpoint.credential.as_deref()?)
    }

    fn named(&self, name: &str) -> Option<&dyn Credential> {
        self.all.iter().find(|it| it.name() == name).map(|it| &**it)
    }
}

/// Whether each of these credentials of Entra's names another one of them, if any, that stands for itself.
fn check_auxiliary(tenants: &[(String, Option<String>)]) -> Result<(), CredentialError> {
    for (name, auxiliary) in tenants {
        let Some(auxiliary) = auxiliary else { continue };
        let because = match tenants.iter().find(|(it, _)| it == auxiliary) {
            None => "is no credential with `entra`; write one for the other tenant, and its name",
            Some(_) if auxiliary == name => "is itself; write the name of the one for the other tenant",
            Some((_, Some(_))) => "has an auxiliary one itself; leave that out there",
            Some((_, None)) => continue,
        };
        return Err(CredentialError::Auxiliary { credential: name.clone(), auxiliary: auxiliary.clone(), because });
    }
    Ok(())
}
