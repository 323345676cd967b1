//! The AWS provider: instances of EC2 and pods of Fargate for nodes, load balancers for Services, routes for pods, and
//! where EBS volumes are.

#![forbid(unsafe_code)]

mod api;
mod endpoint;
mod instance;
mod instances;
mod inventory;
mod load_balancer;
mod machine;
mod places;
mod provider;
mod routes;
mod settings;
mod tags;
mod volumes;

pub use crate::provider::Aws;

use aerostat_sdk::{Description, Provider, Result};
use aws_api::ClusterSettings;

use crate::api::ec2;

aerostat_sdk::export!(Aws: Provider, Instances, LoadBalancers, LoadBalancerInventory, Routes, PersistentVolumes);

/// Nodes in one `get`: as many ids as one filter takes.
const GET_BATCH: u32 = 200;
const _: () = assert!(GET_BATCH as usize == ec2::FILTER_VALUES);

impl Provider for Aws {
    fn describe() -> Result<Description> {
        // Settings that cannot work are refused before anything is asked.
        settings::check()?;
        let own = endpoint::Own::read()?;
        Ok(Description::new("aws", env!("CARGO_PKG_VERSION"))
            .provider_id_prefix(machine::PREFIX)
            .provider_id_prefix(machine::BARE)
            .endpoint(endpoint::ec2(&own))
            .endpoint(endpoint::elb())
            .endpoint(endpoint::elbv2(&own))
            .settings(aws_api::TABLE)
            .settings(settings::TABLE)
            .annotations(load_balancer::TABLE)
            .get_batch_size(GET_BATCH)
            .list_page_size(ec2::instances::PAGE))
    }

    /// The account, by whom the VPC belongs to: a credential of another account does not see it.
    fn identity() -> Result<Option<String>> {
        ClusterSettings::read()?.identity().map(Some)
    }
}

#[cfg(test)]
mod tests;
