//! Why there is no new token.

use super::secrets::Secrets;

/// Why there is no new token: a sentence without its full stop each.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NoToken {
    /// Time may heal it.
    Failed(String),
    /// The giver of tokens refuses, and a person has to do something.
    Refused(String),
}

impl NoToken {
    /// The same, unless its words hold a secret: then those of the giver `whose` are withheld.
    pub(super) fn without(self, secrets: &Secrets, whose: &str) -> Self {
        let without = |text: String| match secrets.are_in(text.as_bytes()) {
            true => format!("{whose} answers with words that hold a credential and are withheld"),
            false => text,
        };
        match self {
            Self::Failed(because) => Self::Failed(without(because)),
            Self::Refused(because) => Self::Refused(without(because)),
        }
    }
}
