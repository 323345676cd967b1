//! Subnets of the VPC.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::{VpcName, get, lists};

/// A subnet: it is in one zone.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VpcSubnet {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) ipv4_cidr_block: String,
    pub(crate) zone: VpcName,
}

/// All subnets of the VPC.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn all(vpc: &str) -> Result<Vec<VpcSubnet>> {
    lists::all(&get(["subnets"]).query("vpc.id", vpc), "subnets")
}
