//! The settings of the provider, beside the region.

use std::time::Duration;

use aerostat_sdk::form::{Bool, Span};
use aerostat_sdk::{Result, settings};

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(Duration::from_secs(1), Duration::from_hours(1)),
        "After the creation of a volume without a clear answer: how long it must be absent before it is created again.").default("60s");
    IGNORE_ZONES: Bool = ("ignoreVolumeAZ", Bool, "Whether zones of Cinder are not those of the nodes: then a volume is made in the zone that its \
        class names, or that Cinder chooses, and may be used where the claim's nodes are.").default("false");
}

/// Refuses a setting that cannot work. A region that is missing is the host's to refuse: it asks for the description of a module before
/// anything is configured, too.
///
/// # Errors
///
/// `invalid`, naming the setting, its value and the allowed values.
pub(crate) fn check() -> Result<()> {
    settings::read(&openstack_api::REGION)?;
    settings::read(&CREATE_AGAIN_AFTER)?;
    settings::read(&IGNORE_ZONES).map(drop)
}
