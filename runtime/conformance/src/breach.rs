//! A broken promise.

use serde::Serialize;

/// A place where a promise was broken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Breach {
    /// The story in words: "request 3 carried out, and its answer lost".
    pub story: String,
    /// The fault.
    pub sentence: String,
}
