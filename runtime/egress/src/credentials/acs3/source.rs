//! Where keys for Alibaba Cloud come from, and how they are asked for.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use http::header::HeaderName;
use zeroize::Zeroizing;

use super::super::authenticated::Authenticated;
use super::super::clock::Clock;
use super::super::credential::CredentialRefusal;
use super::super::error::CredentialError;
use super::super::secret_file::SecretFile;
use super::super::secrets::Secrets;
use super::super::shown::Shown;
use super::super::signing::{MetadataNames, NoKeys, RoleMetadata, SigningKeys, SigningSource, read_file, read_token};
use super::super::transport::Connect;
use super::settings::{Acs3Keys, Acs3Settings};
use super::sts::RamSts;
use super::{refusal, sign};
use crate::base_url::{BaseUrl, CanonicalHost, Origin};
use crate::endpoint::{Endpoint, Signing};
use crate::error::EgressError;
use crate::operation::OperationPlace;
use crate::outcome::CompleteAnswer;
use crate::policy::Permitted;

/// The header in which a signed request says what it does.
const ACTION: &str = "x-acs-action";
/// The end of the names of Alibaba Cloud's own endpoints; before it stands the region, where the name has one.
const ALIBABA: &str = ".aliyuncs.com";
/// Names of the service that gives sessions, without and within a VPC.
const STS: [&str; 2] = ["sts", "sts-vpc"];

const METADATA: MetadataNames = MetadataNames {
    roles: ["latest", "meta-data", "ram", "security-credentials"],
    token: HeaderName::from_static("x-aliyun-ecs-metadata-token"),
    token_lifetime: HeaderName::from_static("x-aliyun-ecs-metadata-token-ttl-seconds"),
    unreached: "it is reached from machines of ECS alone",
    without_role: "attach a RAM role to it, or write another source of keys",
};

/// Where the keys of one credential come from.
pub(crate) struct AcsKeySource {
    credential: String,
    settings: Acs3Settings,
    /// Made when the egress is.
    clients: OnceLock<AcsClients>,
    clock: Clock,
    shown: Shown,
}

/// Whom a source asks.
struct AcsClients {
    sts: Option<RamSts>,
    metadata: Option<RoleMetadata>,
}

impl AcsKeySource {
    /// Looks at the files, and asks nobody.
    pub(super) fn new(credential: &str, settings: Acs3Settings) -> Result<Self, CredentialError> {
        let source = Self {
            credential: credential.to_owned(),
            settings,
            clients: OnceLock::new(),
            clock: Clock::default(),
            shown: Shown::default(),
        };
        match &source.settings.keys {
            Acs3Keys::Files { .. } => drop(source.read_files()?),
            Acs3Keys::Oidc { token_file, .. } => drop(source.read_oidc_token(token_file)?),
            Acs3Keys::InstanceMetadata { .. } => {}
        }
        Ok(source)
    }

    async fn ask(self: &Arc<Self>, local: SystemTime) -> Result<SigningKeys, NoKeys> {
        let keys = match &self.settings.keys {
            Acs3Keys::Files { .. } => read_file(&self.credential, self, |source| source.read_files()).await?,
            Acs3Keys::Oidc { role_arn, provider_arn, token_file } => {
                let file = token_file.clone();
                let token = read_file(&self.credential, self, move |source| source.read_oidc_token(&file)).await?;
                self.sts()?.with_oidc(role_arn, provider_arn, &token).await?
            }
            Acs3Keys::InstanceMetadata { .. } => self.metadata()?.keys_of_machine(&METADATA, &self.shown).await?,
        };
        self.has_not_ended(&keys, local)?;
        let Some(wanted) = &self.settings.assume_role else { return Ok(keys) };
        keys.show(&self.shown);
        let keys = self.sts()?.assume_role(&keys, wanted, &self.clock, local).await?;
        self.has_not_ended(&keys, local)?;
        Ok(keys)
    }

    fn has_not_ended(&self, keys: &SigningKeys, local: SystemTime) -> Result<(), NoKeys> {
        let Some(ended) = keys.ended(self.clock.at(local)) else { return Ok(()) };
        let Acs3Keys::Files { secret_file, .. } = &self.settings.keys else {
            return Err(NoKeys::Failed("the keys that were given have ended already".to_owned()));
        };
        let ended = jiff::Timestamp::try_from(ended).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ");
        Err(NoKeys::Failed(format!(
            "the session beside {} has ended at {ended}; put a new one there",
            secret_file.display()
        )))
    }

    fn sts(&self) -> Result<&RamSts, NoKeys> {
        self.clients.get().and_then(|it| it.sts.as_ref()).ok_or(NoKeys::NotConnected)
    }

    fn metadata(&self) -> Result<&RoleMetadata, NoKeys> {
        self.clients.get().and_then(|it| it.metadata.as_ref()).ok_or(NoKeys::NotConnected)
    }

    /// The keys in files. They are of one version if all of them are the same twice.
    fn read_files(&self) -> Result<SigningKeys, CredentialError> {
        let Acs3Keys::Files { id_file, secret_file, token_file, expiration_file } = &self.settings.keys else {
            unreachable!("only credentials with files ask for them")
        };
        let read = |file: &Path, key| self.read_word(file, key);
        let read_all = || {
            let id = read(id_file, "acs3.accessKey.idFile")?;
            let secret = read(secret_file, "acs3.accessKey.secretFile")?;
            let token = token_file.as_deref().map(|it| read(it, "acs3.accessKey.tokenFile")).transpose()?;
            let end = expiration_file.as_deref().map(|it| read(it, "acs3.accessKey.expirationFile")).transpose()?;
            Ok((id, secret, token, end))
        };
        let secret_key =
            SecretFile { credential: &self.credential, file: secret_file, key: "acs3.accessKey.secretFile" };
        let (first, second) = (read_all()?, read_all()?);
        if first != second {
            return Err(secret_key.changes());
        }
        let (id, secret, token, end) = first;
        let expires = match (end, expiration_file) {
            (Some(end), Some(file)) => {
                let file = SecretFile { credential: &self.credential, file, key: "acs3.accessKey.expirationFile" };
                let end: jiff::Timestamp = end.parse().map_err(|_| {
                    file.unusable("holds no time; write the end of the session, as in 2026-11-23T07:00:00Z")
                })?;
                Some(end.into())
            }
            _ => None,
        };
        // Another key may belong to another account.
        SigningKeys::new(&id, &secret, token.as_ref().map(|it| it.as_str()), expires, &id).map_err(|because| {
            secret_key.unusable(format!("and the files beside it are no key: one {because}; correct it"))
        })
    }

    /// The only word in a file.
    fn read_word(&self, file: &Path, key: &'static str) -> Result<Zeroizing<String>, CredentialError> {
        let file = SecretFile { credential: &self.credential, file, key };
        let text = file.read_line("; write the value alone")?;
        if text.is_empty() || !text.iter().all(u8::is_ascii_graphic) {
            return Err(
                file.unusable("is empty, or holds what is not visible ASCII; write the value alone, in one line")
            );
        }
        Ok(Zeroizing::new(text.iter().copied().map(char::from).collect()))
    }

    fn read_oidc_token(&self, file: &Path) -> Result<Zeroizing<String>, CredentialError> {
        read_token(SecretFile { credential: &self.credential, file, key: "acs3.oidc.tokenFile" }, &self.shown)
    }

    /// Whether a provider may be at this host: not where sessions are given, and in no other region.
    fn check_host(&self, origin: &Origin) -> Result<(), String> {
        let because = "gives sessions of roles, which the host alone asks for; name the endpoint of another product";
        if self.settings.sts_base_url().origin() == *origin {
            return Err(format!("its base URL {origin} {because}"));
        }
        let CanonicalHost::Name(host) = origin.host() else { return Ok(()) };
        let Some(labels) = host.strip_suffix(ALIBABA) else { return Ok(()) };
        let (product, rest) = labels.split_once('.').unwrap_or((labels, ""));
        if STS.contains(&product) {
            return Err(format!("its base URL {origin} {because}"));
        }
        let region = self.settings.region.as_str();
        if !rest.is_empty() && rest != region {
            return Err(format!(
                "its base URL is {origin}, whose name holds another region than {region}, for which its credential signs; correct \
                 one of them"
            ));
        }
        Ok(())
    }
}

impl SigningSource for AcsKeySource {
    const KEY: &'static str = "acs3";

    fn connect(&self, outside: &dyn Connect) -> Result<(), EgressError> {
        let name = &self.credential;
        let sts = self.settings.asks_sts().then(|| RamSts::new(name, &self.settings, outside)).transpose()?;
        let metadata = match &self.settings.keys {
            Acs3Keys::InstanceMetadata { url } => {
                Some(RoleMetadata::new(&format!("instance metadata of credential {name}"), url, outside)?)
            }
            Acs3Keys::Files { .. } | Acs3Keys::Oidc { .. } => None,
        };
        // An egress that is built a second time goes the same ways.
        let _ = self.clients.set(AcsClients { sts, metadata });
        Ok(())
    }

    fn plain_file(&self) -> Option<&Path> {
        match &self.settings {
            Acs3Settings { keys: Acs3Keys::Files { secret_file, .. }, assume_role: None, .. } => Some(secret_file),
            _ => None,
        }
    }

    fn read_plain_file(&self) -> Result<SigningKeys, CredentialError> {
        self.read_files()
    }

    fn secret_file(&self) -> Option<&Path> {
        match &self.settings.keys {
            Acs3Keys::Files { secret_file, .. } => Some(secret_file),
            Acs3Keys::Oidc { token_file, .. } => Some(token_file),
            Acs3Keys::InstanceMetadata { .. } => None,
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
        let region = self.settings.region.as_str();
        if !matches!(endpoint.signing, Some(Signing::Acs3 { .. })) {
            return Err(format!(
                "the credential {name} signs for one version of an API, and needs to know which; write signing: {{ version: … }}, as \
                 in 2014-05-26"
            ));
        }
        match &endpoint.operation {
            Some(OperationPlace::Header(header)) if header.eq_ignore_ascii_case(ACTION) => {}
            _ => {
                return Err(format!(
                    "requests with the credential {name} say what they do in the header {ACTION}; write operation: {{ header: \
                     {ACTION} }}"
                ));
            }
        }
        let named = endpoint.parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case("RegionId"));
        if let Some((_, named)) = named.filter(|(_, it)| it != region) {
            return Err(format!(
                "`parameters` names the region {named}, and the credential {name} signs for {region} alone; correct one of them"
            ));
        }
        let Some(origin) = endpoint.place.base_url().map(BaseUrl::origin) else { return Ok(()) };
        self.check_host(&origin)
    }

    fn sign(
        permitted: Permitted,
        keys: &SigningKeys,
        generation: u64,
        now: SystemTime,
    ) -> Result<Authenticated, String> {
        let endpoint = permitted.endpoint().clone();
        match &endpoint.signing {
            Some(Signing::Acs3 { version }) => sign::signed(permitted, keys, version, generation, now),
            Some(Signing::Sigv4 { .. }) | None => Err("the endpoint has no `signing` for Alibaba Cloud".to_owned()),
        }
    }

    fn refusal(answer: &CompleteAnswer) -> Option<CredentialRefusal> {
        refusal::refusal(answer)
    }

    fn is_throttling(answer: &CompleteAnswer) -> bool {
        refusal::is_throttling(answer)
    }

    fn bears_repetition(refusal: &CredentialRefusal) -> bool {
        refusal::is_about_nonce(refusal)
    }
}
