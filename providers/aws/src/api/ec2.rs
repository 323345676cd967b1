//! EC2.

pub(crate) mod instances;
pub(crate) mod interfaces;
pub(crate) mod route_tables;
pub(crate) mod security_groups;
pub(crate) mod subnets;
pub(crate) mod topology;
pub(crate) mod volumes;
pub(crate) mod vpcs;
pub(crate) mod zones;

/// The most values of one filter ("FilterLimitExceeded").
pub(crate) const FILTER_VALUES: usize = 200;
