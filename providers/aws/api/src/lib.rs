//! AWS as its modules have it in common: requests in the form of the Query protocols, answers in XML, error codes, lists of EC2,
//! the rules of endpoints, and the cluster in the settings.
//!
//! A crate of its own: one module links no exports of another one. Its functions are `#[inline]`, so that they are compiled in the module that calls them:
//! compiled here, the generic ones that they call would be in a module twice.

#![forbid(unsafe_code)]

mod cluster;
mod codes;
mod ec2;
mod errors;
mod form;
mod rules;
mod service;
mod tags;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod xml;

pub use self::cluster::{CLUSTER_ID, ClusterSettings, REGION, TABLE, VPC, resource_id};
pub use self::ec2::{FILTER_VALUES, pages, with_tags};
pub use self::errors::AwsRefusal;
pub use self::form::RequestForm;
pub use self::rules::{ChangeOperation, INSTANCES, changes, endpoint, reads};
pub use self::service::{AwsApi, EC2};
pub use self::tags::{CLUSTER_UID, OWNED, Tags};
pub use self::xml::Element;
