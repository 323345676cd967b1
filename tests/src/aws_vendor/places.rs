//! Where the story happens in AWS.

use serde::Deserialize;

/// The parts of the account's one VPC, by id.
#[derive(Clone, Debug, Deserialize)]
pub struct Places {
    /// The VPC.
    pub vpc: String,
    /// Its route table.
    pub table: String,
    /// Its way out.
    pub gateway: String,
    /// One in each zone, in the zones' order.
    pub subnets: Vec<String>,
    /// A second one in the first zone. By its tag it is another cluster's, so that it is used only where it is named.
    #[serde(default)]
    pub twin: String,
    /// The ARNs of two certificates.
    #[serde(default)]
    pub certificates: Vec<String>,
    /// The allocation ids of two Elastic IP addresses.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Two security groups that somebody else has made.
    #[serde(default)]
    pub groups: Vec<String>,
}
