//! The manifest that has to be signed, and the keys that may have signed it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha256::Digest;

use crate::key::SignerKey;
use crate::remote::WrittenIn;

/// The manifest and the name that a signature has to be of.
pub(crate) struct Signed<'a> {
    /// The configured digest.
    pub(crate) manifest: Digest,
    /// The name under which it was signed: `host[:port]/repository`.
    pub(crate) name: &'a str,
    /// Any of these.
    pub(crate) keys: &'a [SignerKey],
    /// Where the keys and the name are written.
    pub(crate) written: WrittenIn,
}

/// The key that has signed these bytes. This comes before anything in them is read.
pub(super) fn signer<'a>(bytes: &[u8], signature: &str, signed: &Signed<'a>) -> Result<&'a SignerKey, String> {
    let signature = STANDARD.decode(signature).map_err(|_| "has a signature that is not base64".to_owned())?;
    let key = signed.keys.iter().find(|it| it.has_signed(bytes, &signature));
    key.ok_or_else(|| match signed.written {
        WrittenIn::CloudConfig => format!("is not by a key of {}", signed.written.keys()),
        WrittenIn::CommandLine => format!("is by another key than {}", signed.written.keys()),
    })
}
