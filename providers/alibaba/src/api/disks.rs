//! Disks.

use aerostat_sdk::{Error, Result};
use serde_json::json;

use super::fields::{items, text};
use super::product::ECS;

const ACTION: &str = "DescribeDisks";

/// Where a disk is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct EcsDisk {
    pub(crate) id: String,
    /// Empty for a disk that is in all zones of the region.
    pub(crate) zone: String,
}

/// The disks among those with these ids: at most [`super::PAGE`].
///
/// # Errors
///
/// Whatever the API answered; also if it shows none of them and the credential lacks the right to see any.
pub(crate) fn by_ids(region: &str, ids: &[&str]) -> Result<Vec<EcsDisk>> {
    let (ids_text, size) = (json!(ids).to_string(), super::PAGE.to_string());
    let shown = ECS.call(ACTION, region, &[("DiskIds", &ids_text), ("MaxResults", &size)])?;
    if !shown["Disks"]["Disk"].is_array() {
        return Err(Error::unavailable(format_args!("{ACTION} at endpoint ecs: the answer has no list of disks")));
    }
    let found =
        items(&shown, "Disks", "Disk").iter().map(|it| EcsDisk { id: text(it, "DiskId"), zone: text(it, "ZoneId") });
    let found: Vec<_> = found.filter(|it| ids.contains(&it.id.as_str())).collect();
    if found.is_empty() {
        ECS.may_see(ACTION, region, &[])?;
    }
    Ok(found)
}
