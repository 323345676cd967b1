//! From the configured digest to a module's bytes: folder or registry, manifest, signature, module.

use std::time::Duration;

use egress::Transfer;
use sha256::Digest;
use tokio::time::timeout;
use tracing::warn;

use crate::cache::Cache;
use crate::client::RegistryClient;
use crate::descriptor::{self, Blob};
use crate::error::PullError;
use crate::key::Keys;
use crate::manifest;
use crate::remote::WrittenIn;
use crate::settings::{ModuleSettings, OutsideWorld, SignedBy};
use crate::signature::{Signed, SignedOnce};
use crate::signatures;
use crate::token::RepositoryScope;

/// Pulls one module.
pub struct Puller {
    settings: ModuleSettings,
    outside: OutsideWorld,
    cache: Option<Cache>,
    /// The digest of a manifest that the folder keeps beside the configured ones.
    serving: Option<Digest>,
}

/// A module that is what the operator has configured, signed by whom the operator trusts.
#[derive(Debug)]
pub struct Artifact {
    /// The module.
    pub bytes: Vec<u8>,
    /// The digest of these bytes.
    pub sha256: Digest,
    /// Which key has signed the manifest, and in which form; `None` if nobody has to.
    pub signer: Option<String>,
    /// The registry was not asked.
    pub is_cached: bool,
}

impl Puller {
    /// Asks nobody yet.
    #[must_use]
    pub fn new(settings: ModuleSettings, outside: OutsideWorld, cache: Option<Cache>) -> Self {
        Self { settings, outside, cache, serving: None }
    }

    /// With the digest of the manifest of what serves meanwhile: the folder keeps it beside `digest` and `previous`.
    #[must_use]
    pub fn keeping(self, serving: Option<Digest>) -> Self {
        Self { serving, ..self }
    }

    /// How messages call the module: by its name for people and the digest that decides.
    #[must_use]
    pub fn name(&self) -> String {
        format!("module {}@sha256:{}", self.settings.image, self.settings.digest)
    }

    /// Gets the module, and verifies it, from the folder too.
    ///
    /// # Errors
    ///
    /// A sentence that names the module, the cause and the next step.
    pub async fn pull(&self) -> Result<Artifact, PullError> {
        let name = self.name();
        let pulled = timeout(self.outside.total, self.pull_all()).await;
        match pulled.unwrap_or_else(|_| Err(PullError::Unavailable(late(self.outside.total)))) {
            Ok(artifact) => Ok(artifact),
            Err(PullError::Refused(because)) => Err(PullError::Refused(format!("{name} is refused: {because}"))),
            Err(PullError::Unavailable(because)) => {
                Err(PullError::Unavailable(format!("{name} cannot be pulled: {because}")))
            }
        }
    }

    async fn pull_all(&self) -> Result<Artifact, PullError> {
        // Taking a key away counts from the next load on, whatever lies in the folder.
        let paths = self.settings.signed_by.as_ref().map_or(&[][..], |it| &it.keys);
        let keys = Keys::read(paths, WrittenIn::CloudConfig).await?;
        let mut pull = Pull { puller: self, client: None };
        let (manifest, blob) = pull.manifest().await?;
        let signed = match &self.settings.signed_by {
            None => None,
            Some(SignedBy { name, .. }) => {
                let own = self.settings.image.name();
                let name = name.as_deref().unwrap_or(&own);
                let (manifest, written) = (self.settings.digest, WrittenIn::CloudConfig);
                Some(pull.signer(&Signed { manifest, name, keys: &keys.0, written }).await?)
            }
        };
        let bytes = pull.blob(blob).await?;
        let is_cached = pull.client.is_none();
        if let Some(cache) = self.cache.as_ref().filter(|_| !is_cached) {
            self.keep(cache, &manifest, blob, &bytes, signed.as_ref()).await;
        }
        Ok(Artifact { bytes, sha256: blob.digest, signer: signed.map(|it| it.signer), is_cached })
    }

    async fn keep(&self, cache: &Cache, manifest: &[u8], blob: Blob, bytes: &[u8], signed: Option<&SignedOnce>) {
        let digest = self.settings.digest;
        cache.put(digest, manifest).await;
        cache.put(blob.digest, bytes).await;
        if let Some(SignedOnce { found, blob, .. }) = signed {
            cache.put(Digest::of(blob), blob).await;
            cache.put_signature(digest, found).await;
        }
        let needed: Vec<_> = [digest].into_iter().chain(self.settings.previous).chain(self.serving).collect();
        cache.prune(&needed).await;
    }
}

/// One pull: the registry is asked only for what the folder has not.
struct Pull<'a> {
    puller: &'a Puller,
    client: Option<RegistryClient>,
}

impl Pull<'_> {
    async fn client(&mut self) -> Result<&mut RegistryClient, PullError> {
        if self.client.is_none() {
            let Puller { settings, outside, .. } = self.puller;
            self.client = Some(RegistryClient::new(settings.remote(), outside, RepositoryScope::Pull).await?);
        }
        Ok(self.client.as_mut().expect("it was made just now"))
    }

    async fn cached(&self, digest: Digest, limit: usize) -> Option<Vec<u8>> {
        self.puller.cache.as_ref()?.get(digest, limit).await
    }

    async fn manifest(&mut self) -> Result<(Vec<u8>, Blob), PullError> {
        let digest = self.puller.settings.digest;
        let bytes = match self.cached(digest, manifest::LIMIT).await {
            Some(bytes) => bytes,
            None => self.client().await?.pinned(digest).await?,
        };
        let blob = manifest::module(&bytes).map_err(|because| PullError::Refused(format!("it {because}")))?;
        Ok((bytes, blob))
    }

    async fn blob(&mut self, blob: Blob) -> Result<Vec<u8>, PullError> {
        match self.cached(blob.digest, blob.size).await {
            // A file with this digest and another length is not what the manifest names.
            Some(bytes) if bytes.len() == blob.size => Ok(bytes),
            _ => self.client().await?.blob(blob, &Transfer::default()).await,
        }
    }

    /// A signature by one of the keys, from the folder or from the registry.
    async fn signer(&mut self, signed: &Signed<'_>) -> Result<SignedOnce, PullError> {
        if let Some(once) = self.cached_signer(signed).await {
            return Ok(once);
        }
        signatures::find(self.client().await?, signed).await
    }

    async fn cached_signer(&self, signed: &Signed<'_>) -> Option<SignedOnce> {
        let cache = self.puller.cache.as_ref()?;
        for found in cache.signatures(signed.manifest).await {
            let Ok(digest) = descriptor::digest(found.digest()) else { continue };
            let Some(blob) = cache.get(digest, found.limit()).await else { continue };
            match found.verify(&blob, signed) {
                Ok(signer) => return Some(SignedOnce { signer, found, blob }),
                Err(because) => warn!("a signature in --module-cache {because}; the registry is asked"),
            }
        }
        None
    }
}

fn late(total: Duration) -> String {
    format!("the registry was not done within {total:?}")
}
