//! Disks.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::Refused;
use super::instances::paged;
use super::listing;
use super::pairs::{AcsPairs, text};
use super::region::REGION;
use super::world::World;

/// `DescribeDisks`.
pub(super) fn list(world: &World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let ids = pairs.json_list("DiskIds", 100)?;
    let is_asked = |it: &Value| ids.as_ref().is_none_or(|ids| ids.iter().any(|id| id == text(it, "DiskId")));
    let found = world.disks.all().filter(|(_, it)| is_asked(it)).map(|(_, it)| it.clone()).collect();
    let page = listing::by_token(pairs, found, "MaxResults", (10, 500))?;
    Ok(paged("Disks", "Disk", page))
}

impl World {
    /// Adds a disk in a zone. Answers its id.
    pub fn add_disk(&mut self, zone: &str) -> String {
        let (id, made) = (self.next("d-bp"), self.time());
        let body = json!({
            "DiskId": id, "DiskName": id, "RegionId": REGION, "ZoneId": zone, "Status": "Available", "Category": "cloud_essd",
            "Type": "data", "Size": 20,
        });
        self.disks.put(&id, made, body);
        id
    }
}
