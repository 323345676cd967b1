//! Instances (`DescribeInstances`).

use aerostat_sdk::SortedSet;
use aws_api::{AwsRefusal, EC2};

/// Where an answer has its instances.
const PATH: [&str; 4] = ["reservationSet", "item", "instancesSet", "item"];

/// The names of the devices that an instance has; `None`, if there is no such instance.
pub(crate) fn devices(id: &str) -> Result<Option<SortedSet<String>>, AwsRefusal> {
    let mut found = None;
    let form = EC2.action("DescribeInstances").filter("instance-id", [id]);
    EC2.each(form, &PATH, |it| found = Some(it.each("blockDeviceMapping", "deviceName").into_iter().collect()))?;
    Ok(found)
}
