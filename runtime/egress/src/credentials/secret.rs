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

    /// The parts that are not protected because the secret is too short; `None` if it is long enough.
    pub(super) fn weakness(&self) -> Option<String> {
        self.needles.is_none().then(|| {
            format!(
                "has {} characters, and is recognised from {RECOGNISED} on: an answer of the cloud that repeats it \
                 reaches the provider; use a longer one",
                self.length
            )
        })
    }

    /// The bytes that are looked for in texts; `None` if it is too short.
    pub(super) fn needle(&self) -> Option<&Needle> {
        self.needles.as_ref().map(|it| &it.exact)
    }

    /// The same for names of headers, which have lost what was in upper case.
    pub(super) fn needle_in_names(&self) -> Option<&Needle> {
        self.needles.as_ref().map(|it| &it.lower_case)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decoded::Search;
    use super::*;

    fn is_in(text: &[u8], needle: Option<&Needle>) -> bool {
        Search::new(needle.into_iter()).finds(text, 0)
    }

    #[test]
    fn adv_108_short_tokens_are_named_as_unprotected() {
        let short = Secret::new(Zeroizing::new("1234567".to_owned()));
        assert!(!is_in(b"1234567", short.needle()));
        let weakness = short.weakness().expect("it is too short");
        assert!(weakness.contains("7 characters") && weakness.contains("reaches the provider"), "{weakness}");
        let long = Secret::new(Zeroizing::new("12345678".to_owned()));
        assert!(is_in(b"12345678", long.needle()) && long.weakness().is_none());
    }

    #[test]
    fn adv_108_the_name_of_a_header_is_compared_in_lower_case() {
        let secret = Secret::new(Zeroizing::new("Dop_v1_ABC-def".to_owned()));
        assert!(is_in(b"x-dop_v1_abc-def-echo", secret.needle_in_names()));
        assert!(!is_in(b"x-dop_v1_abc-dex-echo", secret.needle_in_names()));
    }
}
