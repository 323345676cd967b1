//! Tokens for Google Cloud, sent as `authorization: Bearer`: signed with the key of a service account, given for it, given for the token
//! of another identity provider (workload identity federation), or given by the metadata server of the machine.

mod account_key;
mod answers;
mod client;
mod federation_file;
mod settings;
mod universe;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use zeroize::Zeroizing;

use self::account_key::AccountKey;
use self::answers::TokenRefusal;
use self::client::{GOOGLE, METADATA_FLAVOR};
use self::federation_file::{Federation, SubjectToken};
use self::settings::SCOPE;
pub use self::settings::{GoogleSettings, GoogleTokens};
use super::clock::Clock;
use super::error::CredentialError;
use super::no_token::NoToken;
use super::secret::Secret;
use super::secret_file::SecretFile;
use super::secrets::Secrets;
use super::shown::Shown;
use super::timed_token::TimedToken;
use super::token_credential::TokenCredential;
use super::token_giver::{TokenGiver, is_for_a_person};
use super::token_source::{GivenToken, TokenSource, before_end};
use super::transport::Connect;
use super::{origins, text_file};
use crate::base_url::{BaseUrl, Origin};
use crate::catalog::Catalog;
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::request::Method;

/// The scope of a token that is good for asking for another one.
const IAM_SCOPE: &str = "https://www.googleapis.com/auth/iam";
/// Google's word for an assertion that it does not take.
const INVALID_GRANT: &str = "invalid_grant";

/// A credential whose tokens are Google's.
pub(super) type GoogleCredential = TokenCredential<GoogleSource>;

/// Where Google's tokens come from.
pub(super) struct GoogleSource {
    name: String,
    settings: GoogleSettings,
    read: Mutex<ReadFile>,
    /// Made when the egress is.
    givers: OnceLock<Givers>,
    clock: Clock,
    shown: Shown,
}

/// The file, as it was read last.
#[derive(Default)]
struct ReadFile {
    bytes: Zeroizing<Vec<u8>>,
    login: Option<GoogleLogin>,
    revision: u64,
}

/// The proof of who asks.
#[derive(Clone)]
enum GoogleLogin {
    /// The token endpoint gives a token for an assertion, if there is a URL; otherwise the key signs tokens itself.
    Key(Arc<AccountKey>, Option<BaseUrl>),
    Federation(Arc<Federation>, FederationUrls),
}

/// Where a token is exchanged, and where one of a service account is asked for with it.
#[derive(Clone, Eq, PartialEq)]
struct FederationUrls {
    exchange: BaseUrl,
    impersonation: Option<BaseUrl>,
}

/// Whom a source asks, in their order.
struct Givers {
    first: Option<TokenGiver>,
    second: Option<TokenGiver>,
}

impl GoogleCredential {
    /// Reads the file for the first time. Nobody is asked yet.
    pub(super) fn load(
        name: String,
        settings: GoogleSettings,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let (read, givers) = (Mutex::default(), OnceLock::new());
        let source = GoogleSource {
            name: name.clone(),
            settings,
            read,
            givers,
            clock: Clock::default(),
            shown: Shown::default(),
        };
        Self::new(name, source, limits, changes)
    }
}

impl GoogleSource {
    fn file(&self) -> Option<SecretFile<'_>> {
        let (file, key) = match &self.settings.tokens {
            GoogleTokens::ServiceAccountKey { file, .. } => (file, "google.serviceAccountKey.file"),
            GoogleTokens::Federation { file } => (file, "google.federation.file"),
            GoogleTokens::Metadata { .. } => return None,
        };
        Some(SecretFile { credential: &self.name, file, key })
    }

    /// The login that a file's bytes hold. The error continues the sentence that begins with the file.
    fn login(&self, bytes: &[u8]) -> Result<GoogleLogin, String> {
        let url = |url: &str| {
            let permitted = client::permitted(url, &self.settings.origins);
            permitted.map_err(|because| format!("names a giver of tokens that {because}"))
        };
        if let GoogleTokens::ServiceAccountKey { exchange, .. } = &self.settings.tokens {
            let key = AccountKey::read(bytes)?;
            if let Some(universe) = &key.universe {
                let giver = key.own_token_url.as_ref().unwrap_or(&key.audience);
                universe::listed(universe, giver, &self.settings.origins)?;
            }
            let asks = *exchange || key.universe.is_some();
            let own = key.own_token_url.as_deref().or(asks.then_some(&*key.audience));
            let own = own.map(url).transpose()?;
            return Ok(GoogleLogin::Key(Arc::new(key), own));
        }
        let federation = federation_file::read(bytes)?;
        if let Some(universe) = &federation.universe {
            universe::listed(universe, &format!("https://sts.{universe}/v1/token"), &self.settings.origins)?;
        }
        let urls = FederationUrls {
            exchange: url(&federation.token_url)?,
            impersonation: federation.impersonation.as_ref().map(|it| url(&it.url)).transpose()?,
        };
        Ok(GoogleLogin::Federation(Arc::new(federation), urls))
    }

    /// The URLs that are asked for tokens.
    fn urls(&self) -> [Option<BaseUrl>; 2] {
        match &self.read.lock().login {
            Some(GoogleLogin::Key(_, url)) => [url.clone(), None],
            Some(GoogleLogin::Federation(_, urls)) => [Some(urls.exchange.clone()), urls.impersonation.clone()],
            None => [None, None],
        }
    }

    async fn asked(&self) -> Result<(TimedToken, Vec<String>), NoToken> {
        let no_way = || NoToken::Failed("there is no way to Google yet".to_owned());
        let givers = self.givers.get().ok_or_else(no_way)?;
        let login = self.read.lock().login.clone();
        match (login, givers) {
            (None, Givers { first: Some(metadata), .. }) => {
                Ok((of_machine(metadata).await?, vec!["machine".to_owned()]))
            }
            (Some(GoogleLogin::Key(key, None)), _) => {
                let token = key.token(self.clock.at(SystemTime::now())).map_err(NoToken::Failed)?;
                Ok((TimedToken { token, lasts: account_key::LASTS }, vec![key.email.clone()]))
            }
            (Some(GoogleLogin::Key(key, Some(_))), Givers { first: Some(giver), .. }) => {
                Ok((self.for_assertion(&key, giver).await?, vec![key.email.clone()]))
            }
            (Some(GoogleLogin::Federation(federation, _)), Givers { first: Some(giver), second }) => {
                let token = self.for_other_token(&federation, giver, second.as_ref()).await?;
                let account = [Some(&federation.audience), federation.impersonation.as_ref().map(|it| &it.url)];
                Ok((token, account.into_iter().flatten().cloned().collect()))
            }
            _ => Err(no_way()),
        }
    }

    /// The token that the token endpoint gives for an assertion. A clock that differs is corrected once.
    async fn for_assertion(&self, key: &AccountKey, giver: &TokenGiver) -> Result<TimedToken, NoToken> {
        let mut has_corrected = false;
        loop {
            let local = SystemTime::now();
            let assertion = key.assertion(self.clock.at(local)).map_err(NoToken::Failed)?;
            self.shown.add(&assertion);
            let grant = ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
            let answer = giver.post_form(&[grant, ("assertion", &assertion)]).await.map_err(NoToken::Failed)?;
            if answer.status.is_success() {
                return giver.given(TimedToken::read(&answer.body));
            }
            let refusal = answers::refusal(&answer);
            let is_grant = refusal.code == INVALID_GRANT;
            let corrects = |date| self.clock.correct(date, local, &self.name);
            if is_grant && !has_corrected && refusal.date.is_some_and(corrects) {
                has_corrected = true;
                continue;
            }
            let clock = refusal.date.and_then(|it| differs(it, local)).map_or_else(String::new, |it| format!("; {it}"));
            let next = "; make a new key of the account: this one is deleted or disabled, or not of this account";
            let who = format!("the key of {}", key.email);
            return Err(refused(giver, &answer, &refusal, &who, &format!("{clock}{next}")));
        }
    }

    /// The token that Google gives for one of another identity provider.
    async fn for_other_token(
        &self,
        federation: &Federation,
        giver: &TokenGiver,
        second: Option<&TokenGiver>,
    ) -> Result<TimedToken, NoToken> {
        let subject = self.subject_token(&federation.subject).await.map_err(NoToken::Failed)?;
        let scope = if second.is_some() { IAM_SCOPE } else { SCOPE };
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", &federation.audience),
            ("scope", scope),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token", &subject),
            ("subject_token_type", &federation.subject_token_type),
        ];
        let answer = giver.post_form(&form).await.map_err(NoToken::Failed)?;
        if !answer.status.is_success() {
            let who = format!("the token in {}", federation.subject.file.display());
            let next = "; correct `audience`, or the provider of the pool: its issuer, audiences and conditions";
            return Err(refused(giver, &answer, &answers::refusal(&answer), &who, next));
        }
        let first = giver.given(TimedToken::read(&answer.body))?;
        let (Some(second), Some(impersonation)) = (second, &federation.impersonation) else { return Ok(first) };
        self.shown.add(&first.token);
        let body = json!({ "delegates": null, "scope": [SCOPE], "lifetime": format!("{}s", impersonation.seconds) });
        let answer = second.post_json(&first.token, &body).await.map_err(NoToken::Failed)?;
        if !answer.status.is_success() {
            let next = "; give it the role roles/iam.workloadIdentityUser on the service account, or correct \
                        `service_account_impersonation_url`";
            return Err(refused(second, &answer, &answers::refusal(&answer), "the federated identity", next));
        }
        second.given(answers::impersonation(&answer.body, self.clock.at(SystemTime::now())))
    }

    /// The token of the other identity provider, read each time: the kubelet replaces it.
    async fn subject_token(&self, subject: &SubjectToken) -> Result<Zeroizing<String>, String> {
        let SubjectToken { file, field } = subject.clone();
        let read = tokio::task::spawn_blocking(move || read_subject(&file, field.as_deref())).await;
        let token = read.map_err(|error| format!("reading failed: {error}"))??;
        self.shown.add(&token);
        Ok(token)
    }
}

fn read_subject(file: &Path, field: Option<&str>) -> Result<Zeroizing<String>, String> {
    let at = file.display();
    let text = text_file::read_line(file).map_err(|error| format!("cannot read {at}: {error}"))?;
    let text = text.ok_or_else(|| format!("{at} is larger than 16 KiB, and so no token"))?;
    let text = match field {
        None => std::str::from_utf8(&text).map(|it| Zeroizing::new(it.to_owned())).ok(),
        Some(field) => {
            let read = serde_json::from_slice::<Value>(&text).ok();
            read.and_then(|it| it.get(field)?.as_str().map(|it| Zeroizing::new(it.to_owned())))
        }
    };
    let is_token = |it: &Zeroizing<String>| !it.is_empty() && it.bytes().all(|it| it.is_ascii_graphic());
    text.filter(is_token).ok_or_else(|| format!("{at} holds no token; look at the pod's projected volume"))
}

/// The token of the machine's service account.
async fn of_machine(metadata: &TokenGiver) -> Result<TimedToken, NoToken> {
    let answer = metadata.get(&[], HeaderMap::from_iter([(METADATA_FLAVOR, GOOGLE)])).await.map_err(NoToken::Failed)?;
    if answer.headers.get(METADATA_FLAVOR) != Some(&GOOGLE) {
        let place = metadata.place();
        return Err(NoToken::Failed(format!(
            "{place} does not answer as Google's metadata server does (Metadata-Flavor: Google is missing)"
        )));
    }
    if !answer.status.is_success() {
        let next = "; attach a service account to the machine, or write another source of tokens";
        return Err(refused(metadata, &answer, &answers::refusal(&answer), "the machine", next));
    }
    metadata.given(TimedToken::read(&answer.body))
}

/// An answer that is no success, as a sentence without its full stop.
fn refused(giver: &TokenGiver, answer: &CompleteAnswer, refusal: &TokenRefusal, who: &str, next: &str) -> NoToken {
    let (place, words) = (giver.place(), &refusal.words);
    if is_for_a_person(answer.status) {
        return NoToken::Refused(format!("{place} refuses {who} ({words}){next}"));
    }
    NoToken::Failed(format!("{place} gives no token ({words})"))
}

/// How this machine's clock differs from Google's, if it does by more than a minute.
fn differs(date: SystemTime, local: SystemTime) -> Option<String> {
    let (seconds, word) = match date.duration_since(local) {
        Ok(ahead) => (ahead.as_secs(), "behind"),
        Err(behind) => (behind.duration().as_secs(), "ahead of"),
    };
    (seconds > 60).then(|| format!("this machine's clock is {seconds} s {word} Google's: set it"))
}

#[async_trait]
impl TokenSource for GoogleSource {
    fn due(lasts: Duration) -> Duration {
        // As google-auth does: the metadata server keeps a token until four minutes before its end.
        before_end(lasts, Duration::from_secs(225))
    }

    fn header(token: &str) -> (HeaderName, HeaderValue) {
        let value = Zeroizing::new(format!("Bearer {token}"));
        (AUTHORIZATION, HeaderValue::from_str(&value).expect("a token is checked to be visible ASCII when it is read"))
    }

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        let giver = |url: BaseUrl| {
            let GoogleSettings { addresses, ca_file, proxy, .. } = self.settings.clone();
            TokenGiver::new(&self.name, url, addresses, ca_file, proxy, outside)
        };
        let [first, second] = self.urls();
        let (mut first, second) = (first.map(giver).transpose()?, second.map(giver).transpose()?);
        if let GoogleTokens::Metadata { url } = &self.settings.tokens {
            let name = format!("metadata server of credential {}", self.name);
            first = Some(TokenGiver::of_machine(&name, client::metadata_url(url), &[Method::Get], outside)?);
        }
        // An egress that is built a second time goes the same ways.
        let _ = self.givers.set(Givers { first, second });
        Ok(())
    }

    fn is_connected(&self) -> bool {
        self.givers.get().is_some()
    }

    fn origins_file(&self) -> Option<PathBuf> {
        self.file().map(|it| origins::beside(it.file))
    }

    fn destinations(&self) -> Vec<Origin> {
        self.urls().iter().flatten().map(BaseUrl::origin).collect()
    }

    fn read(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let Some(file) = self.file() else { return Ok(None) };
        let bytes = file.read_twice("; put Google's file there alone")?;
        let origins = file.origins()?;
        let is_known = {
            let read = self.read.lock();
            read.login.is_some() && read.bytes == bytes
        };
        if is_known {
            return Ok(origins);
        }
        let login = self.login(&bytes).map_err(|because| file.unusable(because))?;
        let before = self.urls();
        let mut read = self.read.lock();
        let read_before = std::mem::replace(&mut *read, ReadFile { bytes, login: Some(login), revision: 0 });
        read.revision = read_before.revision + 1;
        drop(read);
        // The ways to givers of tokens are made once.
        if self.is_connected() && self.urls() != before {
            let revision = self.read.lock().revision;
            *self.read.lock() = ReadFile { revision, ..read_before };
            return Err(file.unusable("names another giver of tokens than at the start; restart aerostat"));
        }
        Ok(origins)
    }

    fn revision(&self) -> u64 {
        self.read.lock().revision
    }

    async fn ask(&self) -> Result<GivenToken, NoToken> {
        let asked = self.asked().await.map_err(|none| none.without(&Secrets::new(self.secrets()), "Google"));
        let (TimedToken { token, lasts }, account) = asked?;
        Ok(GivenToken { token, lasts, catalog: Catalog { entries: Vec::new() }, account })
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        self.shown.secrets()
    }

    fn corrects_clock(&self, date: SystemTime) -> bool {
        let signs = matches!(self.read.lock().login, Some(GoogleLogin::Key(_, None)));
        signs && self.clock.correct(date, SystemTime::now(), &self.name)
    }
}
