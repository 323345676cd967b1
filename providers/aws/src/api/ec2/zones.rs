//! Availability zones (`DescribeAvailabilityZones`).

use aerostat_sdk::{SortedMap, SortedSet};

use crate::api::{AwsRefusal, EC2};

/// The id of each zone of a region by its name: `use1-az1` of `us-east-1a`. Names differ from account to account, ids do not.
pub(crate) fn ids(region: &str) -> Result<SortedMap<String, String>, AwsRefusal> {
    let mut found = SortedMap::new();
    let form = EC2.action("DescribeAvailabilityZones").filter("region-name", [region]);
    EC2.each(form, &["availabilityZoneInfo", "item"], |item| {
        if let (Some(name), Some(id)) = (item.text(&["zoneName"]), item.text(&["zoneId"])) {
            found.insert(name.to_owned(), id.to_owned());
        }
    })?;
    Ok(found)
}

/// The names of the local zones and wavelength zones of a region: no load balancer of these kinds can be there.
pub(crate) fn special(region: &str) -> Result<SortedSet<String>, AwsRefusal> {
    let mut found = SortedSet::new();
    let form = EC2.action("DescribeAvailabilityZones").filter("region-name", [region]);
    EC2.each(form, &["availabilityZoneInfo", "item"], |item| {
        let is_special = item.text(&["zoneType"]).is_some_and(|it| it != "availability-zone");
        found.extend(item.text(&["zoneName"]).filter(|_| is_special).map(str::to_owned));
    })?;
    Ok(found)
}
