//! A SHA-256: what a configuration names, and what bytes have.

#![forbid(unsafe_code)]

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Reads 64 hexadecimal digits, with or without `sha256:` before them.
    ///
    /// # Errors
    ///
    /// If `text` is anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidDigest> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:").unwrap_or(text), &mut digest)
            .map_err(|_| InvalidDigest(text.to_owned()))?;
        Ok(Self(digest))
    }

    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its first 64 bits: enough to tell a few thousand things apart.
    #[must_use]
    pub fn prefix(self) -> u64 {
        self.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// 64 hexadecimal digits in lower case.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// An invalid digest: the text is not a SHA-256.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a SHA-256: write the 64 hexadecimal digits that sha256sum prints")]
pub struct InvalidDigest(String);

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_is_64_hexadecimal_digits() {
        let digest = Digest::parse(&EMPTY.to_uppercase()).unwrap();
        assert_eq!(digest, Digest::of(b""));
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(format!("{:016x}", digest.prefix()), EMPTY[..16]);
        assert_eq!(Digest::parse(&format!("sha256:{EMPTY}")).unwrap(), digest);
        for wrong in
            ["", "sha256:", &EMPTY[1..], &format!("{EMPTY}0"), &EMPTY.replace('e', "g"), &format!("sha512:{EMPTY}")]
        {
            assert!(Digest::parse(wrong).is_err(), "{wrong:?} was taken");
        }
    }
}
