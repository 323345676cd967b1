//! Tags of load balancers, listeners and target groups.

use aerostat_sdk::SortedMap;

use super::{TagsByKey, pairs, with_pairs};
use crate::api::{AwsRefusal, ELBV2};

/// The most things whose tags one request reads.
pub(crate) const BATCH: usize = 20;

/// The tags of each of these things, by its ARN. One that is gone fails the request.
pub(crate) fn of<A: AsRef<str>>(arns: &[A]) -> Result<SortedMap<String, TagsByKey>, AwsRefusal> {
    let mut found = SortedMap::new();
    for arns in arns.chunks(BATCH) {
        let form = ELBV2.action("DescribeTags").list("ResourceArns.member", arns.iter().map(AsRef::as_ref));
        ELBV2.each(form, &["DescribeTagsResult", "TagDescriptions", "member"], |item| {
            found.insert(super::text(&item, "ResourceArn"), pairs(&item, "Tags"));
        })?;
    }
    Ok(found)
}

/// Adds tags to these things, at most 20, or writes over their values.
pub(crate) fn add(arns: &[String], tags: &TagsByKey) -> Result<(), AwsRefusal> {
    let form = ELBV2.action("AddTags").list("ResourceArns.member", arns);
    ELBV2.call(with_pairs(form, "Tags", tags)).map(drop)
}
