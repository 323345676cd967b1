//! Artifacts beside one another, in the form that the OCI has for folders and files (image layout): an index with their names,
//! and blobs by their digests. Pure: the same artifacts make the same bytes.

mod archive;
pub(crate) mod artifacts;
mod name;

use std::collections::BTreeMap;

use bytes::Bytes;
use sha256::Digest;

pub use self::name::LayoutName;
use crate::descriptor::Descriptor;
use crate::manifest::{self, INDEX, MANIFEST};
use crate::pushed::{self, NewManifest, PushedArtifact, PushedInterfaces};

/// The most bytes of all blobs, and so of a file with them: it is held in memory.
const SIZE: usize = 256 << 20;
/// The largest blob, in bytes.
pub(crate) const BLOB: usize = 64 << 20;

/// The annotation of an entry that names it.
const NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation of a layer with the name of the file that it is.
const TITLE: &str = "org.opencontainers.image.title";
/// The empty config of artifacts that have none.
const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");

/// Artifacts beside one another.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Layout {
    entries: Vec<Descriptor>,
    blobs: BTreeMap<Digest, Bytes>,
}

impl Layout {
    /// Adds a blob, which a manifest has to name.
    pub fn add_blob(&mut self, media_type: &str, bytes: impl Into<Bytes>) -> Descriptor {
        let bytes = bytes.into();
        let descriptor = Descriptor::of(media_type, &bytes);
        self.blobs.insert(Digest::of(&bytes), bytes);
        descriptor
    }

    /// Adds a manifest, which has to get a name, or a place in an index.
    pub fn add_manifest(&mut self, manifest: &NewManifest) -> Descriptor {
        let descriptor = self.add_blob(MANIFEST, manifest.bytes());
        Descriptor { artifact_type: manifest.artifact_type.clone(), ..descriptor }
    }

    /// Adds an index of manifests, which has to get a name.
    pub fn add_index(&mut self, manifests: &[Descriptor], annotations: &BTreeMap<String, String>) -> Descriptor {
        self.add_blob(INDEX, pushed::index(manifests, annotations))
    }

    /// Adds a module with its manifest, which has to get a name.
    pub fn add_module(
        &mut self,
        module: Vec<u8>,
        interfaces: &PushedInterfaces,
        annotations: BTreeMap<String, String>,
    ) -> Descriptor {
        let PushedArtifact { config, manifest } = pushed::pushed(&module, interfaces, annotations);
        self.add_blob(manifest::WASM[0], module);
        self.add_blob(pushed::CONFIG, config);
        self.add_blob(MANIFEST, manifest)
    }

    /// Adds a document about a manifest: an SBOM, a statement about its making.
    pub fn add_referrer(&mut self, subject: &Descriptor, media_type: &str, title: &str, bytes: impl Into<Bytes>) {
        let mut layer = self.add_blob(media_type, bytes);
        layer.annotations.insert(TITLE.to_owned(), title.to_owned());
        let manifest = NewManifest {
            artifact_type: Some(media_type.to_owned()),
            config: self.add_blob(EMPTY.0, EMPTY.1),
            layers: vec![layer],
            subject: Some(subject.bare()),
            annotations: BTreeMap::new(),
        };
        let descriptor = self.add_manifest(&manifest);
        self.enter(descriptor);
    }

    /// Names a manifest or an index.
    pub fn add_name(&mut self, name: &LayoutName, mut descriptor: Descriptor) {
        descriptor.annotations.insert(NAME.to_owned(), name.to_string());
        self.enter(descriptor);
    }

    /// Enters an image for container runtimes, which know it by its tag alone.
    pub fn add_entry(&mut self, tag: &str, mut descriptor: Descriptor) {
        descriptor.annotations.insert(NAME.to_owned(), tag.to_owned());
        self.enter(descriptor);
    }

    /// As many bytes as all blobs have.
    #[must_use]
    pub fn size(&self) -> usize {
        self.blobs.values().map(Bytes::len).sum()
    }

    /// Enters what refers to something else.
    pub(crate) fn add_nameless(&mut self, descriptor: Descriptor) {
        self.enter(descriptor);
    }

    /// The bytes of a blob that is there.
    pub(crate) fn bytes(&self, digest: Digest) -> Bytes {
        self.blobs.get(&digest).cloned().expect("an artifact has all of its blobs")
    }

    fn enter(&mut self, descriptor: Descriptor) {
        if !self.entries.contains(&descriptor) {
            self.entries.push(descriptor);
        }
    }

    /// The blob that this describes.
    ///
    /// # Errors
    ///
    /// A clause, if it is not there, or has another length.
    pub(crate) fn get(&self, descriptor: &Descriptor, limit: usize) -> Result<&Bytes, String> {
        let wanted = descriptor.blob(limit)?;
        let bytes = self
            .blobs
            .get(&wanted.digest)
            .ok_or_else(|| format!("names sha256:{}, which is not there", wanted.digest))?;
        match bytes.len() == wanted.size {
            true => Ok(bytes),
            false => {
                Err(format!("says that sha256:{} has {} bytes, and it has {}", wanted.digest, wanted.size, bytes.len()))
            }
        }
    }

    pub(crate) fn has(&self, digest: Digest) -> bool {
        self.blobs.contains_key(&digest)
    }

    /// Refuses a further blob that would be too much.
    ///
    /// # Errors
    ///
    /// A clause.
    pub(crate) fn check_room(&self, further: usize) -> Result<(), String> {
        match self.size().saturating_add(further) <= SIZE {
            true => Ok(()),
            false => Err(format!("would make more than {} MiB in one file; save less at once", SIZE >> 20)),
        }
    }
}

#[cfg(test)]
mod tests;
