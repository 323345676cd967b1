//! Availability zones (`DescribeAvailabilityZones`).

use std::collections::BTreeMap;

use crate::api::{EC2, Refusal};

/// The id of each zone of a region by its name: `use1-az1` of `us-east-1a`. Names differ from account to account, ids do not.
pub(crate) fn ids(region: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let mut found = BTreeMap::new();
    let form = EC2.action("DescribeAvailabilityZones").filter("region-name", [region]);
    EC2.each(form, &["availabilityZoneInfo", "item"], |it| {
        if let (Some(name), Some(id)) = (it.text(&["zoneName"]), it.text(&["zoneId"])) {
            found.insert(name.to_owned(), id.to_owned());
        }
    })?;
    Ok(found)
}
