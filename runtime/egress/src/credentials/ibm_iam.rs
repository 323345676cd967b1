//! Tokens of IBM Cloud's IAM, sent as `authorization: Bearer`: for an API key, for the token of a compute resource that a trusted profile
//! trusts, or for the identity of the machine, from its metadata service.

mod answers;
mod machine;
mod settings;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use budgets::WriteLimits;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::watch;
use zeroize::Zeroizing;

pub use self::settings::{IbmIamSettings, IbmProfile, IbmProfileWord, IbmTokens};
use super::error::CredentialError;
use super::no_token::NoToken;
use super::origins;
use super::secret::Secret;
use super::secret_file::SecretFile;
use super::secrets::Secrets;
use super::shown::Shown;
use super::timed_token::TimedToken;
use super::token_credential::TokenCredential;
use super::token_giver::{TokenGiver, bearer, is_for_a_person};
use super::token_source::{GivenToken, TokenSource};
use super::transport::Connect;
use crate::base_url::{BaseUrl, Origin};
use crate::catalog::Catalog;
use crate::error::EgressError;
use crate::request::Method;

/// The words of the two grants.
const API_KEY: &str = "urn:ibm:params:oauth:grant-type:apikey";
const COMPUTE_RESOURCE: &str = "urn:ibm:params:oauth:grant-type:cr-token";

/// A credential whose tokens are those of IBM Cloud's IAM.
pub(super) type IbmCredential = TokenCredential<IbmSource>;

/// Where IAM's tokens come from.
pub(super) struct IbmSource {
    name: String,
    settings: IbmIamSettings,
    read: Mutex<ReadApiKey>,
    /// Made when the egress is.
    giver: OnceLock<TokenGiver>,
    shown: Shown,
}

/// The file, as it was read last.
#[derive(Default)]
struct ReadApiKey {
    /// The API key, or the token of the compute resource.
    text: Option<Zeroizing<String>>,
    revision: u64,
}

impl IbmCredential {
    /// Reads the file for the first time. Nobody is asked yet.
    pub(super) fn load(
        name: String,
        settings: IbmIamSettings,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let (read, giver, shown) = (Mutex::default(), OnceLock::new(), Shown::default());
        Self::new(name.clone(), IbmSource { name, settings, read, giver, shown }, limits, changes)
    }
}

impl IbmSource {
    fn file(&self) -> Option<SecretFile<'_>> {
        let (file, key) = match &self.settings.tokens {
            IbmTokens::ApiKey { file, .. } => (file, "ibmIam.apiKey.file"),
            IbmTokens::ComputeResource { token_file, .. } => (token_file, "ibmIam.computeResource.tokenFile"),
            IbmTokens::InstanceIdentity { .. } => return None,
        };
        Some(SecretFile { credential: &self.name, file, key })
    }

    /// The key or the token that a file's bytes hold. The error continues the sentence that begins with the file, and holds nothing of
    /// it.
    fn text(&self, bytes: &[u8]) -> Result<Zeroizing<String>, String> {
        let is_key = matches!(self.settings.tokens, IbmTokens::ApiKey { .. });
        let next = if is_key { "put the API key there alone" } else { "look at the pod's projected volume" };
        let what = if is_key { "API key" } else { "token" };
        if bytes.is_empty() {
            return Err(format!("holds no {what}; {next}"));
        }
        if is_key && bytes.first() == Some(&b'{') {
            return Err(
                "is JSON, as the command line of IBM Cloud writes a new key; put the value of `apikey` there alone"
                    .to_owned(),
            );
        }
        if bytes.iter().any(u8::is_ascii_whitespace) {
            return Err(format!("holds white space in the {what}; {next}"));
        }
        if !bytes.iter().all(u8::is_ascii_graphic) {
            return Err(format!("holds a character that is not visible ASCII; {next}"));
        }
        Ok(Zeroizing::new(bytes.iter().copied().map(char::from).collect()))
    }

    async fn asked(&self) -> Result<TimedToken, NoToken> {
        let no_way = || NoToken::Failed("there is no way to IAM yet".to_owned());
        let giver = self.giver.get().ok_or_else(no_way)?;
        let text = self.read.lock().text.clone();
        match (&self.settings.tokens, text) {
            (IbmTokens::InstanceIdentity { profile, .. }, _) => {
                machine::token(giver, profile.as_ref(), &self.shown).await
            }
            (IbmTokens::ApiKey { file, .. }, Some(key)) => {
                let form = [("grant_type", API_KEY), ("apikey", &key), ("response_type", "cloud_iam")];
                let who = format!("the API key in {}", file.display());
                let next = "put a key there that exists, is not locked, and is of this account's service id";
                for_form(giver, &form, &who, next).await
            }
            (IbmTokens::ComputeResource { token_file, profile, .. }, Some(token)) => {
                let profile = match profile {
                    IbmProfile::Id(word) | IbmProfile::Crn(word) => ("profile_id", word.as_str()),
                    IbmProfile::Name(word) => ("profile_name", word.as_str()),
                };
                let form = [("grant_type", COMPUTE_RESOURCE), ("cr_token", &token), profile];
                let who = format!("the token in {}", token_file.display());
                let next = "correct `ibmIam.computeResource.profile`, or the profile itself: it has to be there, not ended, and trust this \
                            cluster, namespace and service account";
                for_form(giver, &form, &who, next).await
            }
            (_, None) => Err(no_way()),
        }
    }
}

/// The token that IAM gives for a form.
async fn for_form(giver: &TokenGiver, form: &[(&str, &str)], who: &str, next: &str) -> Result<TimedToken, NoToken> {
    let answer = giver.post_form(form).await.map_err(NoToken::Failed)?;
    if answer.status.is_success() {
        return giver.given(TimedToken::read(&answer.body));
    }
    let (place, words) = (giver.place(), answers::refusal(&answer));
    if !is_for_a_person(answer.status) {
        return Err(NoToken::Failed(format!("{place} gives no token ({words})")));
    }
    let again = "It is asked again when the file changes, and else once a minute";
    Err(NoToken::Refused(format!("{place} refuses {who} ({words}); {next}. {again}")))
}

#[async_trait]
impl TokenSource for IbmSource {
    fn due(lasts: Duration) -> Duration {
        // As IBM's SDK does.
        lasts / 5 * 4
    }

    fn header(token: &str) -> (HeaderName, HeaderValue) {
        (AUTHORIZATION, bearer(token).expect("a token is checked to be visible ASCII when it is read"))
    }

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        let giver = match &self.settings.tokens {
            IbmTokens::ApiKey { iam, .. } | IbmTokens::ComputeResource { iam, .. } => {
                let IbmIamSettings { addresses, ca_file, proxy, .. } = self.settings.clone();
                TokenGiver::new(&self.name, token_url(iam), addresses, ca_file, proxy, outside)?
            }
            IbmTokens::InstanceIdentity { url, .. } => {
                let name = format!("metadata service of credential {}", self.name);
                TokenGiver::of_machine(&name, url.base_url().clone(), &[Method::Put, Method::Post], outside)?
            }
        };
        // An egress that is built a second time goes the same way.
        let _ = self.giver.set(giver);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        self.giver.get().is_some()
    }

    fn origins_file(&self) -> Option<PathBuf> {
        self.file().map(|it| origins::beside(it.file))
    }

    fn destinations(&self) -> Vec<Origin> {
        self.settings.iam().iter().map(|it| it.origin()).collect()
    }

    fn read(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let Some(file) = self.file() else { return Ok(None) };
        let read_line = || file.read_line("; put the secret there alone");
        let bytes = read_line()?;
        if read_line()? != bytes {
            return Err(file.changes());
        }
        let origins = file.origins()?;
        let text = self.text(&bytes).map_err(|because| file.unusable(because))?;
        let mut read = self.read.lock();
        if read.text.as_ref() != Some(&text) {
            if let Some(weakness) = Secret::new(text.clone()).weakness() {
                tracing::warn!(credential = self.name, "the secret of credential {} {weakness}", self.name);
            }
            self.shown.add(&text);
            *read = ReadApiKey { text: Some(text), revision: read.revision + 1 };
        }
        Ok(origins)
    }

    fn revision(&self) -> u64 {
        self.read.lock().revision
    }

    async fn ask(&self) -> Result<GivenToken, NoToken> {
        let revision = self.revision();
        let asked = self.asked().await.map_err(|none| none.without(&Secrets::new(self.secrets()), "IAM"));
        let TimedToken { token, lasts } = asked?;
        // A token that does not tell its account may be another one's as soon as the key is another.
        let account = answers::account(&token).unwrap_or_else(|| vec![format!("file {revision}")]);
        Ok(GivenToken { token, lasts, catalog: Catalog { entries: Vec::new() }, account })
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        self.shown.secrets()
    }
}

/// Where IAM gives tokens.
fn token_url(iam: &BaseUrl) -> BaseUrl {
    let mut path = iam.path().to_vec();
    path.extend(["identity", "token"].map(str::to_owned));
    iam.clone().with_path(path)
}
