//! The region of the cluster.

use aerostat_sdk::form::Custom;
use aerostat_sdk::key::{Key, Row};
use aerostat_sdk::{Result, settings};

use crate::words::name;

/// The setting with the region of the cluster.
pub const REGION: Key<Custom<String>> = Key::<Custom<String>>::new(
    "region",
    Custom { allowed: "the name of a region such as RegionOne", parse: name },
    "The region of the cluster, as the catalogue and the nodes' label have it.",
)
.required();

/// The settings that each module has.
pub const TABLE: [&dyn Row; 1] = [&REGION];

/// The region of the cluster.
///
/// # Errors
///
/// `invalid`, naming the setting, its value and the allowed values.
pub fn region() -> Result<String> {
    settings::get(&REGION)
}
