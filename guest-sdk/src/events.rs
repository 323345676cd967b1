//! Events on the object that a call is about. The host limits and deduplicates them.

mod warnings;

pub use self::warnings::Warnings;

use crate::bindings::host::aerostat::cloud::events::EventKind;
use crate::host;

/// A Normal event. `about` is a node's name where a call concerns several nodes; `reason` is UpperCamelCase.
pub fn normal(about: Option<&str>, reason: &str, message: &str) {
    host::emit_event(about, EventKind::Normal, reason, message);
}

/// A Warning event. `about` is a node's name where a call concerns several nodes; `reason` is UpperCamelCase.
pub fn warning(about: Option<&str>, reason: &str, message: &str) {
    host::emit_event(about, EventKind::Warning, reason, message);
}
