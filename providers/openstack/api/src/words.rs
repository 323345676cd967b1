//! Forms of words that all settings and annotations share.

use aerostat_sdk::form::Custom;

/// An id that OpenStack gives: a UUID, or another word where a cloud has been set up so.
pub const ID: Custom<String> = Custom { allowed: "an id such as 5c1f9d3e-0d11-4c9e-8f3b-2f5a3d4f7a11", parse: id };

/// Whether it is a word of letters, digits, `-` and `_`: nothing that leads elsewhere in a path.
#[must_use]
pub fn id(text: &str) -> Option<String> {
    let is_allowed = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    ((1..=64).contains(&text.len()) && text.bytes().all(is_allowed)).then(|| text.to_owned())
}

/// A name that people give: neither empty nor longer than OpenStack takes.
#[must_use]
pub fn name(text: &str) -> Option<String> {
    let is_printable = !text.is_empty() && text.len() <= 255 && !text.chars().any(char::is_control);
    is_printable.then(|| text.to_owned())
}
