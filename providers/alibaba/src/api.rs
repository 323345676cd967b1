//! The APIs: their requests, their answers, and what their refusals mean.

pub(crate) mod access_lists;
mod codes;
pub(crate) mod disks;
pub(crate) mod domains;
mod errors;
pub(crate) mod fields;
pub(crate) mod instances;
pub(crate) mod interfaces;
pub(crate) mod jobs;
pub(crate) mod listeners;
pub(crate) mod load_balancers;
pub(crate) mod network_groups;
pub(crate) mod network_listeners;
pub(crate) mod network_load_balancers;
mod product;
pub(crate) mod route_tables;
pub(crate) mod security_groups;
pub(crate) mod server_groups;
pub(crate) mod vpcs;

pub(crate) use self::codes::is_busy;
pub(crate) use self::errors::{AcsRefusal, RefusedCall};
pub(crate) use self::product::{AcsProduct, ECS, NLB, SLB, VPC, by_tokens};

/// Items that a page is asked for, and ids in one request: the most that ECS takes.
pub(crate) const PAGE: u32 = 100;
