//! Reports to people about the egress, beside the log.

use std::sync::Arc;

/// A report to a person: a sentence each.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Report {
    /// Writes beyond the limits do not leave. Once in a window for each credential.
    WritesWithheld(String),
    /// The provider has asked to leave an endpoint alone. Once in ten minutes for each endpoint.
    EndpointPaused(String),
    /// An endpoint, or the place where a credential comes from, is not reached. Once in five minutes for each cause.
    EndpointUnreachable(String),
}

/// Called with what a person should know of. It must be quick.
pub type Reports = Arc<dyn Fn(Report) + Send + Sync>;
