//! Signatures of a manifest, in the two forms of cosign. Pure: what has to be asked for is asked for elsewhere.

mod bundle;
mod payload;
mod signed;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use self::bundle::{ARTIFACT as BUNDLE, LIMIT as BUNDLE_LIMIT, is_first};
pub(crate) use self::payload::{ANNOTATION, LIMIT as PAYLOAD_LIMIT, PAYLOAD};
pub(crate) use self::signed::Signed;

/// Where a signature lies. What it says is not trusted.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum FoundSignature {
    /// A bundle: a blob with everything in it.
    Bundle(String),
    /// The blob that was signed, and its signature in base64.
    Payload(String, String),
}

impl FoundSignature {
    /// The digest of the blob.
    pub(crate) fn digest(&self) -> &str {
        match self {
            Self::Bundle(digest) | Self::Payload(digest, _) => digest,
        }
    }

    /// The most bytes of the blob.
    pub(crate) fn limit(&self) -> usize {
        match self {
            Self::Bundle(_) => BUNDLE_LIMIT,
            Self::Payload(..) => PAYLOAD_LIMIT,
        }
    }

    /// The blob's claim about itself.
    ///
    /// # Errors
    ///
    /// A clause that says why it says nothing.
    pub(crate) fn claim(&self, blob: &[u8]) -> Result<Claim, String> {
        match self {
            Self::Bundle(_) => bundle::key_id(blob).map(Claim::Bundle),
            Self::Payload(..) => payload::reference(blob).map(Claim::Tag),
        }
    }

    /// The signer of the blob: a word for messages, as in `acme.pub (bundle)`.
    ///
    /// # Errors
    ///
    /// A clause that says why it does not count.
    pub(crate) fn verify(&self, blob: &[u8], signed: &Signed<'_>) -> Result<String, String> {
        match self {
            Self::Bundle(_) => bundle::verify(blob, signed).map(|key| format!("{} (bundle)", key.name)),
            Self::Payload(_, signature) => {
                payload::verify(blob, signature, signed).map(|key| format!("{} (tag)", key.name))
            }
        }
    }
}

/// A signature's claim about itself. Anybody can write it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim {
    /// A bundle: which key it is of, as cosign names keys; it may be empty.
    Bundle(String),
    /// A signature under a tag: where it was signed.
    Tag(String),
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundle(key) if key.is_empty() => f.write_str("bundle"),
            Self::Bundle(key) => write!(f, "bundle, key {key}"),
            Self::Tag(name) => write!(f, "tag signature as {name}"),
        }
    }
}

/// A signature that counts.
pub(crate) struct SignedOnce {
    /// As [`FoundSignature::verify`] says it.
    pub(crate) signer: String,
    pub(crate) found: FoundSignature,
    pub(crate) blob: Vec<u8>,
}
