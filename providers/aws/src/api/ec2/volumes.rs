//! Volumes (`DescribeVolumes`).

use aerostat_sdk::SortedMap;

use crate::api::{AwsRefusal, EC2};

/// The zone of each of these volumes, at most 200, by its id. A volume that is unknown is missing.
pub(crate) fn zones(ids: &[&str]) -> Result<SortedMap<String, String>, AwsRefusal> {
    let mut found = SortedMap::new();
    EC2.each(EC2.action("DescribeVolumes").filter("volume-id", ids), &["volumeSet", "item"], |item| {
        if let (Some(id), Some(zone)) = (item.text(&["volumeId"]), item.text(&["availabilityZone"])) {
            found.insert(id.to_owned(), zone.to_owned());
        }
    })?;
    Ok(found)
}
