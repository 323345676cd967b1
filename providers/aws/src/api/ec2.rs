//! EC2.

pub(crate) mod instances;
pub(crate) mod interfaces;
pub(crate) mod route_tables;
pub(crate) mod security_groups;
pub(crate) mod subnets;
pub(crate) mod topology;
pub(crate) mod volumes;
pub(crate) mod zones;

pub(crate) use aws_api::FILTER_VALUES;
use aws_api::{pages, with_tags};
