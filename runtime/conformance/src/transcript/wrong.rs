//! Errors, as far as a judge looks at them.

/// An error, by what happens next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Wrong {
    /// `invalid` or `denied`: nothing is tried again soon.
    pub(crate) is_final: bool,
    /// The text that a person reads.
    pub(crate) text: String,
}
