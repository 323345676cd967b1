//! Why there is no new token.

/// Why there is no new token: a sentence without its full stop each.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NoToken {
    /// Time may heal it.
    Failed(String),
    /// The giver of tokens refuses, and a person has to do something.
    Refused(String),
}
