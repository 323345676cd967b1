//! Where keys come from, and how they are asked for.

use std::path::Path;
use std::sync::OnceLock;
use std::time::SystemTime;

use zeroize::Zeroizing;

use super::super::clock::Clock;
use super::super::error::CredentialError;
use super::super::kind::{AssumeRole, KeySource, Sigv4Settings};
use super::super::secret_file::SecretFile;
use super::super::secrets::Secrets;
use super::super::shown::Shown;
use super::super::transport::Connect;
use super::key_services::KeyService;
use super::keys::SigningKeys;
use super::no_keys::NoKeys;
use super::shared_file;
use super::sts::StsClient;
use crate::error::EgressError;

/// Where the keys of one credential come from.
pub(super) struct SigningKeySource {
    credential: String,
    settings: Sigv4Settings,
    /// Made when the egress is.
    clients: OnceLock<Clients>,
    pub(super) clock: Clock,
    pub(super) shown: Shown,
}

/// Whom a source asks.
struct Clients {
    sts: Option<StsClient>,
    key_service: Option<KeyService>,
}

impl SigningKeySource {
    /// Looks at the files, and asks nobody.
    pub(super) fn new(credential: &str, settings: Sigv4Settings) -> Result<Self, CredentialError> {
        let source = Self {
            credential: credential.to_owned(),
            settings,
            clients: OnceLock::new(),
            clock: Clock::default(),
            shown: Shown::default(),
        };
        match &source.settings.keys {
            KeySource::SharedFile { .. } => drop(source.read_shared_file()?),
            KeySource::WebIdentity { token_file, .. } => drop(source.read_token(token_file)?),
            KeySource::PodIdentity { token_file, .. } => drop(source.read_token(token_file)?),
            KeySource::InstanceMetadata { .. } => {}
        }
        Ok(source)
    }

    /// The file whose keys requests are signed with themselves; `None` if keys are asked for.
    pub(super) fn plain_file(&self) -> Option<&Path> {
        match &self.settings {
            Sigv4Settings { keys: KeySource::SharedFile { file, .. }, assume_role: None, .. } => Some(file),
            _ => None,
        }
    }

    /// The file beside which a list of origins may be.
    pub(super) fn secret_file(&self) -> Option<&Path> {
        match &self.settings.keys {
            KeySource::SharedFile { file, .. } => Some(file),
            KeySource::WebIdentity { token_file, .. } | KeySource::PodIdentity { token_file, .. } => Some(token_file),
            KeySource::InstanceMetadata { .. } => None,
        }
    }

    /// Makes the ways to whom it asks.
    pub(super) fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        let Sigv4Settings { region, keys, assume_role, sts } = &self.settings;
        let name = &self.credential;
        let needs_sts = assume_role.is_some() || matches!(keys, KeySource::WebIdentity { .. });
        let sts = needs_sts.then(|| StsClient::new(name, region, sts, outside)).transpose()?;
        let key_service = match keys {
            KeySource::PodIdentity { url, .. } => {
                Some(KeyService::new(&format!("pod identity of credential {name}"), url, outside)?)
            }
            KeySource::InstanceMetadata { url } => {
                Some(KeyService::new(&format!("instance metadata of credential {name}"), url, outside)?)
            }
            KeySource::SharedFile { .. } | KeySource::WebIdentity { .. } => None,
        };
        // An egress that is built a second time goes the same ways.
        let _ = self.clients.set(Clients { sts, key_service });
        Ok(())
    }

    /// New keys. `local` is this machine's time. No error holds what somebody was shown, whatever they answer.
    pub(super) async fn fetch(self: &std::sync::Arc<Self>, local: SystemTime) -> Result<SigningKeys, NoKeys> {
        let fetched = self.ask(local).await;
        fetched.map_err(|error| error.without(&Secrets::new(self.shown.secrets())))
    }

    async fn ask(self: &std::sync::Arc<Self>, local: SystemTime) -> Result<SigningKeys, NoKeys> {
        let keys = match &self.settings.keys {
            KeySource::SharedFile { .. } => self.read(|it| it.read_shared_file()).await?,
            KeySource::WebIdentity { role_arn, .. } => {
                let token = self.token().await?;
                self.sts()?.with_web_identity(role_arn, &token).await?
            }
            KeySource::PodIdentity { .. } => {
                let token = self.token().await?;
                self.key_service()?.of_pod(&token).await?
            }
            KeySource::InstanceMetadata { .. } => self.key_service()?.of_instance(&self.shown).await?,
        };
        let keys = match &self.settings.assume_role {
            Some(wanted) => self.assume_role(&keys, wanted, local).await?,
            None => keys,
        };
        match keys.ended(self.clock.at(local)) {
            Some(_) => Err(NoKeys::Failed("the keys that were given have ended already".to_owned())),
            None => Ok(keys),
        }
    }

    async fn assume_role(
        &self,
        keys: &SigningKeys,
        wanted: &AssumeRole,
        local: SystemTime,
    ) -> Result<SigningKeys, NoKeys> {
        keys.show(&self.shown);
        self.sts()?.assume_role(keys, wanted, &self.clock, local).await
    }

    fn sts(&self) -> Result<&StsClient, NoKeys> {
        self.clients.get().and_then(|it| it.sts.as_ref()).ok_or(NoKeys::NotConnected)
    }

    fn key_service(&self) -> Result<&KeyService, NoKeys> {
        self.clients.get().and_then(|it| it.key_service.as_ref()).ok_or(NoKeys::NotConnected)
    }

    async fn token(self: &std::sync::Arc<Self>) -> Result<Zeroizing<String>, NoKeys> {
        self.read(|source| match &source.settings.keys {
            KeySource::WebIdentity { token_file, .. } | KeySource::PodIdentity { token_file, .. } => {
                source.read_token(token_file)
            }
            KeySource::SharedFile { .. } | KeySource::InstanceMetadata { .. } => Ok(Zeroizing::default()),
        })
        .await
    }

    /// Reads a file where that keeps nobody waiting.
    async fn read<T: Send + 'static>(
        self: &std::sync::Arc<Self>,
        read: impl FnOnce(&Self) -> Result<T, CredentialError> + Send + 'static,
    ) -> Result<T, NoKeys> {
        let source = self.clone();
        let read = tokio::task::spawn_blocking(move || read(&source)).await;
        match read {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(error)) => {
                let cause = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
                // Each names the credential, and so does whoever says it.
                let text = format!("{error}{cause}");
                let own = format!("credential {}: ", self.credential);
                Err(NoKeys::Failed(text.strip_prefix(&own).unwrap_or(&text).to_owned()))
            }
            Err(error) => Err(NoKeys::Failed(format!("reading failed: {error}"))),
        }
    }

    pub(super) fn read_shared_file(&self) -> Result<SigningKeys, CredentialError> {
        let KeySource::SharedFile { file, profile } = &self.settings.keys else {
            unreachable!("only credentials with a shared file ask for it")
        };
        let file = SecretFile { credential: &self.credential, file, key: "sigv4.sharedFile.file" };
        let text = file.read_twice("; leave the profile alone in it")?;
        let text = std::str::from_utf8(&text).map_err(|_| file.unusable("is not UTF-8"))?;
        shared_file::read(text, profile).map_err(|because| file.unusable(because))
    }

    fn read_token(&self, file: &Path) -> Result<Zeroizing<String>, CredentialError> {
        let key = match &self.settings.keys {
            KeySource::PodIdentity { .. } => "sigv4.podIdentity.tokenFile",
            _ => "sigv4.webIdentity.tokenFile",
        };
        let file = SecretFile { credential: &self.credential, file, key };
        let text = file.read_line(", and so no token")?;
        if text.is_empty() || !text.iter().all(u8::is_ascii_graphic) {
            let because =
                "holds no token: it is empty, or holds what is not visible ASCII; look at the pod's projected volume";
            return Err(file.unusable(because));
        }
        let token: Zeroizing<String> = Zeroizing::new(text.iter().copied().map(char::from).collect());
        self.shown.add(&token);
        Ok(token)
    }
}
