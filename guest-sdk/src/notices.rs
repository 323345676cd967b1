//! Events on the object that a call is about. The host limits and deduplicates them.

use crate::bindings::host::aerostat::cloud::notices::Severity;
use crate::host;

/// A Normal event. `about` is a provider id where a call concerns several nodes; `reason` is UpperCamelCase.
pub fn normal(about: Option<&str>, reason: &str, message: &str) {
    host::add_notice(about, Severity::Normal, reason, message);
}

/// A Warning event. `about` is a provider id where a call concerns several nodes; `reason` is UpperCamelCase.
pub fn warning(about: Option<&str>, reason: &str, message: &str) {
    host::add_notice(about, Severity::Warning, reason, message);
}
