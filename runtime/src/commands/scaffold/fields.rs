//! Fields of JSON, by the names that lead to them: `meta.next_page`, `errors.0.reason`.

use anyhow::{Result, bail};

/// A field, by names and by places in lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FieldPath(Vec<String>);

impl FieldPath {
    /// Reads `errors.0.reason`, the value of this flag.
    pub(super) fn parse(flag: &str, text: &str) -> Result<Self> {
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 64
                && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'))
        };
        let names: Vec<_> = text.split('.').map(str::to_owned).collect();
        // Places are counted out where the cloud in memory answers.
        let is_far = |it: &String| it.parse::<usize>().is_ok_and(|it| it > 9);
        if names.iter().all(|it| is_name(it)) && names.len() <= 8 && !names.iter().any(is_far) {
            return Ok(Self(names));
        }
        bail!(
            "{flag} {text:?} names no field: write names with points between them, and numbers for places in lists, such as meta.next"
        )
    }

    /// The first name.
    pub(super) fn first(&self) -> &str {
        &self.0[0]
    }

    /// As a list of Rust: `&["errors", "0"]`.
    pub(super) fn list(&self) -> String {
        format!("&{:?}", self.0)
    }

    /// As elements of a list of Go: `"errors", "0"`.
    pub(super) fn names(&self) -> String {
        self.0.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(", ")
    }

    /// The member of a map of Go that holds `value` there: `"errors": []any{map[string]any{"reason": value}}`.
    pub(super) fn go_member(&self, value: &str) -> String {
        let inner = self.0[1..].iter().rev().fold(value.to_owned(), |inner, name| match name.parse::<usize>() {
            Ok(place) => format!("[]any{{{}{inner}}}", "nil, ".repeat(place)),
            Err(_) => format!("map[string]any{{{name:?}: {inner}}}"),
        });
        format!("{:?}: {inner}", self.first())
    }

    /// The member of an object of `json!` that holds `value` there: `"errors": [{ "reason": value }]`.
    pub(super) fn member(&self, value: &str) -> String {
        let inner = self.0[1..].iter().rev().fold(value.to_owned(), |inner, name| match name.parse::<usize>() {
            Ok(place) => format!("[{}{inner}]", "null, ".repeat(place)),
            Err(_) => format!("{{ {name:?}: {inner} }}"),
        });
        format!("{:?}: {inner}", self.first())
    }
}
