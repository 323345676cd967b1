//! The text that paths, queries and headers are made of.

/// The most pairs of a query, and the most headers.
pub(super) const PAIRS: usize = 64;

/// Checks one unescaped segment of a path. The error continues a sentence that begins with "a segment that".
pub(crate) fn segment(segment: &str) -> Result<(), &'static str> {
    match segment {
        "" => Err("is empty"),
        "." | ".." => Err("is a dot segment"),
        _ if segment.contains(['/', '\\']) => Err("holds a slash or a backslash"),
        _ if segment.chars().any(char::is_control) => Err("holds a control character"),
        _ => Ok(()),
    }
}

/// A guest's word in a message: quoted, escaped and short.
pub(crate) fn shown(word: &str) -> String {
    let short: String = word.chars().take(64).collect();
    if short.len() < word.len() { format!("{short:?}…") } else { format!("{short:?}") }
}
