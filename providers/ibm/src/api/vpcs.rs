//! VPCs.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::{VpcId, get};

/// A VPC: its CRN names its account and its region.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Vpc {
    pub(crate) id: String,
    crn: String,
    /// The routing table of subnets that have no other.
    pub(crate) default_routing_table: Option<VpcId>,
    /// The security group of what has no other.
    pub(crate) default_security_group: Option<VpcId>,
}

impl Vpc {
    /// The account and the region that its CRN names: `crn:v1:bluemix:public:is:us-south:a/123456::vpc:r006-1`.
    pub(crate) fn place(&self) -> Option<(&str, &str)> {
        let parts: Vec<&str> = self.crn.split(':').collect();
        let [_, _, _, _, _, region, scope, ..] = parts[..] else { return None };
        Some((scope.strip_prefix("a/")?, region)).filter(|(account, region)| !account.is_empty() && !region.is_empty())
    }
}

/// The VPC with this id.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(id: &str) -> Result<Option<Vpc>> {
    get(["vpcs", id]).find()
}
