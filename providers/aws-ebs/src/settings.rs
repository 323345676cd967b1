//! The settings of the provider, beside those that say which cluster it is.

use std::time::Duration;

use aerostat_sdk::form::Span;
use aerostat_sdk::{Result, settings};
use aws_api::{CLUSTER_ID, REGION, VPC};

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(Duration::from_secs(1), Duration::from_hours(1)),
        "After the creation of a volume without a clear answer: how long it must be absent before it is created again.").default("60s");
}

/// Refuses a setting that cannot work. What is required and missing is the host's to refuse: it asks for the description of a
/// module before anything is configured, too.
///
/// # Errors
///
/// `invalid`, naming the setting, its value and the allowed values.
pub(crate) fn check() -> Result<()> {
    for text in [&REGION, &VPC, &CLUSTER_ID] {
        settings::read(text)?;
    }
    settings::read(&CREATE_AGAIN_AFTER).map(drop)
}
