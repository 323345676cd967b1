//! Why a provider could not be tried at all.

use sandbox::LoadError;

/// Why a provider could not be tried at all. Each text names the cause and the next step.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// The simulator's URL is none that is used.
    #[error("--cloud {url}: {because}; write the URL that the simulator prints, as in http://127.0.0.1:8080")]
    Url {
        /// As it was given.
        url: String,
        /// The fault in it.
        because: String,
    },
    /// The simulator does not answer, or not as docs/conformance.md says.
    #[error("the simulator's {route}: {because}; start it, and see docs/conformance.md for what this route answers")]
    Simulator {
        /// Method and path.
        route: String,
        /// The fault.
        because: String,
    },
    /// The operator's part cannot be used, as the simulator tells it.
    #[error("the simulator's setup cannot be used: {0}; correct `setup` in its answer to GET /conformance/world")]
    Setup(String),
    /// The recording cannot be used.
    #[error("{0}")]
    Recording(String),
    /// The provider cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Anything that a provider could not be tried without.
pub(crate) type Result<T> = std::result::Result<T, ConformanceError>;

impl ConformanceError {
    /// A route that does not answer as it should.
    pub(crate) fn route(route: &str, because: impl std::fmt::Display) -> Self {
        Self::Simulator { route: route.to_owned(), because: because.to_string() }
    }
}
