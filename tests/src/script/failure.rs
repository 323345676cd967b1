//! A script's failure instead of an answer.

use std::time::Duration;

use serde_json::{Value, json};

/// The answer that is given instead.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// How many questions; `None` for all.
    pub count: Option<u32>,
}

/// An error of the cloud.
#[derive(Clone, Debug)]
pub enum Error {
    /// There is no such machine, for certain; what shall be deleted is gone.
    NotFound,
    /// Something is wrong: this.
    Unavailable(String),
    /// Come back later, because of this.
    RetryAfter(Duration, String),
    /// Somebody else serves this Service. No error for machines.
    Elsewhere,
}

impl Failure {
    /// An error for all questions.
    #[must_use]
    pub fn always(error: Error) -> Failure {
        Failure { error, count: None }
    }

    pub(super) fn holds(&self) -> bool {
        self.count != Some(0)
    }

    /// The error for the next question, which is counted.
    pub(super) fn next(&mut self) -> Option<Error> {
        self.holds().then(|| {
            self.count = self.count.map(|count| count - 1);
            self.error.clone()
        })
    }
}

impl Error {
    /// As the guest reads it; `None` for what has no words.
    pub(super) fn words(&self) -> Option<Value> {
        match self {
            Error::NotFound => None,
            Error::Unavailable(text) => Some(json!({ "unavailable": { "text": text } })),
            Error::RetryAfter(after, text) => {
                let milliseconds = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                Some(json!({ "retryAfter": { "text": text, "milliseconds": milliseconds } }))
            }
            Error::Elsewhere => Some(json!("elsewhere")),
        }
    }
}
