//! Where the story happens in AWS.

use serde::Deserialize;

/// What the account's one VPC has, by id.
#[derive(Clone, Debug, Deserialize)]
pub struct Places {
    /// The VPC.
    pub vpc: String,
    /// Its route table.
    pub table: String,
    /// One in each zone, in the zones' order.
    pub subnets: Vec<String>,
    /// The ARNs of two certificates.
    #[serde(default)]
    pub certificates: Vec<String>,
}
