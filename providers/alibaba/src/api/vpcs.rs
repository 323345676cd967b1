//! Networks, and addresses of the internet that are bound to something.

use aerostat_sdk::Result;

use super::errors::AcsRefusal;
use super::fields::{items, text};
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

/// The elastic address that is bound to a Classic Load Balancer.
pub(crate) fn elastic_address(region: &str, balancer: &str) -> Result<Option<String>, AcsRefusal> {
    let pairs = [("AssociatedInstanceType", "SlbInstance"), ("AssociatedInstanceId", balancer)];
    let shown = VPC.call("DescribeEipAddresses", region, &pairs)?;
    let found = items(&shown, "EipAddresses", "EipAddress").first();
    Ok(found.map(|it| text(it, "IpAddress")).filter(|it| !it.is_empty()))
}
