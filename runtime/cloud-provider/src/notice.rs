/// What a provider wants a person to know about the object that a call is about: an event.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Notice {
    /// A provider id, where a call concerns several nodes.
    pub about: Option<String>,
    /// Normal or Warning.
    pub severity: Severity,
    /// UpperCamelCase, as in every event.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Severity {
    /// For information.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An answer, and what the provider said beside it.
///
/// Notices count whatever the answer is: also when it is an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply<T> {
    /// What was asked for.
    pub answer: T,
    /// Events on the objects that the call was about, at most 64.
    pub notices: Vec<Notice>,
}

impl<T> From<T> for Reply<T> {
    fn from(answer: T) -> Self {
        Self { answer, notices: Vec::new() }
    }
}
