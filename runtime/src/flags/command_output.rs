//! How commands print their results.

use clap::ValueEnum;

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum Output {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object.
    Json,
}
