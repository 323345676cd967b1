//! The operator's word on addresses.

use ipnet::IpNet;

/// Which addresses an endpoint's host may have.
///
/// Neither choice opens what no config can: metadata services, loopback, the API server and special ranges.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AllowedAddresses {
    /// Public ones.
    Public,
    /// Those of a private cloud: only these networks, and they may be private.
    Networks(Vec<IpNet>),
}
