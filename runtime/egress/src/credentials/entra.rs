//! Tokens of Microsoft Entra, sent as `authorization: Bearer`: for an application that proves itself with a secret, a certificate or a
//! token of another issuer (workload identity), or for the identity of the machine.

mod answers;
mod certificate;
mod client;
mod settings;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use budgets::WriteLimits;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::watch;
use zeroize::Zeroizing;

use self::answers::{EntraRefusal, EntraToken};
use self::certificate::EntraCertificate;
pub use self::settings::{
    AzureCloud, EntraClientName, EntraLogin, EntraProof, EntraSettings, EntraTenant, EntraWord, IdentityHeader,
    IdentityService, ManagedIdentity,
};
use super::clock::Clock;
use super::error::CredentialError;
use super::no_token::NoToken;
use super::origins;
use super::secret::Secret;
use super::secret_file::SecretFile;
use super::secrets::Secrets;
use super::shown::Shown;
use super::token_credential::TokenCredential;
use super::token_giver::{TokenGiver, is_for_a_person};
use super::token_source::{GivenToken, TokenSource, before_end};
use super::transport::Connect;
use crate::base_url::Origin;
use crate::catalog::Catalog;
use crate::error::EgressError;
use crate::request::Method;

/// The words of a proof that is an assertion.
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Entra's number for an assertion that is not good now: the clocks differ.
const NOT_NOW: u64 = 700_024;
/// So often a challenge asks for another token. A service that challenges each one must not make it a flood.
const CHALLENGED: Duration = Duration::from_secs(30);

/// A credential whose tokens are Entra's.
pub(super) type EntraCredential = TokenCredential<EntraSource>;

/// Where Entra's tokens come from.
pub(super) struct EntraSource {
    name: String,
    settings: EntraSettings,
    read: Mutex<ReadProof>,
    /// Made when the egress is.
    giver: OnceLock<TokenGiver>,
    clock: Clock,
    shown: Shown,
    challenge: Mutex<TokenChallenge>,
}

/// The file, as it was read last.
#[derive(Default)]
struct ReadProof {
    bytes: Zeroizing<Vec<u8>>,
    proof: Option<ProofWords>,
    revision: u64,
}

/// The proof of an application, as its file has it.
#[derive(Clone)]
enum ProofWords {
    Secret(Zeroizing<String>),
    Certificate(Arc<EntraCertificate>),
    Token(Zeroizing<String>),
}

/// The demands of a service on the next token.
#[derive(Default)]
struct TokenChallenge {
    claims: Option<String>,
    taken: Option<Instant>,
}

impl EntraCredential {
    /// Reads the file for the first time. Nobody is asked yet.
    pub(super) fn load(
        name: String,
        settings: EntraSettings,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let shown = Shown::default();
        if let EntraLogin::ManagedIdentity { service: IdentityService::Endpoint { header, .. }, .. } = &settings.login {
            shown.add(header.as_str());
        }
        let source = EntraSource {
            name: name.clone(),
            settings,
            read: Mutex::default(),
            giver: OnceLock::new(),
            clock: Clock::default(),
            shown,
            challenge: Mutex::default(),
        };
        Self::new(name, source, limits, changes)
    }
}

impl EntraSource {
    fn file(&self) -> Option<SecretFile<'_>> {
        let (file, key) = match &self.settings.login {
            EntraLogin::ManagedIdentity { .. } => return None,
            EntraLogin::Client { proof, .. } => match proof {
                EntraProof::Secret { file } => (file, "entra.clientSecret.file"),
                EntraProof::Certificate { file, .. } => (file, "entra.clientCertificate.file"),
                EntraProof::FederatedToken { file } => (file, "entra.federatedToken.file"),
            },
        };
        Some(SecretFile { credential: &self.name, file, key })
    }

    /// The proof that a file's bytes hold. The error continues the sentence that begins with the file.
    fn proof(&self, proof: &EntraProof, bytes: &[u8]) -> Result<ProofWords, String> {
        if let EntraProof::Certificate { .. } = proof {
            return EntraCertificate::read(bytes).map(|it| ProofWords::Certificate(Arc::new(it)));
        }
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim_end_matches(['\r', '\n']);
        if text.is_empty() || !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(match proof {
                EntraProof::FederatedToken { .. } => "holds no token; look at the pod's projected volume".to_owned(),
                _ => "holds no secret; put the secret's value there alone".to_owned(),
            });
        }
        let text = Zeroizing::new(text.to_owned());
        let secret = Secret::new(text.clone());
        if let Some(weakness) = secret.weakness() {
            tracing::warn!(credential = self.name, "the secret of credential {} {weakness}", self.name);
        }
        self.shown.add(&text);
        Ok(match proof {
            EntraProof::FederatedToken { .. } => ProofWords::Token(text),
            _ => ProofWords::Secret(text),
        })
    }

    async fn asked(&self) -> Result<(EntraToken, Vec<String>), NoToken> {
        let no_way = || NoToken::Failed("there is no way to Entra yet".to_owned());
        let giver = self.giver.get().ok_or_else(no_way)?;
        match &self.settings.login {
            EntraLogin::ManagedIdentity { identity, service } => self.of_machine(giver, identity, service).await,
            EntraLogin::Client { client, proof } => {
                let words = self.read.lock().proof.clone().ok_or_else(no_way)?;
                let token = self.of_client(giver, client, proof, &words).await?;
                Ok((token, vec![client.tenant.as_str().to_owned(), client.client_id.as_str().to_owned()]))
            }
        }
    }

    /// The token of an application. A clock that differs is corrected once.
    async fn of_client(
        &self,
        giver: &TokenGiver,
        client: &EntraClientName,
        proof: &EntraProof,
        words: &ProofWords,
    ) -> Result<EntraToken, NoToken> {
        let client_id = client.client_id.as_str();
        let claims = self.challenge.lock().claims.clone();
        let mut has_corrected = false;
        loop {
            let local = SystemTime::now();
            let now = self.clock.at(local);
            let assertion;
            let scope = self.settings.scope.as_str();
            let mut pairs = vec![("client_id", client_id), ("grant_type", "client_credentials"), ("scope", scope)];
            pairs.extend(claims.as_deref().map(|it| ("claims", it)));
            match words {
                ProofWords::Secret(secret) => pairs.push(("client_secret", secret.as_str())),
                ProofWords::Token(token) => {
                    pairs.extend([("client_assertion_type", ASSERTION), ("client_assertion", token.as_str())]);
                }
                ProofWords::Certificate(certificate) => {
                    assertion = self.assertion(certificate, client, proof, now)?;
                    pairs.extend([("client_assertion_type", ASSERTION), ("client_assertion", assertion.as_str())]);
                }
            }
            let answer = giver.post_form(&pairs).await.map_err(NoToken::Failed)?;
            if answer.status.is_success() {
                let token = giver.given(answers::token(&answer.body, now))?;
                self.challenge.lock().claims = None;
                return Ok(token);
            }
            let refusal = answers::refusal(&answer);
            let corrects = |date| self.clock.correct(date, local, &self.name);
            if refusal.number == NOT_NOW && !has_corrected && refusal.date.is_some_and(corrects) {
                has_corrected = true;
                continue;
            }
            let place = giver.place();
            if !is_for_a_person(answer.status) {
                return Err(NoToken::Failed(format!("{place} gives no token ({})", refusal.words)));
            }
            let next = next_step(&refusal, words);
            return Err(NoToken::Refused(format!(
                "{place} refuses the client {client_id} ({}); {next}",
                refusal.words
            )));
        }
    }

    /// An assertion of the certificate, unless that has ended: Entra would say so less clearly.
    fn assertion(
        &self,
        certificate: &EntraCertificate,
        client: &EntraClientName,
        proof: &EntraProof,
        now: SystemTime,
    ) -> Result<Zeroizing<String>, NoToken> {
        if let Some(end) = certificate.ends().filter(|it| *it <= now) {
            let file = self.file().expect("a certificate is in a file").file;
            let end = jiff::Timestamp::try_from(end).map(|it| it.to_string()).unwrap_or_default();
            return Err(NoToken::Refused(format!(
                "the certificate in {} ({}) ended at {end}; make a new one, register it with the application, and put it there",
                file.display(),
                certificate.thumbprint()
            )));
        }
        let sends_chain = matches!(proof, EntraProof::Certificate { sends_chain: true, .. });
        let audience = client::token_url(client).to_string();
        let assertion = certificate.assertion(client.client_id.as_str(), &audience, sends_chain, now);
        let assertion = assertion.map_err(NoToken::Failed)?;
        self.shown.add(&assertion);
        Ok(assertion)
    }

    /// The token of the machine's identity.
    async fn of_machine(
        &self,
        giver: &TokenGiver,
        identity: &ManagedIdentity,
        service: &IdentityService,
    ) -> Result<(EntraToken, Vec<String>), NoToken> {
        let answer = client::machine_token(giver, service, identity, self.settings.scope.resource())
            .await
            .map_err(NoToken::Failed)?;
        let place = giver.place();
        if answer.status.is_success() {
            let token = giver.given(answers::token(&answer.body, SystemTime::now()))?;
            let asked = match identity {
                ManagedIdentity::System => "machine".to_owned(),
                ManagedIdentity::ClientId(id) | ManagedIdentity::ResourceId(id) => id.as_str().to_owned(),
            };
            let account = token.client_id.clone().into_iter().chain([asked]).collect();
            return Ok((token, account));
        }
        let refusal = answers::refusal(&answer);
        if !client::is_for_a_person_at_machine(answer.status) {
            return Err(NoToken::Failed(format!("{place} gives no token ({})", refusal.words)));
        }
        Err(NoToken::Refused(format!(
            "{place} refuses the machine ({}); assign the identity to the machine, correct `clientId` or `resourceId` in \
             `entra.managedIdentity`, or write another proof",
            refusal.words
        )))
    }
}

/// The words for a person after a refusal, by Entra's number ("Microsoft Entra authentication and authorization error codes").
fn next_step(refusal: &EntraRefusal, proof: &ProofWords) -> String {
    let next = match (refusal.number, proof) {
        (7_000_215 | 7_000_218, _) => "put the secret's value into the file, not its id, or make a new one",
        (7_000_222, _) => "the secret has ended: make a new one, and put its value into the file",
        (90_002 | 900_023 | 900_021, _) => "correct `entra.tenant`",
        (700_016 | 7_000_232, _) => {
            "correct `entra.clientId` or `entra.tenant`: there is no such application in this tenant"
        }
        (7_000_112, _) => "the application is disabled: enable it in the tenant",
        (NOT_NOW, _) => "set this machine's clock",
        (70_021 | 700_211..=700_213, _) => {
            "correct the federated identity credential of the application: its issuer, its subject (system:serviceaccount:…) and its \
             audience have to be those of the token"
        }
        (700_027 | 700_030, ProofWords::Certificate(certificate)) => {
            return format!(
                "register the certificate {} with the application, or put the one there that is registered",
                certificate.thumbprint()
            );
        }
        (70_011 | 500_011 | 1_002_012, _) => "correct `entra.scope`, or `entra.cloud`",
        (53_003, _) => "a policy of the tenant (conditional access) forbids it: ask its administrator",
        _ => "look at the application in the tenant, and at `entra` in the config",
    };
    format!("{next}. It is asked again when the file changes, and else once a minute")
}

#[async_trait]
impl TokenSource for EntraSource {
    const GOES_ALONG: bool = true;

    fn due(lasts: Duration) -> Duration {
        before_end(lasts, Duration::from_secs(300))
    }

    fn header(token: &str) -> (HeaderName, HeaderValue) {
        let value = Zeroizing::new(format!("Bearer {token}"));
        (AUTHORIZATION, HeaderValue::from_str(&value).expect("a token is checked to be visible ASCII when it is read"))
    }

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        let giver = match &self.settings.login {
            EntraLogin::Client { client, .. } => {
                let EntraSettings { addresses, ca_file, proxy, .. } = self.settings.clone();
                TokenGiver::new(&self.name, client::token_url(client), addresses, ca_file, proxy, outside)?
            }
            EntraLogin::ManagedIdentity { service, .. } => {
                let name = format!("machine's identity of credential {}", self.name);
                TokenGiver::of_machine(&name, client::machine_url(service), &[Method::Get], outside)?
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
        self.settings.authority().iter().map(|it| it.origin()).collect()
    }

    fn auxiliary(&self) -> Option<&str> {
        self.settings.auxiliary.as_deref()
    }

    fn read(&self) -> Result<Option<Vec<Origin>>, CredentialError> {
        let (Some(file), EntraLogin::Client { proof, .. }) = (self.file(), &self.settings.login) else {
            return Ok(None);
        };
        let bytes = file.read_twice("; put the proof there alone")?;
        let origins = file.origins()?;
        let is_known = {
            let read = self.read.lock();
            read.proof.is_some() && read.bytes == bytes
        };
        if is_known {
            return Ok(origins);
        }
        let words = self.proof(proof, &bytes).map_err(|because| file.unusable(because))?;
        let mut read = self.read.lock();
        *read = ReadProof { bytes, proof: Some(words), revision: read.revision + 1 };
        Ok(origins)
    }

    fn revision(&self) -> u64 {
        self.read.lock().revision
    }

    async fn ask(&self) -> Result<GivenToken, NoToken> {
        let asked = self.asked().await.map_err(|none| none.without(&Secrets::new(self.secrets()), "Entra"));
        let (EntraToken { token, lasts, client_id: _ }, account) = asked?;
        Ok(GivenToken { token, lasts, catalog: Catalog { entries: Vec::new() }, account })
    }

    fn secrets(&self) -> Vec<Arc<Secret>> {
        self.shown.secrets()
    }

    fn challenge(headers: &HeaderMap) -> Option<String> {
        answers::challenge(headers)
    }

    fn takes_challenge(&self, claims: &str) -> bool {
        let mut challenge = self.challenge.lock();
        if challenge.taken.is_some_and(|it| it.elapsed() < CHALLENGED) {
            return false;
        }
        *challenge = TokenChallenge { claims: Some(claims.to_owned()), taken: Some(Instant::now()) };
        true
    }
}
