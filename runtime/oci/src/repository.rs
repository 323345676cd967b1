//! A repository for people who have no configuration yet: what it holds, who has signed it, and what is added to it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use egress::Transfer;
use sha256::Digest;

use crate::client::RegistryClient;
use crate::descriptor::Blob;
use crate::error::PullError;
use crate::key::Keys;
use crate::manifest::{self, MANIFEST};
use crate::pushed::{PushedArtifact, PushedInterfaces, pushed};
use crate::reference::Reference;
use crate::remote::{Remote, WrittenIn};
use crate::settings::OutsideWorld;
use crate::signature::{Claim, Signed};
use crate::signatures::{self, Stored};
use crate::token::RepositoryScope;
use crate::upload::{self, ManifestName};

/// A repository, for one command.
pub struct Repository {
    pub(crate) client: RegistryClient,
}

/// A manifest that names one module.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Release {
    /// The digest of the manifest.
    pub digest: Digest,
    /// The digest of the module.
    pub sha256: Digest,
    /// The length of the module in bytes.
    pub size: usize,
    /// The type of the layer that the module is.
    pub media_type: &'static str,
}

/// A signature as the registry has it: nothing in it is trusted.
pub struct Signature(Stored);

impl Repository {
    /// To read. The login is read, and nobody is asked yet.
    ///
    /// # Errors
    ///
    /// A sentence that says which of the operator's files cannot be used.
    pub async fn open(remote: Remote, outside: &OutsideWorld) -> Result<Self, PullError> {
        Ok(Self { client: RegistryClient::new(remote, outside, RepositoryScope::Pull).await? })
    }

    /// To push.
    ///
    /// # Errors
    ///
    /// As [`Repository::open`].
    pub async fn open_for_push(remote: Remote, outside: &OutsideWorld) -> Result<Self, PullError> {
        Ok(Self { client: RegistryClient::new(remote, outside, RepositoryScope::Push).await? })
    }

    /// The release that a reference means now. A tag means something else later.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such manifest, or if it names no single module.
    pub async fn find(&mut self, reference: &Reference) -> Result<Release, PullError> {
        let bytes = self.manifest_of(reference).await?;
        let digest = Digest::of(&bytes);
        let refused = |because| PullError::Refused(format!("{} {because}", reference.pinned(digest)));
        let (Blob { digest: sha256, size }, media_type) = manifest::layer(&bytes).map_err(refused)?;
        Ok(Release { digest, sha256, size, media_type })
    }

    /// The bytes of the manifest or index that a reference means now.
    pub(crate) async fn manifest_of(&mut self, reference: &Reference) -> Result<Vec<u8>, PullError> {
        let tag = reference.image.tag();
        match (reference.digest, tag) {
            (Some(digest), _) => self.client.pinned(digest).await,
            (None, Some(tag)) => self.client.tagged(tag).await?.ok_or_else(|| {
                let repository = reference.image.repository();
                self.client.refused(&format!("has nothing under the tag {tag} in {repository}; correct the reference"))
            }),
            (None, None) => Err(PullError::Refused(format!(
                "{reference} names neither a tag nor a digest; write which version is meant, as in {reference}:1.2.0"
            ))),
        }
    }

    /// The module's bytes, which are counted while they come.
    ///
    /// # Errors
    ///
    /// A sentence, if they do not come, or are others than the manifest names.
    pub async fn module(&mut self, release: &Release, transfer: &Transfer) -> Result<Vec<u8>, PullError> {
        self.client.blob(Blob { digest: release.sha256, size: release.size }, transfer).await
    }

    /// The first signatures of a manifest that the registry has.
    ///
    /// # Errors
    ///
    /// A sentence, if it cannot be known whether there are some.
    pub async fn signatures(&mut self, manifest: Digest) -> Result<Vec<Signature>, PullError> {
        let mut all = Vec::new();
        let each = signatures::each(&mut self.client, manifest, |stored| {
            all.push(Signature(stored));
            ControlFlow::Continue(())
        });
        each.await?;
        Ok(all)
    }

    /// Stores a module under the reference's tag, or under its digest alone. The same module gets the same digest,
    /// and what is there already is not sent again.
    ///
    /// # Errors
    ///
    /// A sentence, if the registry does not take it, or if the reference wants another digest.
    pub async fn push(
        &mut self,
        reference: &Reference,
        module: Vec<u8>,
        interfaces: &PushedInterfaces,
        transfer: &Transfer,
    ) -> Result<Release, PullError> {
        let PushedArtifact { config, manifest } = pushed(&module, interfaces, BTreeMap::new());
        let digest = Digest::of(&manifest);
        if let Some(wanted) = reference.digest.filter(|it| *it != digest) {
            return Err(PullError::Refused(format!(
                "the manifest of this module is sha256:{digest}, and the reference wants sha256:{wanted}; leave the digest \
                 out, or push the module that it was made for"
            )));
        }
        let (sha256, size) = (Digest::of(&module), module.len());
        upload::blob(&mut self.client, Bytes::from(module), transfer).await?;
        upload::blob(&mut self.client, Bytes::from(config), &Transfer::default()).await?;
        let name = ManifestName { media_type: MANIFEST, tag: reference.image.tag() };
        upload::manifest(&mut self.client, manifest.into(), &name).await?;
        Ok(Release { digest, sha256, size, media_type: manifest::WASM[0] })
    }

    /// `host[:port]/repository`: the name under which a module is signed there.
    #[must_use]
    pub fn name(&self) -> String {
        self.client.remote().image.name()
    }
}

impl Signature {
    /// The signature's claim about itself, unverified; the error is a sentence.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn claim(&self) -> Result<Claim, String> {
        match &self.0 {
            Stored::Unreadable(because) => Err(because.clone()),
            Stored::Readable { digest, found, blob } => found.claim(blob).map_err(|it| format!("{digest} {it}")),
        }
    }

    /// The signer of `manifest`, if this is its signature: `acme.pub (bundle)`. `name` is where the manifest was signed.
    ///
    /// # Errors
    ///
    /// A sentence that says why it does not count.
    pub fn verify(&self, manifest: Digest, name: &str, keys: &Keys) -> Result<String, String> {
        let written = WrittenIn::CommandLine;
        match &self.0 {
            Stored::Unreadable(because) => Err(because.clone()),
            Stored::Readable { digest, found, blob } => {
                let signed = Signed { manifest, name, keys: &keys.0, written };
                found.verify(blob, &signed).map_err(|because| format!("{digest} {because}"))
            }
        }
    }
}
