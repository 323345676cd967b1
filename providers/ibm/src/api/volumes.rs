//! Volumes.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::{VpcName, get};

/// A volume, as far as it is asked about.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcVolume {
    pub(crate) zone: VpcName,
}

/// The volume with this id.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(id: &str) -> Result<Option<VpcVolume>> {
    get(["volumes", id]).find()
}
