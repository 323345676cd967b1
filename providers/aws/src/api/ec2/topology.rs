//! Where instances are in the network (`DescribeInstanceTopology`).

use aerostat_sdk::SortedMap;

use crate::api::{AwsRefusal, EC2};

/// The most instances of one request.
const BATCH: usize = 100;

/// The network nodes above each of these instances, the outermost first. An instance of which EC2 tells none is missing.
pub(crate) fn network_nodes(ids: &[&str]) -> Result<SortedMap<String, Vec<String>>, AwsRefusal> {
    let mut found = SortedMap::new();
    for ids in ids.chunks(BATCH) {
        EC2.each(EC2.action("DescribeInstanceTopology").list("InstanceId", ids), &["instanceSet", "item"], |item| {
            let id = item.text(&["instanceId"]).unwrap_or_default().to_owned();
            found.insert(id, item.texts("networkNodeSet"));
        })?;
    }
    Ok(found)
}
