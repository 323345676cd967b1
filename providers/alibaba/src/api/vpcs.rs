//! Networks.

use aerostat_sdk::Result;

use super::product::VPC;

/// The number of the account that a VPC belongs to; `None`, if the credential sees no such VPC.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn owner(region: &str, vpc: &str) -> Result<Option<String>> {
    match VPC.call("DescribeVpcAttribute", region, &[("VpcId", vpc)]) {
        // Without a right to it, an answer may be empty.
        Ok(shown) if shown["VpcId"] != vpc => Ok(None),
        Ok(shown) => Ok(shown["OwnerId"].as_u64().map(|it| it.to_string())),
        Err(refusal) if refusal.code == "InvalidVpcId.NotFound" || refusal.code == "InvalidVpcID.NotFound" => Ok(None),
        Err(refusal) => Err(refusal.error),
    }
}
