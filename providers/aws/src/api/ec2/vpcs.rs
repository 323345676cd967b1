//! VPCs (`DescribeVpcs`).

use crate::api::{AwsRefusal, EC2};

/// The account that a VPC belongs to; `None`, if the credential's account sees no such VPC.
pub(crate) fn owner(vpc: &str) -> Result<Option<String>, AwsRefusal> {
    let mut owner = None;
    let form = EC2.action("DescribeVpcs").filter("vpc-id", [vpc]);
    EC2.each(form, &["vpcSet", "item"], |it| owner = it.text(&["ownerId"]).map(str::to_owned))?;
    Ok(owner)
}
