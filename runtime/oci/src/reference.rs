//! The reference to one artifact, as a person writes it: `host[:port]/repository[:tag][@sha256:…]`.

use std::fmt;

use sha256::Digest;

use crate::descriptor;
use crate::image::Image;

/// A repository, and what of it: what has the tag, or what has the digest. If both are given, the digest decides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reference {
    /// The repository, and the tag if one was given.
    pub image: Image,
    /// The digest of a manifest.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Reads `host[:port]/repository[:tag][@sha256:…]`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong and what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (image, digest) = match text.split_once('@') {
            Some((image, digest)) => (image, Some(digest)),
            None => (text, None),
        };
        // What stands before an `@` may be a password.
        let digest = digest.map(|digest| {
            descriptor::digest(digest).map_err(|_| {
                "what follows the @ of a reference is a digest of a manifest, sha256: and 64 digits in lower case; a login \
                 belongs into a file (--login)"
                    .to_owned()
            })
        });
        let digest = digest.transpose()?;
        Ok(Self { image: Image::parse(image)?, digest })
    }

    /// With the digest that decides, in place of one that was given.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.image)?;
        self.digest.map_or(Ok(()), |it| write!(f, "@sha256:{it}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_a_tag_a_digest_or_both() {
        let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for text in [
            "registry.example.com/acme/provider".to_owned(),
            "registry.example.com:5000/acme/provider:1.2.0".to_owned(),
            format!("registry.example.com/acme/provider@sha256:{hex}"),
            format!("registry.example.com/acme/provider:1.2.0@sha256:{hex}"),
        ] {
            let reference = Reference::parse(&text).unwrap();
            assert_eq!(reference.to_string(), text);
            assert_eq!(reference.digest.is_some(), text.contains('@'));
        }
    }

    #[test]
    fn the_text_after_an_at_sign_is_a_digest_and_is_not_repeated() {
        for text in [
            "alice:hunter22@registry.example.com/a",
            "registry.example.com/a@",
            "registry.example.com/a@sha256:00",
            "registry.example.com/a@sha512:00",
            "registry.example.com/a@sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
        ] {
            let error = Reference::parse(text).expect_err(text);
            assert!(error.contains("64 digits") && !error.contains("hunter22"), "{error}");
        }
    }
}
