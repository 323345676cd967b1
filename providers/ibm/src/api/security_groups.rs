//! Security groups of the VPC.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::{get, lists};

/// A security group, without its rules.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcSecurityGroup {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// All security groups of the VPC.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn all(vpc: &str) -> Result<Vec<VpcSecurityGroup>> {
    lists::all(&get(["security_groups"]).query("vpc.id", vpc), "security_groups")
}
