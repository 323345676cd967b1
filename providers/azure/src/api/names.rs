//! Names of the two endpoints.

/// Machines, scale sets and disks.
pub(crate) const COMPUTE: &str = "compute";
/// Load balancers, addresses, interfaces, security groups and routes.
pub(crate) const NETWORK: &str = "network";
