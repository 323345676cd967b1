//! The rights of a token. Which scope an operation needs is as published.

/// The scopes of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scopes {
    /// Everything.
    #[default]
    Full,
    /// Reading, and nothing else.
    ReadOnly,
    /// These, such as `load_balancer:create`.
    Custom(Vec<&'static str>),
}

impl Scopes {
    /// Whether an operation may be done that needs this scope.
    pub(super) fn admit(&self, needed: &str) -> bool {
        match self {
            Scopes::Full => true,
            Scopes::ReadOnly => needed.ends_with(":read"),
            Scopes::Custom(scopes) => scopes.contains(&needed),
        }
    }
}
