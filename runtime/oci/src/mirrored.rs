//! Whole artifacts on their ways from a registry into a file, and from a file to a registry, with all that refers to them.

use std::collections::BTreeSet;

use egress::Transfer;
use serde_json::{Value, json};
use sha256::Digest;

use crate::descriptor::{self, Blob, Descriptor};
use crate::error::{PullError, foreign};
use crate::layout::artifacts::{NamedArtifact, StoredManifest};
use crate::layout::{BLOB, Layout, LayoutName};
use crate::manifest::{INDEX, MANIFEST, Manifest};
use crate::reference::Reference;
use crate::repository::Repository;
use crate::upload::{self, ManifestName, SubjectSeen};

/// The most manifests that refer to one.
const REFERRERS: usize = 64;

impl Repository {
    /// Stores an artifact of a layout, and what refers to it. The tag comes after everything that it names.
    ///
    /// # Errors
    ///
    /// A sentence, if the registry does not take it.
    pub async fn put(
        &mut self,
        layout: &Layout,
        artifact: &NamedArtifact,
        transfer: &Transfer,
    ) -> Result<(), PullError> {
        let (last, below) = artifact.manifests.split_last().expect("a name has a manifest");
        let tag = self.client.remote().image.tag().map(str::to_owned);
        for manifest in below {
            self.put_manifest(layout, manifest, None, transfer).await?;
        }
        self.put_manifest(layout, last, tag.as_deref(), transfer).await?;
        for referrer in &artifact.referrers {
            let seen = self.put_manifest(layout, referrer, None, transfer).await?;
            if let (SubjectSeen::No, Some(subject)) = (seen, referrer.subject) {
                self.list_referrer(subject, referrer).await?;
            }
        }
        Ok(())
    }

    async fn put_manifest(
        &mut self,
        layout: &Layout,
        manifest: &StoredManifest,
        tag: Option<&str>,
        transfer: &Transfer,
    ) -> Result<SubjectSeen, PullError> {
        for digest in &manifest.blobs {
            upload::blob(&mut self.client, layout.bytes(*digest), transfer).await?;
        }
        let name = ManifestName { media_type: &manifest.descriptor.media_type, tag };
        upload::manifest(&mut self.client, layout.bytes(manifest.digest), &name).await
    }

    /// Adds a referrer to the index under the tag that stands for a list of referrers, where a registry has none.
    async fn list_referrer(&mut self, subject: Digest, referrer: &StoredManifest) -> Result<(), PullError> {
        let tag = referrers_tag(subject);
        let mut index = match self.client.tagged(&tag).await? {
            None => json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] }),
            Some(bytes) => serde_json::from_slice::<Value>(&bytes)
                .map_err(|error| self.client.refused(&format!("has no index under the tag {tag}: {error}")))?,
        };
        let Some(manifests) = index.get_mut("manifests").and_then(Value::as_array_mut) else {
            return Err(self.client.refused(&format!("has no index under the tag {tag}; look who has put it there")));
        };
        if manifests.iter().any(|it| it["digest"] == referrer.descriptor.digest) {
            return Ok(());
        }
        let entry = Descriptor { annotations: referrer.annotations.clone(), ..referrer.descriptor.clone() };
        manifests.push(serde_json::to_value(entry).expect("texts become JSON"));
        let name = ManifestName { media_type: INDEX, tag: Some(&tag) };
        upload::manifest(&mut self.client, index.to_string().into(), &name).await.map(|_| ())
    }

    /// Reads an artifact, and what refers to it, into a layout.
    ///
    /// # Errors
    ///
    /// A sentence, if it is not there, or not what its digests say, or too much for one file.
    pub async fn save(
        &mut self,
        reference: &Reference,
        layout: &mut Layout,
        transfer: &Transfer,
    ) -> Result<Digest, PullError> {
        let bytes = self.manifest_of(reference).await?;
        let (digest, name) = (Digest::of(&bytes), LayoutName::of(&reference.image));
        let manifest = self.read(digest, &bytes)?;
        let mut digests = vec![digest];
        for child in manifest.manifests.iter().flatten() {
            let digest = descriptor::digest(&child.digest).map_err(|because| self.client.refused(&because))?;
            self.save_manifest(digest, layout, transfer).await?;
            digests.push(digest);
        }
        let descriptor = self.save_bytes(digest, bytes, layout, transfer).await?;
        layout.add_name(&name, descriptor);
        for digest in digests.iter().copied().collect::<BTreeSet<_>>() {
            self.save_referrers(digest, layout, transfer).await?;
        }
        // As older versions of cosign sign.
        let tag = format!("sha256-{digest}.sig");
        if let Some(bytes) = self.client.tagged(&tag).await? {
            let descriptor = self.save_bytes(Digest::of(&bytes), bytes, layout, transfer).await?;
            layout.add_name(&name.tagged(&tag), descriptor);
        }
        Ok(digest)
    }

    async fn save_referrers(
        &mut self,
        subject: Digest,
        layout: &mut Layout,
        transfer: &Transfer,
    ) -> Result<(), PullError> {
        let index = match self.client.referrers(subject).await? {
            Some(index) => Some(index),
            None => self.client.tagged(&referrers_tag(subject)).await?,
        };
        let Some(index) = index else { return Ok(()) };
        let entries = self.read(subject, &index)?.manifests.unwrap_or_default();
        if entries.len() > REFERRERS {
            let because =
                format!("names {} referrers of sha256:{subject}, and {REFERRERS} are the most", entries.len());
            return Err(self.client.refused(&because));
        }
        for entry in entries {
            let digest = descriptor::digest(&entry.digest).map_err(|because| self.client.refused(&because))?;
            let descriptor = self.save_manifest(digest, layout, transfer).await?;
            layout.add_nameless(descriptor);
        }
        Ok(())
    }

    async fn save_manifest(
        &mut self,
        digest: Digest,
        layout: &mut Layout,
        transfer: &Transfer,
    ) -> Result<Descriptor, PullError> {
        let bytes = self.client.manifest(digest).await?;
        let bytes =
            bytes.ok_or_else(|| self.client.refused(&format!("names sha256:{digest}, and has no such manifest")))?;
        self.save_bytes(digest, bytes, layout, transfer).await
    }

    /// A manifest, and the blobs that it names.
    async fn save_bytes(
        &mut self,
        digest: Digest,
        bytes: Vec<u8>,
        layout: &mut Layout,
        transfer: &Transfer,
    ) -> Result<Descriptor, PullError> {
        let Manifest { media_type, config, layers, manifests, artifact_type, .. } = self.read(digest, &bytes)?;
        for blob in config.iter().chain(layers.iter().flatten()) {
            let Blob { digest: named, size } = blob
                .blob(BLOB)
                .map_err(|because| self.client.refused(&format!("has sha256:{digest} with a blob that {because}")))?;
            if layout.has(named) {
                continue;
            }
            layout.check_room(size).map_err(|because| self.client.refused(&format!("has a blob that {because}")))?;
            let bytes = self.client.blob(Blob { digest: named, size }, transfer).await?;
            layout.add_blob(&blob.media_type, bytes);
        }
        let kind = media_type.unwrap_or_else(|| if manifests.is_some() { INDEX } else { MANIFEST }.to_owned());
        layout
            .check_room(bytes.len())
            .map_err(|because| self.client.refused(&format!("has a manifest that {because}")))?;
        Ok(Descriptor { artifact_type, ..layout.add_blob(&kind, bytes) })
    }

    fn read(&self, digest: Digest, bytes: &[u8]) -> Result<Manifest, PullError> {
        serde_json::from_slice(bytes).map_err(|error| {
            self.client.refused(&format!("has no manifest at sha256:{digest}: {}", foreign(&error.to_string())))
        })
    }
}

/// The tag that stands for a list of referrers.
fn referrers_tag(subject: Digest) -> String {
    format!("sha256-{subject}")
}
