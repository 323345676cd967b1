//! Who has signed a manifest, in the two forms of cosign. Pure: what has to be asked for is asked for elsewhere.

mod bundle;
mod payload;
mod signed;

use serde::{Deserialize, Serialize};

pub(crate) use self::bundle::{ARTIFACT as BUNDLE, LIMIT as BUNDLE_LIMIT, is_first};
pub(crate) use self::payload::{ANNOTATION, LIMIT as PAYLOAD_LIMIT, PAYLOAD};
pub(crate) use self::signed::Signed;

/// Where a signature lies. What it says is not trusted.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Found {
    /// A bundle: a blob with everything in it.
    Bundle(String),
    /// What was signed, as a blob, and its signature in base64.
    Payload(String, String),
}

impl Found {
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

    /// Whose signature the blob is: a word for messages, as in `acme.pub (bundle)`.
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

/// A signature that counts.
pub(crate) struct SignedOnce {
    /// As [`Found::verify`] says it.
    pub(crate) signer: String,
    pub(crate) found: Found,
    pub(crate) blob: Vec<u8>,
}
