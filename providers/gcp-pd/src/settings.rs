//! The settings of the provider, beside the one that says which project it is.

use std::time::Duration;

use aerostat_sdk::form::Span;
use aerostat_sdk::{Result, settings};
use gcp_api::OWN_PROJECT;

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    APPEARS_WITHIN: Span = ("appearsWithin", Span::between(Duration::from_secs(1), Duration::from_hours(1)),
        "After the creation of a disk for a claim that is gone: how long the disk may still appear, and is looked for.").default("60s");
}

/// Refuses a setting that cannot work. What is required and missing is the host's to refuse: it asks for the description of a
/// module before anything is configured, too.
///
/// # Errors
///
/// `invalid`, naming the setting, its value and the allowed values.
pub(crate) fn check() -> Result<()> {
    settings::read(&OWN_PROJECT)?;
    settings::read(&APPEARS_WITHIN).map(drop)
}
