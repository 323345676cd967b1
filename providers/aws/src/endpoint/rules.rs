//! Things that may stand in requests.

use aerostat_sdk::{Result, settings as given};
use aws_api::{CLUSTER_ID, VPC};

use crate::settings;

/// The ids of security groups and subnets.
pub(super) const GROUPS: &[&str] = &["sg-*"];
pub(super) const SUBNETS: &[&str] = &["subnet-*"];

/// The cluster's own things, as far as they are configured: a description is asked for before that, too.
pub(crate) struct Own {
    /// The VPC, or a pattern for any.
    pub(super) vpc: String,
    /// The route table, or a pattern for any.
    pub(super) table: String,
    /// The key of the cluster's tag, or a pattern for that of any cluster.
    pub(super) tag: String,
}

impl Own {
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let id = given::read(&CLUSTER_ID)?.unwrap_or_else(|| "*".to_owned());
        Ok(Self {
            vpc: given::read(&VPC)?.unwrap_or_else(|| "vpc-*".to_owned()),
            table: given::read(&settings::ROUTE_TABLE)?.unwrap_or_else(|| "rtb-*".to_owned()),
            tag: format!("kubernetes.io/cluster/{id}"),
        })
    }
}
