//! Names of Compute Engine.

/// The last part of a URL, or of a part of one.
#[must_use]
pub fn last_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// Whether it is a name of Compute Engine: lower-case letters, digits and dashes, at most 63 of them, with a letter first.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    text.starts_with(|it: char| it.is_ascii_lowercase())
        && text.len() <= 63
        && !text.ends_with('-')
        && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_words_that_begin_with_a_letter() {
        assert!(["a", "pvc-0e2f", &"a".repeat(63)].into_iter().all(is_name));
        assert!(!["", "1a", "a-", "A", "a_b", "a/b", "..", &"a".repeat(64)].into_iter().any(is_name));
        assert_eq!((last_of("zones/europe-west1-b"), last_of("b")), ("europe-west1-b", "b"));
    }
}
