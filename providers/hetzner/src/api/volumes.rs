//! Volumes.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::{API, PAGES, WithName};

/// One volume.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct HetznerVolume {
    pub(crate) id: u64,
    pub(crate) location: WithName,
}

/// The volume with this id.
pub(crate) fn find(id: u64) -> Result<Option<HetznerVolume>> {
    API.get(["volumes", &id.to_string()]).find_in("volume")
}

/// All volumes of the project.
pub(crate) fn all() -> Result<Vec<HetznerVolume>> {
    PAGES.all(&API.get(["volumes"]).query("sort", "id:asc"), "volumes")
}
