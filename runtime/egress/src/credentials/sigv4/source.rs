//! Where keys come from, and how they are asked for.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use zeroize::Zeroizing;

use super::super::authenticated::Authenticated;
use super::super::clock::Clock;
use super::super::credential::CredentialRefusal;
use super::super::error::CredentialError;
use super::super::kind::{AssumeRole, KeySource, Sigv4Settings};
use super::super::secret_file::SecretFile;
use super::super::secrets::Secrets;
use super::super::shown::Shown;
use super::super::signing::{NoKeys, SigningKeys, SigningSource, read_file, read_token};
use super::super::transport::Connect;
use super::key_services::KeyService;
use super::sts::StsClient;
use super::{refusal, shared_file, sign};
use crate::base_url::{BaseUrl, CanonicalHost};
use crate::endpoint::{Endpoint, Signing};
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// The parts by which AWS's own names for endpoints are known; those of a region have it as a label.
const AWS: [&str; 2] = [".amazonaws.", ".api.aws"];

/// Where the keys of one credential come from.
pub(crate) struct SigningKeySource {
    credential: String,
    settings: Sigv4Settings,
    /// Made when the egress is.
    clients: OnceLock<Clients>,
    clock: Clock,
    shown: Shown,
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

    async fn ask(self: &Arc<Self>, local: SystemTime) -> Result<SigningKeys, NoKeys> {
        let keys = match &self.settings.keys {
            KeySource::SharedFile { .. } => {
                read_file(&self.credential, self, |source| source.read_shared_file()).await?
            }
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

    async fn token(self: &Arc<Self>) -> Result<Zeroizing<String>, NoKeys> {
        read_file(&self.credential, self, |source: &Self| match &source.settings.keys {
            KeySource::WebIdentity { token_file, .. } | KeySource::PodIdentity { token_file, .. } => {
                source.read_token(token_file)
            }
            KeySource::SharedFile { .. } | KeySource::InstanceMetadata { .. } => Ok(Zeroizing::default()),
        })
        .await
    }

    fn read_shared_file(&self) -> Result<SigningKeys, CredentialError> {
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
        read_token(SecretFile { credential: &self.credential, file, key }, &self.shown)
    }
}

impl SigningSource for SigningKeySource {
    const KEY: &'static str = "sigv4";

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
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

    fn plain_file(&self) -> Option<&Path> {
        match &self.settings {
            Sigv4Settings { keys: KeySource::SharedFile { file, .. }, assume_role: None, .. } => Some(file),
            _ => None,
        }
    }

    fn read_plain_file(&self) -> Result<SigningKeys, CredentialError> {
        self.read_shared_file()
    }

    fn secret_file(&self) -> Option<&Path> {
        match &self.settings.keys {
            KeySource::SharedFile { file, .. } => Some(file),
            KeySource::WebIdentity { token_file, .. } | KeySource::PodIdentity { token_file, .. } => Some(token_file),
            KeySource::InstanceMetadata { .. } => None,
        }
    }

    async fn fetch(self: &Arc<Self>, local: SystemTime) -> Result<SigningKeys, NoKeys> {
        let fetched = self.ask(local).await;
        fetched.map_err(|error| error.without(&Secrets::new(self.shown.secrets())))
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn shown(&self) -> &Shown {
        &self.shown
    }

    fn check(&self, name: &str, endpoint: &Endpoint) -> Result<(), String> {
        let own = &self.settings.region;
        let region = own.as_str();
        let Some(Signing::Sigv4 { region: signed, .. }) = &endpoint.signing else {
            return Err(format!(
                "the credential {name} signs, and needs to know for what; write signing: {{ region: {region}, service: … }}"
            ));
        };
        if signed != own {
            return Err(format!(
                "`signing` names the region {}, and the credential {name} signs for {region} alone; correct one of them",
                signed.as_str()
            ));
        }
        let Some(origin) = endpoint.place.base_url().map(BaseUrl::origin) else { return Ok(()) };
        if let CanonicalHost::Name(host) = origin.host()
            && AWS.iter().any(|it| host.contains(it))
            && !host.split('.').any(|it| it == region)
        {
            return Err(format!(
                "its base URL is {origin}, whose name does not hold the region {region} of `signing`; correct one of them"
            ));
        }
        Ok(())
    }

    fn sign(
        permitted: Permitted,
        keys: &SigningKeys,
        generation: u64,
        now: SystemTime,
    ) -> Result<Authenticated, String> {
        let endpoint = permitted.endpoint().clone();
        match &endpoint.signing {
            Some(Signing::Sigv4 { region, service }) => sign::signed(permitted, keys, region, service, generation, now),
            Some(Signing::Acs3 { .. }) | None => Err("the endpoint has no `signing` for AWS".to_owned()),
        }
    }

    fn refusal(answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        refusal::refusal(answer)
    }

    fn is_throttling(answer: &CompleteAnswer) -> bool {
        refusal::is_throttling(answer)
    }
}
