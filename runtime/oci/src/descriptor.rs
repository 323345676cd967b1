//! A blob as a manifest or an index names it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha256::Digest;

use crate::error::foreign;

/// A blob: how long it is, and what it must be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    pub(crate) size: usize,
}

/// Reads `sha256:` and 64 digits in lower case, the one spelling that a registry has.
pub(crate) fn digest(text: &str) -> Result<Digest, String> {
    let digest = text.strip_prefix("sha256:").and_then(|it| Digest::parse(it).ok());
    digest
        .filter(|it| format!("sha256:{it}") == text)
        .ok_or_else(|| format!("has the digest {:?}, which is no sha256", foreign(text)))
}

/// A blob as a manifest or an index names it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The type of its bytes.
    pub media_type: String,
    /// `sha256:` and 64 digits; what others have written may be anything.
    pub digest: String,
    /// How many bytes there are.
    pub size: u64,
    /// The type of the artifact, where the blob is an artifact's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The machines that an image is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Words for people and programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The machines that an image is for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Platform {
    /// `amd64`, `arm64`.
    pub architecture: String,
    /// `linux`.
    pub os: String,
}

impl Descriptor {
    /// Describes these bytes.
    #[must_use]
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: format!("sha256:{}", Digest::of(bytes)),
            size: bytes.len() as u64,
            artifact_type: None,
            platform: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Itself without words and types: the subject of a referrer.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { artifact_type: None, platform: None, annotations: BTreeMap::new(), ..self.clone() }
    }

    /// The blob, if it may be read.
    ///
    /// # Errors
    ///
    /// A clause.
    pub(crate) fn blob(&self, limit: usize) -> Result<Blob, String> {
        let digest = digest(&self.digest)?;
        let size = usize::try_from(self.size)
            .ok()
            .filter(|it| (1..=limit).contains(it))
            .ok_or_else(|| format!("has {} bytes; {} are the most", self.size, limit))?;
        Ok(Blob { digest, size })
    }
}
