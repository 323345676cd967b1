//! Looks for signatures in the registry: what refers to the manifest, then the tag that older versions of cosign used.

use std::ops::ControlFlow;

use egress::Transfer;
use sha256::Digest;

use crate::client::RegistryClient;
use crate::descriptor::{self, Descriptor};
use crate::error::{PullError, foreign};
use crate::manifest::Manifest;
use crate::signature::{
    ANNOTATION, BUNDLE, BUNDLE_LIMIT, FoundSignature, PAYLOAD, PAYLOAD_LIMIT, Signed, SignedOnce, is_first,
};

/// How many referrers, and how many signatures under the tag, are looked at.
const REFERRERS: usize = 16;
const TAGGED: usize = 8;
/// How many reasons a refusal has.
const REASONS: usize = 8;

/// A signature of a manifest as a registry stores it. Nothing in it is trusted.
pub(crate) enum Stored {
    /// Where it lies, and what lies there.
    Readable {
        /// For messages: the digest by which the registry names it.
        digest: String,
        found: FoundSignature,
        blob: Vec<u8>,
    },
    /// A sentence that says why it does not count.
    Unreadable(String),
}

/// A signature by one of the keys.
///
/// # Errors
///
/// If there is none, or it cannot be known: then there may be one, and the module is not loaded either.
pub(crate) async fn find(client: &mut RegistryClient, signed: &Signed<'_>) -> Result<SignedOnce, PullError> {
    let mut reasons = Vec::new();
    let mut once = None;
    let looked = each(client, signed.manifest, |stored| match stored {
        Stored::Unreadable(because) => {
            reasons.push(because);
            ControlFlow::Continue(())
        }
        Stored::Readable { digest, found, blob } => match found.verify(&blob, signed) {
            Ok(signer) => {
                once = Some(SignedOnce { signer, found, blob });
                ControlFlow::Break(())
            }
            Err(because) => {
                reasons.push(format!("{digest} {because}"));
                ControlFlow::Continue(())
            }
        },
    });
    looked.await?;
    once.ok_or_else(|| {
        let found = match reasons.len() {
            0 => NONE.to_owned(),
            _ => reasons[..reasons.len().min(REASONS)].join("; "),
        };
        PullError::Refused(format!(
            "no key of {keys} has signed sha256:{}: {found}. Sign it (cosign sign --key), or correct the keys",
            signed.manifest,
            keys = signed.written.keys(),
        ))
    })
}

/// The sentence about a module without signatures.
const NONE: &str = "the registry has no signature of it";

/// Shows `judge` one signature after the other, until it has seen enough.
///
/// # Errors
///
/// If the registry cannot be asked; and, after all others, if it does not hand a signature out.
pub(crate) async fn each(
    client: &mut RegistryClient,
    manifest: Digest,
    judge: impl FnMut(Stored) -> ControlFlow<()>,
) -> Result<(), PullError> {
    let mut search = SignatureSearch { client, manifest, judge, unavailable: None };
    if search.bundles().await?.is_break() || search.tagged().await?.is_break() {
        return Ok(());
    }
    search.unavailable.map_or(Ok(()), Err)
}

struct SignatureSearch<'a, Judge> {
    client: &'a mut RegistryClient,
    manifest: Digest,
    judge: Judge,
    /// Why one of them could not be read, which may be over later.
    unavailable: Option<PullError>,
}

impl<Judge: FnMut(Stored) -> ControlFlow<()>> SignatureSearch<'_, Judge> {
    async fn bundles(&mut self) -> Result<ControlFlow<()>, PullError> {
        let index = match self.client.referrers(self.manifest).await? {
            Some(index) => Some(index),
            None => self.client.tagged(&format!("sha256-{}", self.manifest)).await?,
        };
        let Some(index) = index else { return Ok(ControlFlow::Continue(())) };
        let index: Manifest = serde_json::from_slice(&index)
            .map_err(|error| self.client.refused(&format!("names what refers to the manifest in no index: {error}")))?;
        let mut entries = index.manifests.unwrap_or_default();
        // The index of one registry says the artifact's type, that of another the config's: the others come after.
        entries.sort_by_key(|it| !is_first(it));
        for entry in entries.iter().take(REFERRERS) {
            let read = self.bundle(entry).await;
            if self.show(&entry.digest, read).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// `None`: it is no bundle.
    async fn bundle(&mut self, entry: &Descriptor) -> Result<Option<ReadSignature>, PullError> {
        let digest = match descriptor::digest(&entry.digest) {
            Ok(digest) => digest,
            Err(because) => return Ok(Some(Err(because))),
        };
        let Some(bytes) = self.client.manifest(digest).await? else {
            return Ok(Some(Err("is named and not there".to_owned())));
        };
        let Ok(found) = serde_json::from_slice::<Manifest>(&bytes) else {
            return Ok(Some(Err("is no manifest".to_owned())));
        };
        let layers = found.layers.unwrap_or_default();
        let [layer] = layers.as_slice() else { return Ok(None) };
        if layer.media_type != BUNDLE {
            return Ok(None);
        }
        if found.subject.is_none_or(|it| it.digest != format!("sha256:{}", self.manifest)) {
            return Ok(Some(Err("refers to another manifest".to_owned())));
        }
        self.read(layer, BUNDLE_LIMIT, FoundSignature::Bundle(layer.digest.clone())).await.map(Some)
    }

    async fn tagged(&mut self) -> Result<ControlFlow<()>, PullError> {
        let tag = format!("sha256-{}.sig", self.manifest);
        let Some(bytes) = self.client.tagged(&tag).await? else { return Ok(ControlFlow::Continue(())) };
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| self.client.refused(&format!("has no manifest under the tag {tag}: {error}")))?;
        for layer in manifest.layers.unwrap_or_default().iter().filter(|it| it.media_type == PAYLOAD).take(TAGGED) {
            let Some(signature) = layer.annotations.get(ANNOTATION) else { continue };
            let found = FoundSignature::Payload(layer.digest.clone(), signature.clone());
            let read = self.read(layer, PAYLOAD_LIMIT, found).await;
            if self.show(&layer.digest, read.map(Some)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn read(
        &mut self,
        layer: &Descriptor,
        limit: usize,
        found: FoundSignature,
    ) -> Result<ReadSignature, PullError> {
        match layer.blob(limit) {
            Ok(blob) => Ok(Ok((found, self.client.blob(blob, &Transfer::default()).await?))),
            Err(because) => Ok(Err(because)),
        }
    }

    /// One that cannot be read keeps no other from being looked at.
    fn show(&mut self, digest: &str, read: Result<Option<ReadSignature>, PullError>) -> ControlFlow<()> {
        let digest = foreign(digest);
        let stored = match read {
            Ok(None) => return ControlFlow::Continue(()),
            Ok(Some(Ok((found, blob)))) => Stored::Readable { digest, found, blob },
            Ok(Some(Err(because))) => Stored::Unreadable(format!("{digest} {because}")),
            Err(PullError::Refused(because)) => Stored::Unreadable(because),
            Err(error @ PullError::Unavailable(_)) => {
                self.unavailable = Some(error);
                return ControlFlow::Continue(());
            }
        };
        (self.judge)(stored)
    }
}

/// A signature and its blob, or a clause that says why it does not count.
type ReadSignature = Result<(FoundSignature, Vec<u8>), String>;
