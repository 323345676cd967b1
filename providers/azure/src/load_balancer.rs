//! Load balancers: one that all Services share, or one of several, with public addresses, security rules and pools. Names, tags and rules
//! are those of the vendor's controller. Whatever Services share is written once for all that are waiting, over the version that was
//! read.

mod addresses;
mod annotations;
mod balancer;
mod batch;
mod cloud;
mod ending;
mod goal;
mod groups;
mod members;
mod memo;
mod names;
mod placement;
mod pools;
mod private_link;
mod probes;
mod reach;
mod removal;
mod scope;
mod security;
mod subnets;
mod tree;
mod turn;
mod writing;

pub(crate) use self::annotations::TABLE;
pub(crate) use self::cloud::family_of;
pub(crate) use self::memo::memo_of;
pub(crate) use self::names::{CLUSTER_TAG, MARK_TAG, SERVICE_TAG, base_in, base_of};
pub(crate) use self::pools::CONTROL_PLANE;

use aerostat_sdk::{
    BatchDescription, BatchItem, Deletion, LoadBalancer, LoadBalancerBatches, LoadBalancers, Node, Progress, Result,
};

use self::goal::BatchService;
use crate::provider::Azure;
use crate::settings::balancers::AzureBalancerSettings;

/// Services of one call: each may be a public address to read and to write.
const BATCH: u32 = 100;

impl LoadBalancers for Azure {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        Self::ensure_alone(desired)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        Self::delete_alone(unwanted)
    }
}

impl LoadBalancerBatches for Azure {
    fn describe() -> Result<BatchDescription> {
        Ok(BatchDescription::new(BATCH).gather(AzureBalancerSettings::gather()?))
    }

    fn ensure_batch(desired: &[BatchItem], nodes: &[Node]) -> Vec<Result<Progress>> {
        let services: Vec<BatchService<'_>> = desired
            .iter()
            .map(|item| BatchService { service: &item.load_balancer, nodes: item.nodes_of(nodes).collect() })
            .collect();
        batch::ensure(&services)
    }

    fn delete_batch(unwanted: &[LoadBalancer]) -> Vec<Result<Deletion>> {
        removal::delete(unwanted)
    }
}

#[cfg(test)]
mod tests;
