//! A secret that is not printed, and is recognised where it should not be.

use zeroize::Zeroizing;

use super::decoded::Needle;

/// Shorter secrets would be found in answers by chance.
const RECOGNISED: usize = 8;

/// A secret. It has no `Debug`, and its memory is overwritten when it goes.
pub(crate) struct Secret {
    length: usize,
    /// `None` if it is too short to be recognised.
    needles: Option<Needles>,
}

struct Needles {
    exact: Needle,
    /// In lower case, as the names of headers come.
    lower_case: Needle,
}

impl Secret {
    pub(super) fn new(text: Zeroizing<String>) -> Self {
        let needles = (text.len() >= RECOGNISED).then(|| {
            let lower_case = Zeroizing::new(text.to_ascii_lowercase());
            Needles { exact: Needle::new(text.as_bytes()), lower_case: Needle::new(lower_case.as_bytes()) }
        });
        Self { length: text.len(), needles }
    }

    /// What is not protected because the secret is too short; `None` if it is long enough.
    pub(super) fn weakness(&self) -> Option<String> {
        self.needles.is_none().then(|| {
            format!(
                "has {} characters, and is recognised from {RECOGNISED} on: an answer of the cloud that repeats it \
                 reaches the provider; use a longer one",
                self.length
            )
        })
    }

    /// Whether `text` holds the secret, in one of the forms in which services echo what they were sent.
    ///
    /// Best effort: a service that echoes it in another form is not noticed.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.needles.as_ref().is_some_and(|it| it.exact.is_in(text))
    }

    /// The same for the name of a header, which has lost what was in upper case.
    pub(super) fn is_in_name(&self, name: &str) -> bool {
        self.needles.as_ref().is_some_and(|it| it.lower_case.is_in(name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_108_short_tokens_are_named_as_unprotected() {
        let short = Secret::new(Zeroizing::new("1234567".to_owned()));
        assert!(!short.is_in(b"1234567"));
        let weakness = short.weakness().expect("it is too short");
        assert!(weakness.contains("7 characters") && weakness.contains("reaches the provider"), "{weakness}");
        let long = Secret::new(Zeroizing::new("12345678".to_owned()));
        assert!(long.is_in(b"12345678") && long.weakness().is_none());
    }

    #[test]
    fn adv_108_the_name_of_a_header_is_compared_in_lower_case() {
        let secret = Secret::new(Zeroizing::new("Dop_v1_ABC-def".to_owned()));
        assert!(secret.is_in_name("x-dop_v1_abc-def-echo"));
        assert!(!secret.is_in_name("x-dop_v1_abc-dex-echo"));
    }
}
