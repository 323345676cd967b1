//! The way in which a load balancer spreads load.

use serde::{Deserialize, Serialize};

/// How load is spread.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Algorithm {
    #[default]
    RoundRobin,
    LeastConnections,
    /// One that this provider does not know.
    #[serde(other)]
    Other,
}
