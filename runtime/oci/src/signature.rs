//! Who has signed a manifest, in the two forms of cosign. Pure: what has to be asked for is asked for elsewhere.

mod bundle;
mod payload;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha256::Digest;

use crate::key::Key;

pub(crate) use self::bundle::{ARTIFACT as BUNDLE, LIMIT as BUNDLE_LIMIT, is_first};
pub(crate) use self::payload::{ANNOTATION, LIMIT as PAYLOAD_LIMIT, PAYLOAD};

/// What a signature has to be of.
pub(crate) struct Signed<'a> {
    /// The configured digest.
    pub(crate) manifest: Digest,
    /// The name under which it was signed: `host[:port]/repository`.
    pub(crate) name: &'a str,
    /// Any of these.
    pub(crate) keys: &'a [Key],
}

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

/// The key that has signed these bytes. This comes before anything in them is read.
fn signer<'a>(bytes: &[u8], signature: &str, signed: &Signed<'a>) -> Result<&'a Key, String> {
    let signature = STANDARD.decode(signature).map_err(|_| "has a signature that is not base64".to_owned())?;
    let key = signed.keys.iter().find(|it| it.has_signed(bytes, &signature));
    key.ok_or_else(|| "is not by a key of provider.module.signedBy.keys".to_owned())
}

#[cfg(test)]
pub(crate) mod tests;
