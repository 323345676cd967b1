//! The artifacts of a layout, once everything that they name is there. Pure.

use std::collections::{BTreeMap, BTreeSet};

use sha256::Digest;

use super::{BLOB, Layout, LayoutName, NAME};
use crate::descriptor::{self, Descriptor};
use crate::error::foreign;
use crate::manifest::{self, ACCEPTED, Manifest};

/// The most manifests of one index, the most entries, and the most manifests of all of these: each is read once for each place.
const MANIFESTS: usize = 32;
const ENTRIES: usize = 256;
const READ: usize = 512;
/// The most layers of a manifest.
const LAYERS: usize = 128;

/// An artifact with a name, and all that belongs to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedArtifact {
    /// Its name.
    pub name: LayoutName,
    /// Its manifests: those of an index, and last the one that has the name.
    pub(crate) manifests: Vec<StoredManifest>,
    /// The manifests that refer to one of these.
    pub(crate) referrers: Vec<StoredManifest>,
}

/// A manifest, and what has to be in a registry before it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StoredManifest {
    pub(crate) descriptor: Descriptor,
    pub(crate) digest: Digest,
    pub(crate) blobs: Vec<Digest>,
    pub(crate) subject: Option<Digest>,
    /// Its own words, which an index of referrers repeats.
    pub(crate) annotations: BTreeMap<String, String>,
}

impl NamedArtifact {
    /// The digest of the manifest that has the name.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.manifests.last().expect("a name has a manifest").digest
    }
}

impl Layout {
    /// All that has a name.
    ///
    /// # Errors
    ///
    /// A clause, if something is missing, or is named by nobody, or is not what its name says.
    pub fn artifacts(&self) -> Result<Vec<NamedArtifact>, String> {
        if self.entries.len() > ENTRIES {
            return Err(format!("names {} things, and {ENTRIES} are the most", self.entries.len()));
        }
        let mut named: BTreeMap<LayoutName, Vec<StoredManifest>> = BTreeMap::new();
        let (mut referrers, mut read) = (Vec::new(), 0);
        for entry in &self.entries {
            let mut manifests = Vec::new();
            self.collect(entry, &mut manifests)?;
            read += manifests.len();
            if read > READ {
                return Err(format!("names more than {READ} manifests"));
            }
            let subject = manifests.last().and_then(|it| it.subject);
            match (entry.annotations.get(NAME), subject) {
                (Some(name), _) => {
                    if named.insert(LayoutName::parse(name)?, manifests).is_some() {
                        return Err(format!("has two things of the name {}", foreign(name)));
                    }
                }
                (None, Some(_)) => referrers.append(&mut manifests),
                (None, None) => {
                    return Err(format!("holds {}, which has no name and refers to nothing", foreign(&entry.digest)));
                }
            }
        }
        if named.is_empty() {
            return Err("names no artifact".to_owned());
        }
        if let Some(lost) =
            referrers.iter().find(|it| !named.values().flatten().any(|manifest| it.subject == Some(manifest.digest)))
        {
            return Err(format!("holds sha256:{}, which refers to what is not there", lost.digest));
        }
        self.check_named(named.values().flatten().chain(&referrers))?;
        let artifact = |(name, manifests): (LayoutName, Vec<StoredManifest>)| {
            let is_own = |it: &&StoredManifest| manifests.iter().any(|manifest| it.subject == Some(manifest.digest));
            let referrers = referrers.iter().filter(is_own).cloned().collect();
            NamedArtifact { name, manifests, referrers }
        };
        Ok(named.into_iter().map(artifact).collect())
    }

    /// The manifests below this one, and itself.
    fn collect(&self, entry: &Descriptor, into: &mut Vec<StoredManifest>) -> Result<(), String> {
        let mut manifest = self.manifest(entry)?;
        let children = manifest.manifests.take().unwrap_or_default();
        if children.len() > MANIFESTS {
            return Err(format!("holds {}, an index of more than {MANIFESTS} manifests", entry.digest));
        }
        for child in &children {
            let below = self.manifest(child)?;
            if below.manifests.is_some() {
                return Err(format!("holds {}, an index in an index", child.digest));
            }
            into.push(self.stored(child, below)?);
        }
        into.push(self.stored(entry, manifest)?);
        Ok(())
    }

    fn manifest(&self, descriptor: &Descriptor) -> Result<Manifest, String> {
        let shown = foreign(&descriptor.digest);
        let bytes = self.get(descriptor, manifest::LIMIT)?;
        let refused = |because: &str| format!("holds {shown}, which {because}");
        let manifest: Manifest =
            serde_json::from_slice(bytes).map_err(|error| refused(&format!("is no manifest: {error}")))?;
        if !ACCEPTED.split(", ").any(|it| it == descriptor.media_type) {
            return Err(refused(&format!("is named as {}, which is no manifest", foreign(&descriptor.media_type))));
        }
        if manifest.media_type.as_ref().is_some_and(|it| *it != descriptor.media_type) {
            return Err(refused("calls itself otherwise than it is called"));
        }
        if manifest.layers.as_ref().is_some_and(|it| it.len() > LAYERS) {
            return Err(refused(&format!("has more than {LAYERS} layers")));
        }
        if manifest.manifests.is_some() && (manifest.layers.is_some() || manifest.config.is_some()) {
            return Err(refused("is a manifest and an index at once, so that two readers would load two things"));
        }
        Ok(manifest)
    }

    fn stored(&self, descriptor: &Descriptor, manifest: Manifest) -> Result<StoredManifest, String> {
        let mut blobs = Vec::new();
        for blob in manifest.config.iter().chain(manifest.layers.iter().flatten()) {
            self.get(blob, BLOB)?;
            blobs.push(descriptor::digest(&blob.digest)?);
        }
        Ok(StoredManifest {
            digest: descriptor::digest(&descriptor.digest)?,
            descriptor: descriptor.clone(),
            blobs,
            subject: manifest.subject.map(|it| descriptor::digest(&it.digest)).transpose()?,
            annotations: manifest.annotations,
        })
    }

    /// Refuses what nothing names.
    fn check_named<'a>(&self, manifests: impl Iterator<Item = &'a StoredManifest>) -> Result<(), String> {
        let named: BTreeSet<_> = manifests.flat_map(|it| it.blobs.iter().copied().chain([it.digest])).collect();
        match self.blobs.keys().find(|it| !named.contains(it)) {
            None => Ok(()),
            Some(lost) => Err(format!("holds sha256:{lost}, which nothing names")),
        }
    }
}
