//! The answer that a command prints.

use std::fmt::Display;

use serde::Serialize;

use crate::flags::Output;

/// The answer that a command prints.
#[derive(Debug, Eq, PartialEq)]
pub enum CommandAnswer {
    /// For standard output, with its last line break.
    Good(String),
    /// The command has found out that something is not as it should be.
    Bad {
        /// For standard output.
        text: String,
        /// For standard error.
        complaint: String,
    },
}

impl CommandAnswer {
    /// A result, as lines or as JSON.
    pub(super) fn good(result: &(impl Display + Serialize), output: Output) -> Self {
        match output {
            Output::Text => Self::Good(result.to_string()),
            Output::Json => Self::Good(json(result)),
        }
    }

    /// A result that is none: lines for people, or JSON for programs.
    pub(super) fn bad(result: &(impl Display + Serialize), output: Output) -> Self {
        match output {
            Output::Text => Self::Bad { text: String::new(), complaint: result.to_string() },
            Output::Json => Self::Bad { text: json(result), complaint: String::new() },
        }
    }

    /// A result that is complete, and says that something is not as it should be.
    pub(super) fn found_bad(result: &(impl Display + Serialize), output: Output) -> Self {
        let text = match output {
            Output::Text => result.to_string(),
            Output::Json => json(result),
        };
        Self::Bad { text, complaint: String::new() }
    }
}

fn json(result: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(result).expect("texts and numbers become JSON");
    text.push('\n');
    text
}

/// A number of bytes, for people.
pub(super) fn size(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1 << 10))
}
