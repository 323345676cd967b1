//! Whether one of a person's keys has signed a module.

use std::path::PathBuf;

use anyhow::Result;
use oci::{Keys, Reference, Repository, Signature, WrittenIn};
use sandbox::Digest;

/// The keys, and the name under which the module was signed.
pub(super) struct Signers {
    keys: Keys,
    name: Option<String>,
}

impl Signers {
    /// Reads the keys; `None` without any.
    pub(super) async fn read(paths: &[PathBuf], name: Option<String>) -> Result<Option<Self>> {
        if paths.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { keys: Keys::read(paths, WrittenIn::CommandLine).await?, name }))
    }

    /// By whom a signature of `manifest` is, or why it does not count: a sentence.
    pub(super) fn judge(
        &self,
        signature: &Signature,
        manifest: Digest,
        repository: &Repository,
    ) -> Result<String, String> {
        let own = repository.name();
        signature.verify(manifest, self.name.as_deref().unwrap_or(&own), &self.keys)
    }

    /// By whom one of the signatures is, or why none of them counts: a sentence for each.
    pub(super) fn one(
        &self,
        signatures: &[Signature],
        reference: &Reference,
        manifest: Digest,
        repository: &Repository,
    ) -> Result<String, Vec<String>> {
        let mut reasons = Vec::new();
        for signature in signatures {
            match self.judge(signature, manifest, repository) {
                Ok(signer) => return Ok(signer),
                Err(because) => reasons.push(because),
            }
        }
        if reasons.is_empty() {
            let reference = reference.pinned(manifest);
            reasons.push(format!("nobody has signed {reference}; sign it: cosign sign --key=… {reference}"));
        }
        Err(reasons)
    }
}
