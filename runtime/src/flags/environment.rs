//! The environment: all that is read of it. A platform tells in it alone where a process is.

/// The variables by which a platform names its service for managed identities. The header is a secret.
#[derive(Default)]
pub(crate) struct IdentityVariables {
    pub(crate) endpoint: Option<String>,
    pub(crate) header: Option<String>,
}

impl IdentityVariables {
    pub(crate) fn read() -> Self {
        Self { endpoint: variable("IDENTITY_ENDPOINT"), header: variable("IDENTITY_HEADER") }
    }
}

/// A variable; an empty one is none.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|it| !it.is_empty())
}
